/**
 * The vocabulary of the state machine: what can happen to a stream, and what it then asks for.
 *
 * The machine is a pure function. Time, chance and what the version map holds are inputs; whatever
 * touches the world is an {@linkcode Effect}, which the runtime carries out without deciding anything.
 *
 * @module
 */
import type { Lag } from "../wire/control.ts";
import type { Cursor } from "../wire/cursor.ts";
import type { Hello } from "../wire/hello.ts";
import type { ConnectFailure, Disconnect, LifecycleRecord } from "./records.ts";
import type { TimingConfig } from "./timing.ts";
import type { Frame, RevalidateCause } from "./types.ts";

/** What the machine is told with each step. */
export interface StepContext {
  /** Milliseconds on a clock that never goes back. */
  readonly now: number;
  /** A number from 0 to below 1; at most one wait is drawn in a step. */
  readonly rand: number;
  /** Whether the application holds no version at all, so that a digest cannot help it. */
  readonly blank: boolean;
  /** The times and bounds. */
  readonly config: MachineConfig;
}

/** What never changes for one stream. */
export interface MachineConfig extends TimingConfig {
  /** After how many failed attempts in a row the stream is exhausted; 0: never. */
  readonly maxAttempts: number;
  /** Whether the application revalidates: if not, there is nothing to spread. */
  readonly revalidates: boolean;
}

/** The causes of a wake. */
export type WakeCause = "visible" | "pageshow" | "online";

/** What the application and the platform say. */
export type CommandEvent =
  | { readonly type: "start" }
  | { readonly type: "stop" }
  | { readonly type: "reconnect" }
  | { readonly type: "credentials" }
  | { readonly type: "visible" }
  | { readonly type: "hidden" }
  | { readonly type: "pageshow" }
  | { readonly type: "pagehide" }
  | { readonly type: "online" }
  | { readonly type: "offline" }
  /** A wait may be over: the machine compares clocks, it never counts ticks. */
  | { readonly type: "tick" };

/** What an attempt reports about its connection; `generation` says which attempt. */
export type LinkReport =
  /** The head of a response that may be a stream. */
  | { readonly type: "head"; readonly generation: number }
  /** The attempt came to nothing before its hello. */
  | {
    readonly type: "failed";
    readonly generation: number;
    readonly reason: ConnectFailure;
    readonly status: number | null;
    readonly detail: string;
    /** What the server asked us to wait at least. */
    readonly retryAfterMs: number;
    /** Whether trying again is pointless. */
    readonly final: boolean;
  }
  /** Any byte. */
  | { readonly type: "bytes"; readonly generation: number }
  /** Whether the application wants no more for now; silence then means nothing. */
  | { readonly type: "paused"; readonly generation: number; readonly on: boolean }
  /** `sse:reset`. */
  | { readonly type: "reset"; readonly generation: number; readonly reason: string }
  /** `retry:`. */
  | { readonly type: "retry"; readonly generation: number; readonly ms: number }
  /** The stream ended after its hello. */
  | {
    readonly type: "ended";
    readonly generation: number;
    readonly reason: Disconnect;
    readonly detail: string;
  };

/** The hello of an attempt: it concerns the connection and the delivery. */
export interface HelloReport {
  readonly type: "hello";
  readonly generation: number;
  readonly hello: Hello;
  /** The cursor that the attempt presented. */
  readonly presented: Cursor | null;
  /** Whether binding the version map to the hello's epoch cleared it. */
  readonly cleared: boolean;
}

/** What an open connection brings. */
export type StreamReport =
  | { readonly type: "frame"; readonly generation: number; readonly frame: Frame }
  /** A block of an id alone. */
  | { readonly type: "mark"; readonly generation: number; readonly id: string }
  | { readonly type: "lag"; readonly generation: number; readonly lag: Lag }
  /** `sse:snapshot` end. */
  | { readonly type: "repaired"; readonly generation: number }
  /** A topic of the live stream could not resume. */
  | { readonly type: "topic_gap"; readonly generation: number; readonly topic: string };

/** What the runtime says about its own work. */
export type WorkReport =
  /** `onFrame` returned, or threw. */
  | { readonly type: "delivered"; readonly delivery: Delivery; readonly ok: boolean }
  /** A revalidation's promise settled. */
  | {
    readonly type: "settled";
    readonly run: number;
    readonly ok: boolean;
    readonly error: unknown;
  }
  /** A cursor came from the application's store. */
  | {
    readonly type: "restored";
    readonly cursor: Cursor | null;
    readonly unverified: boolean;
    readonly stateKept: boolean;
  }
  /** The cursor is to be forgotten. */
  | { readonly type: "drop_cursor"; readonly reason: "application" | "topics_grew" };

/** Everything that can happen. */
export type StreamEvent = CommandEvent | LinkReport | HelloReport | StreamReport | WorkReport;

/** A frame on its way to the application. */
export interface Delivery {
  readonly frame: Frame;
  /** Where the cursor stands afterwards; `null` when it does not move. */
  readonly cursor: Cursor | null;
  /** Which life of the cursor it belongs to: one that was dropped must not come back. */
  readonly life: number;
}

/** What the runtime is asked to do. */
export type Effect =
  /** Start an attempt, with that cursor. */
  | {
    readonly type: "connect";
    readonly generation: number;
    readonly attempt: number;
    readonly cursor: Cursor | null;
  }
  /** End the attempt, or the stream. */
  | { readonly type: "abort"; readonly generation: number }
  /** Hand a frame to the application, then report `delivered`. */
  | { readonly type: "deliver"; readonly delivery: Delivery }
  /** Start a revalidation, then report `settled`. */
  | {
    readonly type: "revalidate";
    readonly run: number;
    readonly cause: RevalidateCause;
    readonly full: boolean;
    readonly topics: readonly string[] | null;
  }
  /** Abort the signal of a revalidation. */
  | { readonly type: "abort_run"; readonly run: number }
  /** Tell the application of a hole. */
  | { readonly type: "tell_lag"; readonly lag: Lag }
  /** Report. */
  | { readonly type: "record"; readonly record: LifecycleRecord };
