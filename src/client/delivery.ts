/**
 * The delivery's half of the machine: the cursor, and what is held.
 *
 * The cursor moves only when a frame has been delivered. While a revalidation is due or runs, frames
 * are held; when it settles, a hello's head is adopted, and then they go out in order.
 *
 * @module
 */
import { type Cursor, readCursor } from "../wire/cursor.ts";
import { type HeldItem, hold, NOTHING_HELD, takeHeld } from "./held.ts";
import { type DeliveryState, type OpenConnection, tell, type Turn } from "./machine.ts";
import { demand, dropRuns, endRun, isHolding, latch, startRun, tickRun } from "./revalidation.ts";
import type { HelloReport, StreamReport, WakeCause, WorkReport } from "./step.ts";
import { MAX_WAIT_MS } from "./timing.ts";
import type { Frame, RevalidateCause } from "./types.ts";

/** What the delivery is told. */
export type DeliveryEvent = HelloReport | StreamReport | WorkReport | { readonly type: "tick" };

/**
 * Takes note of an event.
 *
 * @param turn The step.
 * @param event What happened.
 */
export function stepDelivery(turn: Turn, event: DeliveryEvent): void {
  const { delivery } = turn;
  switch (event.type) {
    case "restored":
      delivery.cursor = event.cursor;
      delivery.restored = event.cursor !== null && !event.stateKept;
      delivery.unverified = event.unverified || delivery.restored;
      return;
    case "hello":
      return greeted(turn, event);
    case "tick":
      return tick(turn);
    case "delivered":
      return delivered(turn, event);
    case "settled":
      return settled(turn, event);
    case "drop_cursor":
      delivery.cursor = null;
      delivery.life++;
      delivery.unverified = delivery.restored = delivery.skipReplay = false;
      return tell(turn, { kind: "cursor_dropped", reason: event.reason });
  }
  const { open } = delivery;
  if (open === null) return;
  switch (event.type) {
    case "frame":
      return arrived(turn, open, event.frame);
    case "mark":
      return marked(turn, open, event.id);
    case "lag":
      return lagged(turn, open, event);
    case "topic_gap":
      return owe(turn, { cause: "topic_gap", topics: [event.topic] });
    case "repaired":
      return repaired(turn);
  }
}

/**
 * When the delivery wants its next `tick`.
 *
 * @param delivery Where it stands.
 * @returns The instant; `Infinity` when it waits for nothing.
 */
export function deliveryDeadline({ run, next, leftover, repair }: DeliveryState): number {
  return Math.min(
    run?.until ?? Infinity,
    next === null ? Infinity : leftover?.until ?? Infinity,
    repair?.until ?? Infinity,
  );
}

/**
 * The connection is over. What was held stays before the cursor: the next one is asked for it again.
 *
 * @param turn The step.
 * @param reason Why.
 */
export function closeDelivery(turn: Turn, reason: string): void {
  const { delivery } = turn;
  const { frames: length } = delivery.held;
  if (length > 0) tell(turn, { kind: "held_discarded", length, reason });
  delivery.open = delivery.repair = null;
  delivery.held = NOTHING_HELD;
  delivery.draining = false;
  dropRuns(turn);
}

/**
 * The page woke up.
 *
 * @param turn The step.
 * @param cause How.
 */
export function wakeDelivery(turn: Turn, cause: WakeCause): void {
  const { delivery, now, config } = turn;
  if (delivery.open === null || delivery.repair !== null) {
    delivery.wake = cause;
    return;
  }
  const { run, ranAt } = delivery;
  // One of a topic brings less than a wake wants.
  const startedAt = run === null || run.topics !== null ? ranAt : run.startedAt;
  if (startedAt !== null && now - startedAt < config.wakeThrottleMs) return;
  demand(turn, { cause });
}

function greeted(turn: Turn, { hello, presented, cleared }: HelloReport): void {
  const { delivery, now, config } = turn;
  const { epoch, head, verdict } = hello;
  const asked = Math.min(hello.revalidateSpreadMs ?? 0, MAX_WAIT_MS);
  const spreadMs = config.revalidates ? asked : 0;
  const adopt: Cursor = { epoch, offset: head };
  // A server cannot resume what nobody presented, nor a cursor of another epoch than its own.
  const resumed = hello.resumed && presented !== null && presented.epoch === epoch;
  delivery.open = { epoch, high: resumed ? presented.offset : head, spreadMs };
  delivery.full ||= cleared;
  if (!resumed && hello.repair === true) {
    delivery.repair = { until: now + config.revalidateTimeoutMs, adopt, spoilt: false };
    return;
  }
  const cause: RevalidateCause | null = delivery.restored
    ? "restored"
    : !resumed || delivery.unverified || delivery.full
    ? "hello"
    : delivery.wake;
  if (cause === null) return;
  demand(turn, {
    cause,
    full: delivery.restored,
    adopt: resumed ? null : adopt,
    notBefore: verdict === "epoch_changed" ? now + spread(turn, spreadMs) : now,
  });
}

/** Chance, so that a deploy does not bring every client's refetch in one second. */
function spread({ rand }: Turn, spreadMs: number): number {
  return Math.round(rand * spreadMs);
}

function arrived(turn: Turn, open: OpenConnection, frame: Frame): void {
  const { id, type } = frame;
  const cursor = id === null ? null : ownCursor(turn, open, id);
  if (id !== null && cursor === null) {
    // It goes out, but where it stands nobody knows: the next hello revalidates.
    latch(turn.delivery);
  } else if (cursor !== null) {
    if (cursor.offset <= open.high) return tell(turn, { kind: "duplicate_frame", type });
    raise(turn, open, cursor);
  }
  enqueue(turn, { frame, cursor });
}

