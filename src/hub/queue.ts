/**
 * The frames that wait for one live connection: references, never copies.
 *
 * @module
 */
import { MAX_CHUNK_BYTES } from "./joiner.ts";
import type { Frame } from "./ring.ts";

/** A bounded queue of frames. */
export class FrameQueue {
  readonly #maxFrames: number;
  readonly #maxBytes: number;
  #frames: Frame[] = [];
  #bytes = 0;
  #ephemeral = 0;

  /**
   * @param maxFrames The most frames that may wait.
   * @param maxBytes The most bytes that may wait.
   */
  constructor(maxFrames: number, maxBytes: number) {
    this.#maxFrames = maxFrames;
    this.#maxBytes = maxBytes;
  }

  /** How many frames wait. */
  get length(): number {
    return this.#frames.length;
  }

  /** Whether more frames wait than the bound allows in the long run. */
  get over(): boolean {
    return this.#frames.length > this.#maxFrames;
  }

  /**
   * Adds a frame, if need be in the place of ephemeral ones: nobody misses those later.
   *
   * @param frame The frame.
   * @param burst Whether the number of frames may pass its bound for now. The bytes never may.
   * @returns What became of it: `full` means that a durable frame found no place.
   */
  push(frame: Frame, burst: boolean): "queued" | "dropped" | "full" {
    if (!this.#fits(frame, false)) {
      if (frame.offset === 0) return "dropped";
      this.#dropEphemeral();
      if (!this.#fits(frame, burst)) return "full";
    }
    this.#frames.push(frame);
    this.#bytes += frame.bytes.length;
    if (frame.offset === 0) this.#ephemeral++;
    return "queued";
  }

  /**
   * Takes frames from the front.
   *
   * @param room How many bytes they may have together.
   * @param first Whether the first is taken whatever its size. One larger than a chunk always is:
   * waiting for a chunk with enough room, it would wait for ever.
   * @returns The frames, oldest first.
   */
  take(room: number, first: boolean): readonly Frame[] {
    const all = this.#bytes <= room;
    const taken = all ? this.#frames : this.#frames.slice(0, this.#fitting(room, first));
    this.#frames = taken === this.#frames ? [] : this.#frames.slice(taken.length);
    for (const frame of taken) {
      this.#bytes -= frame.bytes.length;
      if (frame.offset === 0) this.#ephemeral--;
    }
    return taken;
  }

  /** Forgets all frames. */
  clear(): void {
    this.#frames = [];
    this.#bytes = 0;
    this.#ephemeral = 0;
  }

  #fits(frame: Frame, burst: boolean): boolean {
    return (burst || this.#frames.length < this.#maxFrames) &&
      this.#bytes + frame.bytes.length <= this.#maxBytes;
  }

  #fitting(room: number, first: boolean): number {
    let count = 0;
    let bytes = 0;
    for (const frame of this.#frames) {
      bytes += frame.bytes.length;
      const anyway = count === 0 && (first || frame.bytes.length > MAX_CHUNK_BYTES);
      if (bytes > room && !anyway) break;
      count++;
    }
    return count;
  }

  #dropEphemeral(): void {
    if (this.#ephemeral === 0) return;
    this.#frames = this.#frames.filter((frame) => frame.offset !== 0);
    this.#bytes = this.#frames.reduce((sum, frame) => sum + frame.bytes.length, 0);
    this.#ephemeral = 0;
  }
}
