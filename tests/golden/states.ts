/**
 * The states of the table: each is reached from the initial one by real events.
 *
 * @module
 */
import { DEFAULT_TIMING } from "../../src/client/timing.ts";
import { INITIAL, type MachineState } from "../../src/client/machine.ts";
import { deadline, reduce } from "../../src/client/reducer.ts";
import type { Effect, MachineConfig, StreamEvent } from "../../src/client/step.ts";
import type { StreamState } from "../../src/client/types.ts";
import { EVENTS, type Sample, type When } from "./events.ts";

/** The chance of every step of the table. */
export const RAND = 0.5;

/** One state of the table. */
export interface Row {
  /** What the table calls it. */
  readonly name: string;
  readonly config: MachineConfig;
  /** When it was reached. */
  readonly now: number;
  readonly state: MachineState;
}

/** One step of a way: the type of an event and, after a colon, its note. */
export type Way = readonly (string | readonly [event: string, when: When])[];

/** Restored with a cursor, started, and greeted: with a cursor and nothing owed. */
const CONNECTING: Way = ["restored: cursor, state kept", "start"];
const OPEN: Way = [...CONNECTING, "head", "hello: resumed"];
const RUNNING: Way = [...CONNECTING, "head", "hello: gap_floor"];
const HELD: Way = [...RUNNING, "frame: new", "mark: new", "frame: new"];
const FULL: Way = [...RUNNING, "frame: new", "frame: new", "frame: new"];
const TOO_MANY: Way = [...FULL, "frame: new"];
const BACKOFF: Way = [...CONNECTING, "failed: network"];
const ASKED: Way = [...CONNECTING, "failed: 503, Retry-After 60 s"];
const REPAIR: Way = [...CONNECTING, "head", "hello: gap_floor, repair"];
const AGAIN: Way = ["ended: early", ["tick: when due", "due"], "head", "hello: resumed"];

/**
 * How each state is reached. A kind of state that is added to the machine and not to this record
 * does not compile.
 */
const WAYS: { readonly [K in StreamState]: Readonly<Record<string, Way>> } = {
  stopped: {
    "stopped": [],
    "stopped, cursor restored": ["restored: cursor"],
    "stopped, hidden": [...OPEN, "hidden", "stop"],
    "stopped by a refusal": [...CONNECTING, "failed: 403 for good"],
  },
  connecting: {
    "connecting": CONNECTING,
    "connecting, state not kept": ["restored: cursor", "start", "head"],
    "connecting, unverified": ["restored: cursor, state kept, unverified", "start", "head"],
    "connecting, head": [...CONNECTING, "head"],
    "connecting, hidden": [...CONNECTING, "head", "hidden"],
    "connecting, the network said to be away": [...CONNECTING, "offline", "reconnect"],
    "connecting, too many were held": [...TOO_MANY, ["tick: when due", "due"], "head"],
    "connecting, woken up": [...OPEN, "pagehide", "pageshow", "head"],
  },
  open: {
    "open": OPEN,
    "open, a failure before": [
      ...BACKOFF,
      ["tick: when due", "due"],
      "head",
      "hello: resumed",
    ],
    "open, hidden": [...OPEN, "hidden"],
    "open, paused": [...OPEN, "paused: on"],
    "open, shutdown announced": [...OPEN, "reset: shutdown"],
    "open, frame on its way": [...OPEN, "frame: new"],
    "open, run running": RUNNING,
    "open, run running, another waits": [...RUNNING, "lag"],
    "open, run of a topic, unverified": [
      ...RUNNING,
      "settled: the run, rejected",
      "topic_gap",
    ],
    "open, run due": [...CONNECTING, "head", "hello: epoch_changed, spread 10 s"],
    "open, frames held": HELD,
    "open, as many held as may be": FULL,
    "open, draining": [...HELD, "settled: the run"],
    "open, repair": REPAIR,
    "open, repair, frame rejected": [
      ...REPAIR,
      "frame: without id",
      "delivered: threw, without id",
    ],
    "open, repair, frame rejected, run rejected": [
      ...REPAIR,
      "frame: without id",
      "delivered: threw, without id",
      "settled: the run, rejected",
    ],
    "open, leftover": [...RUNNING, ...AGAIN],
    "open, repair, topic's run running": [...REPAIR, "topic_gap", "frame: without id"],
    "open, too many were held": [
      ...TOO_MANY,
      ["tick: when due", "due"],
      "head",
      "hello: resumed nothing",
    ],
    "open, unverified": [...OPEN, "frame: malformed id", "delivered"],
  },
  backoff: {
    "backoff": BACKOFF,
    "backoff, hidden": [...BACKOFF, "hidden"],
    "backoff, the server asked": ASKED,
    "backoff, leftover": [...RUNNING, "ended: early"],
    "backoff, too many were held": TOO_MANY,
  },
  offline: {
    "offline": [...OPEN, "offline"],
    "offline, the server asked": [...ASKED, "offline"],
  },
  hidden_closed: {
    "hidden_closed": [...OPEN, "pagehide"],
    "hidden_closed, the server asked": [...ASKED, "pagehide"],
    "hidden_closed, offline": [...OPEN, "pagehide", "offline"],
  },
  exhausted: {
    "exhausted": [...BACKOFF, ["tick: when due", "due"], "failed: network"],
  },
};

