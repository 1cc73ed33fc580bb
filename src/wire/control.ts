/**
 * The library's own frames. They carry no id: none of them moves a cursor.
 *
 * @module
 */
import { encodeComment, encodeFrame, joinBytes } from "./frame.ts";
import { formatHello, type Hello } from "./hello.ts";

/** The names of the library's own events. */
export const CONTROL = {
  hello: "sse:hello",
  reset: "sse:reset",
  lag: "sse:lag",
  snapshot: "sse:snapshot",
  history: "sse:history",
  expiring: "sse:expiring",
} as const;

/** Why the hub ends a stream. */
export type ResetReason = "slow" | "shutdown";

/** A hole in a connection's frames, as `sse:lag` tells it. */
export interface Lag {
  /** How many matching, durable frames were lost; `null` when it cannot be known. */
  readonly missed: number | null;
  /** The cursor before the hole, exclusive. */
  readonly from: string;
  /** The cursor at the hole's end, inclusive. */
  readonly to: string;
}

/**
 * The frame that opens a connection.
 *
 * @param hello What it says.
 * @returns The frame's bytes.
 */
export function helloFrame(hello: Hello): Uint8Array {
  return encodeFrame(null, CONTROL.hello, formatHello(hello));
}

/**
 * The frame that says why the hub ends the stream.
 *
 * @param reason Why.
 * @returns The frame's bytes.
 */
export function resetFrame(reason: ResetReason): Uint8Array {
  return encodeFrame(null, CONTROL.reset, JSON.stringify({ reason }));
}

/**
 * A keepalive.
 *
 * @param event The event's name; `""` makes it the comment `: keepalive`.
 * @returns Its bytes.
 */
export function keepaliveFrame(event: string): Uint8Array {
  return event === "" ? encodeComment("keepalive") : encodeFrame(null, event, "{}");
}

/**
 * What stands at a hole: a comment for readers that watch comments, then the `sse:lag` frame.
 *
 * @param lag The hole.
 * @returns The bytes of both. The comment is left out when the number cannot be known.
 */
export function lagFrames({ missed, from, to }: Lag): Uint8Array {
  const frame = encodeFrame(null, CONTROL.lag, JSON.stringify({ missed, from, to }));
  return missed === null ? frame : joinBytes([encodeComment(`dropped ${missed}`), frame]);
}

/**
 * The frame that says that a connection's authority ends soon.
 *
 * @param inMs In how many milliseconds.
 * @returns The frame's bytes.
 */
export function expiringFrame(inMs: number): Uint8Array {
  return encodeFrame(null, CONTROL.expiring, JSON.stringify({ in_ms: inMs }));
}

/**
 * The frames around a topic's history.
 *
 * @param phase `begin` or `end`.
 * @param topic The topic.
 * @returns The frame's bytes.
 */
export function historyFrame(phase: "begin" | "end", topic: string): Uint8Array {
  return encodeFrame(null, CONTROL.history, JSON.stringify({ phase, topic }));
}

/**
 * The frames around a repair.
 *
 * @param phase `begin` or `end`.
 * @param head With `end`: the hello's head, which the repaired state stands for, in decimal.
 * @returns The frame's bytes.
 */
export function snapshotFrame(phase: "begin" | "end", head?: string): Uint8Array {
  return encodeFrame(null, CONTROL.snapshot, JSON.stringify({ phase, head }));
}
