/**
 * Joining: what waits for a connection leaves as one chunk, and connections with the same frames
 * waiting share that chunk.
 *
 * @module
 */
import { joinBytes } from "../wire/frame.ts";
import type { Frame } from "./ring.ts";

/** The most bytes that leave in one chunk: a slow but living reader must be seen to take some. */
export const MAX_CHUNK_BYTES = 65_536;

/** How many different joins that end in the same frame are remembered. */
const SAME_END = 4;

interface Joined {
  readonly frames: readonly Frame[];
  readonly bytes: Uint8Array;
}

/** Joins frames, and remembers what it joined until the turn is over. */
export class Joiner {
  readonly #byLast = new Map<Frame, Joined[]>();

  /**
   * Joins frames into one chunk.
   *
   * @param frames The frames, in order; at least one. The caller may change the array afterwards.
   * @returns Their bytes: the same array for the same frames within a turn.
   */
  join(frames: readonly Frame[]): Uint8Array {
    const last = frames[frames.length - 1];
    if (last === undefined) return new Uint8Array();
    if (frames.length === 1) return last.bytes;
    const joined = this.#byLast.get(last) ?? [];
    const known = joined.find((entry) => same(entry.frames, frames));
    if (known !== undefined) return known.bytes;
    const bytes = joinBytes(frames.map((frame) => frame.bytes));
    if (this.#byLast.size === 0) queueMicrotask(() => this.#byLast.clear());
    if (joined.length < SAME_END) {
      joined.push({ frames: frames.slice(), bytes });
      this.#byLast.set(last, joined);
    }
    return bytes;
  }
}

function same(a: readonly Frame[], b: readonly Frame[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
