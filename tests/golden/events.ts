/**
 * Every event of the stream's machine, with each payload that makes a difference.
 *
 * @module
 */
import type { Cursor } from "../../src/wire/cursor.ts";
import type { Hello } from "../../src/wire/hello.ts";
import type { MachineState } from "../../src/client/machine.ts";
import type { CommandEvent, StreamEvent } from "../../src/client/step.ts";

/** The epoch that the table calls A: the one in which the states of the table hold a cursor. */
export const A = "aaaaaaaaaaaaaaaa";
/** The epoch that the table calls B. */
export const B = "bbbbbbbbbbbbbbbb";

/** When an event happens, counted from when the state was reached. */
export type When = number | "due";

/** One event of the table. */
export interface Sample {
  /** What the table calls it, after its type. */
  readonly note: string;
  /** After how many milliseconds it happens; `due`: when the state asks for a tick. */
  readonly when: When;
  /** The event: of the state's own attempt, of the run that it has. */
  make(state: MachineState): StreamEvent;
}

/** Soon: no wait of any state is over. */
const SOON_MS = 100;
/** Later than any wait. */
const LATER_MS = 600_000;

/** The cursor of an offset in epoch A. */
export function at(offset: number): Cursor {
  return { epoch: A, offset };
}

/** A hello, as the table's server says it. */
export function helloOf(made: Partial<Hello> = {}): Hello {
  return {
    wire: 1,
    epoch: A,
    floor: 0,
    head: 8,
    resumed: false,
    verdict: "fresh",
    keepaliveMs: 15_000,
    keepaliveEvent: "sse:keepalive",
    ...made,
  };
}

function sample(
  note: string,
  make: (generation: number, state: MachineState) => StreamEvent,
  when: When = SOON_MS,
): Sample {
  return { note, when, make: (state) => make(state.link.generation, state) };
}

/** A command, soon and, where asked for, when every wait is over. */
function command(type: CommandEvent["type"], later = false): readonly Sample[] {
  const soon = sample("", () => ({ type }));
  return later ? [soon, sample("10 min later", () => ({ type }), LATER_MS)] : [soon];
}

/** What an attempt presents: the cursor of the state. */
function greeting(
  note: string,
  hello: Partial<Hello>,
  more: { readonly presented?: null; readonly cleared?: boolean } = {},
): Sample {
  return sample(note, (generation, { delivery }) => ({
    type: "hello",
    generation,
    hello: helloOf(hello),
    presented: more.presented === null ? null : delivery.cursor,
    cleared: more.cleared ?? false,
  }));
}

function failure(
  note: string,
  more: { readonly status?: number; readonly retryAfterMs?: number; readonly final?: boolean },
): Sample {
  const { status = null, retryAfterMs = 0, final = false } = more;
  const reason = status === null ? "network" : "status";
  return sample(note, (generation) => ({
    type: "failed",
    generation,
    reason,
    status,
    detail: "",
    retryAfterMs,
    final,
  }));
}

function frame(note: string, id: (state: MachineState) => string | null): Sample {
  return sample(note, (generation, state) => ({
    type: "frame",
    generation,
    frame: { type: "tick", data: "1", id: id(state) },
  }));
}

/** The largest offset that the state has seen. */
function high({ delivery }: MachineState): number {
  return delivery.open?.high ?? delivery.cursor?.offset ?? 0;
}

function mark(note: string, id: (state: MachineState) => string): Sample {
  return sample(note, (generation, state) => ({ type: "mark", generation, id: id(state) }));
}

function delivered(
  note: string,
  ok: boolean,
  more: { readonly withId?: boolean; readonly life?: number } = {},
): Sample {
  const { withId = true, life = 0 } = more;
  return sample(note, (_, state) => ({
    type: "delivered",
    ok,
    delivery: {
      frame: { type: "tick", data: "1", id: withId ? `${A}:${high(state)}` : null },
      cursor: withId ? at(high(state)) : null,
      life: state.delivery.life + life,
    },
  }));
}

function settled(note: string, ok: boolean, run: (state: MachineState) => number): Sample {
  const error = ok ? undefined : "refused";
  return sample(note, (_, state) => ({ type: "settled", run: run(state), ok, error }));
}

const theRun = ({ delivery }: MachineState): number => delivery.run?.id ?? -1;
const theLeftover = ({ delivery }: MachineState): number => delivery.leftover?.id ?? -1;