function marked(turn: Turn, open: OpenConnection, id: string): void {
  const cursor = ownCursor(turn, open, id);
  if (cursor === null) return;
  raise(turn, open, cursor);
  enqueue(turn, { frame: null, cursor });
}

/** What stands at a cursor, and before it, will not be taken again. */
function raise({ delivery }: Turn, open: OpenConnection, { offset }: Cursor): void {
  delivery.open = { ...open, high: Math.max(open.high, offset) };
}

/** A cursor of this connection's epoch; anything else is told, and moves nothing. */
function ownCursor(turn: Turn, open: OpenConnection, text: string): Cursor | null {
  const cursor = readCursor(text);
  if (cursor?.epoch === open.epoch) return cursor;
  const reason = cursor === null ? "malformed" : "foreign_epoch";
  tell(turn, { kind: "bad_cursor", reason, id: text.slice(0, 40) });
  return null;
}

/** Delivers at once, or holds. */
function enqueue(turn: Turn, item: HeldItem): void {
  const { delivery, config } = turn;
  if (!isHolding(delivery)) {
    emit(turn, item);
    return;
  }
  const held = delivery.held = hold(delivery.held, item);
  if (held.frames <= config.heldMaxFrames && held.bytes <= config.heldMaxBytes) return;
  // A replay that was too much once is too much again: a full run makes it unnecessary.
  delivery.full = delivery.skipReplay = true;
  turn.giveUp = "held_overflow";
}

/** Returns whether the application has something to do. */
function emit(turn: Turn, { frame, cursor }: HeldItem): boolean {
  if (frame === null) {
    advance(turn, cursor);
    return false;
  }
  const { life } = turn.delivery;
  turn.effects.push({ type: "deliver", delivery: { frame, cursor, life } });
  return true;
}

/** Forward only within an epoch. */
function advance({ delivery }: Turn, cursor: Cursor | null): void {
  const { cursor: current } = delivery;
  if (cursor === null) return;
  if (current?.epoch === cursor.epoch && cursor.offset <= current.offset) return;
  delivery.cursor = cursor;
}

function delivered(turn: Turn, event: Extract<WorkReport, { type: "delivered" }>): void {
  const { delivery, config } = turn;
  if (event.delivery.life === delivery.life) advance(turn, event.delivery.cursor);
  if (!event.ok) {
    latch(delivery);
    // A handler that throws at every frame must not turn into a storm of refetches.
    const notBefore = delivery.ranAt + config.wakeThrottleMs;
    if (delivery.open !== null) owe(turn, { cause: "hello", notBefore });
  }
  drain(turn);
}

/** Lets the next held frame out. Each is asked for when the one before has been delivered. */
function drain(turn: Turn): void {
  const { delivery } = turn;
  while (delivery.draining) {
    const taken = takeHeld(delivery.held);
    if (taken === null) {
      delivery.held = NOTHING_HELD;
      delivery.draining = false;
      return startRun(turn);
    }
    delivery.held = taken[1];
    if (emit(turn, taken[0])) return;
  }
}

function lagged(
  turn: Turn,
  open: OpenConnection,
  event: Extract<StreamReport, { type: "lag" }>,
): void {
  const { delivery, now } = turn;
  const { lag } = event;
  tell(turn, { kind: "lag", missed: lag.missed });
  turn.effects.push({ type: "tell_lag", lag });
  const to = ownCursor(turn, open, lag.to);
  if (to !== null) raise(turn, open, to);
  latch(delivery);
  // Behind a run that is under way the hole takes its place among what is held.
  const behind = isHolding(delivery);
  if (behind) enqueue(turn, { frame: null, cursor: to });
  const notBefore = now + spread(turn, open.spreadMs);
  owe(turn, { cause: "lag", adopt: behind ? null : to, notBefore });
}

/** Wants a revalidation; during a repair, after it: its pieces must not wait for anything. */
function owe(turn: Turn, wish: Parameters<typeof demand>[1]): void {
  if (turn.delivery.repair === null) demand(turn, wish);
  else latch(turn.delivery);
}

function repaired(turn: Turn): void {
  const { delivery } = turn;
  const { repair, wake } = delivery;
  if (repair === null) return;
  delivery.cursor = repair.adopt;
  delivery.repair = null;
  delivery.unverified = repair.spoilt;
  delivery.restored = delivery.full = delivery.skipReplay = false;
  const cause = repair.spoilt ? "hello" : wake;
  if (cause !== null) demand(turn, { cause });
}

function settled(turn: Turn, event: Extract<WorkReport, { type: "settled" }>): void {
  const { delivery } = turn;
  if (delivery.leftover?.id === event.run) {
    delivery.leftover = null;
    return startRun(turn);
  }
  const { run } = delivery;
  if (run?.id !== event.run) return;
  endRun(turn, run, event);
  // A hello's head may lie behind the cursor: in another epoch, or in a sequence that lost its end.
  if (run.adopt !== null) delivery.cursor = run.adopt;
  delivery.draining = true;
  drain(turn);
}

function tick(turn: Turn): void {
  const { delivery, now } = turn;
  if (delivery.repair !== null && now >= delivery.repair.until) {
    delivery.unverified = true;
    turn.giveUp = "repair_timeout";
  }
  tickRun(turn);
}
