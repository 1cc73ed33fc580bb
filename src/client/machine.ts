/**
 * The state of a stream's machine, and the draft of it that one step works on.
 *
 * @module
 */
import type { Cursor } from "../wire/cursor.ts";
import { RETRY_MS } from "../wire/timing.ts";
import type { Demand } from "./demand.ts";
import { type Held, NOTHING_HELD } from "./held.ts";
import type { Disconnect, LifecycleRecord } from "./records.ts";
import type { Effect, StepContext, WakeCause } from "./step.ts";
import type { RevalidateCause, StreamState } from "./types.ts";

/** Where the connection stands. */
export interface LinkState {
  readonly kind: StreamState;
  /** Which attempt is, or was, the newest; 0 before the first. */
  readonly generation: number;
  /** How many attempts have failed since the last stable stream. */
  readonly attempt: number;
  /** `connecting`: when it is given up. `backoff`: when the next attempt starts. */
  readonly until: number;
  /** `backoff`: the server asked not to come before; no wake cuts this short. */
  readonly earliest: number;
  /** `connecting`: whether the head of the response is here. */
  readonly head: boolean;
  /** `open`: since when. */
  readonly openedAt: number;
  /** When the last byte came. */
  readonly lastByteAt: number;
  /** The silence after which an open stream is given up. */
  readonly watchdogMs: number;
  /** Whether the application wants no more bytes for now. */
  readonly paused: boolean;
  /** Why the server said that it would end the stream; `""` when it has not. */
  readonly reset: string;
  /** What the server's `retry:` asks for. */
  readonly retryMs: number;
  /** Since when nobody sees the page; `null` while somebody does. */
  readonly hiddenAt: number | null;
  /** Whether the platform says that there is a network. */
  readonly online: boolean;
}

/** What is known of the open connection. */
export interface OpenConnection {
  /** The hello's epoch. */
  readonly epoch: string;
  /** The largest offset seen on it, or before it: what is not above it came before. */
  readonly high: number;
  /** Over how long the server wants revalidations spread. */
  readonly spreadMs: number;
}

/** A revalidation that is due or runs. */
export interface Run {
  readonly id: number;
  readonly cause: RevalidateCause;
  readonly full: boolean;
  readonly topics: readonly string[] | null;
  /** What the cursor becomes when it has settled. */
  readonly adopt: Cursor | null;
  /** When it was wanted. */
  readonly wantedAt: number;
  /** When it started; `null` while it is only due. */
  readonly startedAt: number | null;
  /** When it starts; once it has, when it is given up. */
  readonly until: number;
  /** Whether something came up since it started, which it cannot cover. */
  readonly overtaken: boolean;
}

/** A snapshot that is being sent instead of what was missed. */
export interface Repair {
  /** When it is given up. */
  readonly until: number;
  /** What the cursor becomes at its end. */
  readonly adopt: Cursor;
  /** Whether a piece of it was not taken, so that a revalidation is owed all the same. */
  readonly spoilt: boolean;
}

/** Where the delivery stands. */
export interface DeliveryState {
  readonly cursor: Cursor | null;
  /** Which life of the cursor this is; each drop begins another. */
  readonly life: number;
  /** The open connection; `null` while there is none. */
  readonly open: OpenConnection | null;
  readonly held: Held;
  /** Whether held frames are on their way out. */
  readonly draining: boolean;
  /** The revalidation that is due or runs. */
  readonly run: Run | null;
  /** The one that comes after it. */
  readonly next: Demand | null;
  /** An aborted revalidation whose promise has not settled: no other starts before `until`. */
  readonly leftover: { readonly id: number; readonly until: number } | null;
  /** How many revalidations there have been. */
  readonly runs: number;
  /** When the newest one started; `-Infinity` before the first. */
  readonly ranAt: number;
  /** The repair under way. */
  readonly repair: Repair | null;
  /** A wake that waits for a hello. */
  readonly wake: WakeCause | null;
  /** Whether the cursor has passed something that no revalidation covers yet. */
  readonly unverified: boolean;
  /** Whether the cursor came from a store without the state it covers. */
  readonly restored: boolean;
  /** Whether the next run must be a full one. */
  readonly full: boolean;
  /**
   * Whether the next connections present no cursor: a replay was more than can be held while a
   * revalidation runs, and would be again. A full run covers it; the cursor stays until it has.
   */
  readonly skipReplay: boolean;
}

/** The whole state of a stream. It is never changed: each step makes another. */
export interface MachineState {
  readonly link: LinkState;
  readonly delivery: DeliveryState;
}

/** A stream before its start. */
export const INITIAL: MachineState = {
  link: {
    kind: "stopped",
    generation: 0,
    attempt: 0,
    until: 0,
    earliest: 0,
    head: false,
    openedAt: 0,
    lastByteAt: 0,
    watchdogMs: 0,
    paused: false,
    reset: "",
    retryMs: RETRY_MS,
    hiddenAt: null,
    online: true,
  },
  delivery: {
    cursor: null,
    life: 0,
    open: null,
    held: NOTHING_HELD,
    draining: false,
    run: null,
    next: null,
    leftover: null,
    runs: 0,
    ranAt: -Infinity,
    repair: null,
    wake: null,
    unverified: false,
    restored: false,
    full: false,
    skipReplay: false,
  },
};

/** A state that one step may write on, because nobody else has it. */
export type Draft<S> = { -readonly [K in keyof S]: S[K] };

/**
 * One step of the machine: what it is told, a draft of the new state, and what it asks for so far.
 * What lies below a draft's first level is replaced, never changed.
 */
export interface Turn extends StepContext {
  readonly link: Draft<LinkState>;
  readonly delivery: Draft<DeliveryState>;
  readonly effects: Effect[];
  /** Why the delivery gives the connection up; `null` when it does not. */
  giveUp: Disconnect | null;
}

/**
 * Asks for a record.
 *
 * @param turn The step.
 * @param record The record.
 */
export function tell(turn: Turn, record: LifecycleRecord): void {
  turn.effects.push({ type: "record", record });
}