const ORDINARY: MachineConfig = { ...DEFAULT_TIMING, maxAttempts: 0, revalidates: true };

/** What differs from it. */
const CONFIG: Readonly<Record<string, Partial<MachineConfig>>> = {
  "exhausted": { maxAttempts: 2 },
  "open, as many held as may be": { heldMaxFrames: 3 },
  "open, too many were held": { heldMaxFrames: 3 },
  "connecting, too many were held": { heldMaxFrames: 3 },
  "backoff, too many were held": { heldMaxFrames: 3 },
};

/**
 * Walks every way.
 *
 * @returns The states, each with its name, grouped by kind.
 * @throws {Error} When a way does not end in the kind under which it stands.
 */
export function rows(): readonly Row[] {
  return Object.entries(WAYS).flatMap(([kind, ways]) =>
    Object.entries(ways).map(([name, way]) => {
      const row = walk(name, way, CONFIG[name]);
      if (row.state.link.kind !== kind) throw new Error(`${name}: it is ${row.state.link.kind}`);
      return row;
    })
  );
}

/**
 * Walks one way.
 *
 * @param name What the state is called.
 * @param way The way to it.
 * @param config What of the configuration is not ordinary.
 * @returns The state.
 */
export function walk(name: string, way: Way, config: Partial<MachineConfig> = {}): Row {
  const whole: MachineConfig = { ...ORDINARY, ...config };
  let row: Row = { name, config: whole, now: 0, state: INITIAL };
  for (const step of way) {
    const [event, when] = typeof step === "string" ? [step, undefined] : step;
    row = go(row, event, when ?? 10)[0];
  }
  return row;
}

/**
 * Goes one step.
 *
 * @param row The state before.
 * @param event The event's name.
 * @param when When it happens.
 * @returns The state after, and what was asked for.
 */
export function go(row: Row, event: string, when: When): readonly [Row, readonly Effect[]] {
  const { config } = row;
  const now = timeOf(row.state, when, row.now, config);
  const context = { now, rand: RAND, blank: false, config };
  const [state, effects] = reduce(row.state, find(event).make(row.state), context);
  return [{ ...row, now, state }, effects];
}

/**
 * When an event happens.
 *
 * @param state The state it meets.
 * @param when The event's own word.
 * @param now When the state was reached.
 * @param config The times.
 * @returns The instant. A state that waits for nothing has its tick soon.
 */
export function timeOf(
  state: MachineState,
  when: When,
  now: number,
  config: MachineConfig,
): number {
  if (when !== "due") return now + when;
  const due = deadline(state, config);
  return due === Infinity ? now + 100 : Math.max(now, due);
}

/** What the table calls an event. */
export function nameOf(type: StreamEvent["type"], { note }: Sample): string {
  return note === "" ? type : `${type}: ${note}`;
}

function find(name: string): Sample {
  for (const [type, samples] of Object.entries(EVENTS)) {
    for (const one of samples) {
      if (nameOf(type as StreamEvent["type"], one) === name) return one;
    }
  }
  throw new Error(`There is no event "${name}"`);
}
