/**
 * The stream's state machine: `(state, event) → (state, effects)`, with time and chance as inputs.
 *
 * It is pure: a step works on a draft of its own, and what it asks for is data. A golden table of
 * every state × every event is a test of it.
 *
 * @module
 */
import { deliveryDeadline, stepDelivery } from "./delivery.ts";
import { endStream, linkDeadline, stepLink } from "./link.ts";
import { type LinkState, type MachineState, tell, type Turn } from "./machine.ts";
import type { Effect, MachineConfig, StepContext, StreamEvent } from "./step.ts";

/**
 * One step.
 *
 * @param state Where the stream stands.
 * @param event What happened.
 * @param context Time and chance.
 * @returns Where it stands now, and what is to be done, in order.
 */
export function reduce(
  state: MachineState,
  event: StreamEvent,
  context: StepContext,
): readonly [MachineState, readonly Effect[]] {
  const link = { ...state.link };
  const delivery = { ...state.delivery };
  const turn: Turn = { ...context, link, delivery, effects: [], giveUp: null };
  if ("generation" in event && isStale(link, event)) {
    const { type, generation } = event;
    tell(turn, { kind: "stale_event", type, generation });
  } else step(turn, event);
  if (turn.giveUp !== null) endStream(turn, turn.giveUp, "");
  return [{ link, delivery }, turn.effects];
}

/**
 * When the stream wants its next `tick`.
 *
 * @param state Where it stands.
 * @param config The times.
 * @returns The instant; `Infinity` when it waits for nothing.
 */
export function deadline({ link, delivery }: MachineState, config: MachineConfig): number {
  return Math.min(linkDeadline(link, config), deliveryDeadline(delivery));
}

function step(turn: Turn, event: StreamEvent): void {
  switch (event.type) {
    case "frame":
    case "mark":
    case "lag":
    case "repaired":
    case "topic_gap":
    case "delivered":
    case "settled":
    case "restored":
      return stepDelivery(turn, event);
    case "drop_cursor":
      stepDelivery(turn, event);
      // The topics grow while an attempt is on its way: it goes on, without the cursor.
      if (event.reason === "application") stepLink(turn, { type: "reconnect" });
      return;
    case "hello":
    case "tick":
      stepLink(turn, event);
      return stepDelivery(turn, event);
    default:
      return stepLink(turn, event);
  }
}

/** Reports of an attempt that is over, or that come in an order in which they cannot come. */
function isStale(link: LinkState, event: Extract<StreamEvent, { generation: number }>): boolean {
  if (event.generation !== link.generation) return true;
  switch (event.type) {
    case "head":
    case "failed":
    case "hello":
      return link.kind !== "connecting";
    case "bytes":
    case "retry":
    case "paused":
      return link.kind !== "connecting" && link.kind !== "open";
    default:
      return link.kind !== "open";
  }
}
