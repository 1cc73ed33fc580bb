/**
 * Reading the data of the library's own frames. A peer's mistake never throws: what cannot be read
 * is said to be unknown, for what such a frame announces happens all the same.
 *
 * @module
 */
import type { Lag } from "./control.ts";
import { readObject } from "./json.ts";

/** Where a stretch of frames begins or ends. */
export type Phase = "begin" | "end";

/**
 * Reads the data of `sse:reset`.
 *
 * @param data The frame's data.
 * @returns The reason, at most 64 characters; `""` when it says none.
 */
export function readReset(data: string): string {
  const { reason } = fields(data);
  return text(reason).slice(0, 64);
}

/**
 * Reads the data of `sse:lag`.
 *
 * @param data The frame's data.
 * @returns The hole; `missed` is `null` and a cursor `""` when it does not say.
 */
export function readLag(data: string): Lag {
  const { missed, from, to } = fields(data);
  return {
    missed: isCount(missed) ? missed : null,
    from: text(from),
    to: text(to),
  };
}

/**
 * Reads the data of `sse:snapshot` and of `sse:history`.
 *
 * @param data The frame's data.
 * @returns The phase, `null` when it is neither; and the topic, `""` when it names none.
 */
export function readPhase(data: string): { readonly phase: Phase | null; readonly topic: string } {
  const { phase, topic } = fields(data);
  return {
    phase: phase === "begin" || phase === "end" ? phase : null,
    topic: text(topic),
  };
}

/**
 * Reads the data of `sse:expiring`.
 *
 * @param data The frame's data.
 * @returns In how many milliseconds the connection's authority ends; 0 when it does not say.
 */
export function readExpiring(data: string): number {
  const ms = fields(data)["in_ms"];
  return isCount(ms) ? ms : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The fields of a frame's data; none where it cannot be read. */
function fields(data: string): Readonly<Record<string, unknown>> {
  return readObject(data) ?? {};
}