/** All of them. A type that is added to the machine and not to this record does not compile. */
export const EVENTS: { readonly [T in StreamEvent["type"]]: readonly Sample[] } = {
  start: command("start"),
  stop: command("stop"),
  reconnect: command("reconnect"),
  credentials: command("credentials"),
  visible: [
    ...command("visible", true),
    sample("2 s later", () => ({ type: "visible" }), 2000),
  ],
  hidden: command("hidden"),
  pageshow: command("pageshow", true),
  pagehide: command("pagehide", true),
  online: command("online"),
  offline: command("offline", true),
  tick: [
    sample("early", () => ({ type: "tick" })),
    sample("when due", () => ({ type: "tick" }), "due"),
    sample("10 min later", () => ({ type: "tick" }), LATER_MS),
  ],
  head: [sample("", (generation) => ({ type: "head", generation }))],
  failed: [
    failure("network", {}),
    failure("503, Retry-After 60 s", { status: 503, retryAfterMs: 60_000 }),
    failure("403 for good", { status: 403, final: true }),
  ],
  bytes: [
    sample("", (generation) => ({ type: "bytes", generation })),
    sample("10 min later", (generation) => ({ type: "bytes", generation }), LATER_MS),
  ],
  paused: [
    sample("on", (generation) => ({ type: "paused", generation, on: true })),
    sample("off", (generation) => ({ type: "paused", generation, on: false })),
  ],
  reset: [
    sample("slow", (generation) => ({ type: "reset", generation, reason: "slow" })),
    sample("shutdown", (generation) => ({ type: "reset", generation, reason: "shutdown" })),
  ],
  retry: [
    sample("5 s", (generation) => ({ type: "retry", generation, ms: 5000 })),
    sample("0", (generation) => ({ type: "retry", generation, ms: 0 })),
    sample("1e12", (generation) => ({ type: "retry", generation, ms: 1e12 })),
  ],
  ended: [
    sample("early", (generation) => ({ type: "ended", generation, reason: "ended", detail: "" })),
    sample(
      "10 min later",
      (generation) => ({ type: "ended", generation, reason: "ended", detail: "" }),
      LATER_MS,
    ),
    sample(
      "second hello, 10 min later",
      (generation) => ({ type: "ended", generation, reason: "second_hello", detail: "" }),
      LATER_MS,
    ),
  ],
  hello: [
    greeting("resumed", { resumed: true, verdict: "resumed" }),
    greeting("resumed, map cleared", { resumed: true, verdict: "resumed" }, { cleared: true }),
    greeting("resumed nothing", { resumed: true, verdict: "resumed" }, { presented: null }),
    greeting("fresh", {}, { presented: null }),
    greeting("gap_floor", { verdict: "gap_floor" }),
    greeting("epoch_changed, spread 10 s", {
      verdict: "epoch_changed",
      epoch: B,
      head: 2,
      revalidateSpreadMs: 10_000,
    }, { cleared: true }),
    greeting("gap_floor, repair", { verdict: "gap_floor", repair: true }),
  ],
  frame: [
    frame("new", (state) => `${A}:${high(state) + 1}`),
    frame("seen", (state) => `${A}:${high(state)}`),
    frame("without id", () => null),
    frame("malformed id", () => "7"),
    frame("foreign id", () => `${B}:90`),
  ],
  mark: [
    mark("new", (state) => `${A}:${high(state) + 1}`),
    mark("old", (state) => `${A}:${Math.max(0, high(state) - 1)}`),
    mark("foreign", () => `${B}:90`),
  ],
  lag: [
    sample("", (generation, state) => ({
      type: "lag",
      generation,
      lag: { missed: 3, from: `${A}:${high(state)}`, to: `${A}:${high(state) + 3}` },
    })),
    sample("unreadable", (generation) => ({
      type: "lag",
      generation,
      lag: { missed: null, from: "", to: "" },
    })),
  ],
  repaired: [sample("", (generation) => ({ type: "repaired", generation }))],
  topic_gap: [sample("", (generation) => ({ type: "topic_gap", generation, topic: "t" }))],
  delivered: [
    delivered("", true),
    delivered("threw", false),
    delivered("threw, without id", false, { withId: false }),
    delivered("of a dropped cursor", true, { life: -1 }),
  ],
  settled: [
    settled("the run", true, theRun),
    settled("the run, rejected", false, theRun),
    settled("the leftover", true, theLeftover),
    settled("an older run", true, () => 0),
  ],
  restored: [
    sample("cursor", () => restored(false, false)),
    sample("cursor, state kept", () => restored(false, true)),
    sample("cursor, state kept, unverified", () => restored(true, true)),
    sample("nothing", () => ({
      type: "restored",
      cursor: null,
      unverified: false,
      stateKept: false,
    })),
  ],
  drop_cursor: [
    sample("application", () => ({ type: "drop_cursor", reason: "application" })),
    sample("topics_grew", () => ({ type: "drop_cursor", reason: "topics_grew" })),
  ],
};

function restored(unverified: boolean, stateKept: boolean): StreamEvent {
  return { type: "restored", cursor: at(5), unverified, stateKept };
}
