/**
 * The ring: the newest frames, bounded three ways at once, oldest out first.
 *
 * @module
 */

/** An encoded event. Queues and the ring hold references to it; the bytes exist once. */
export interface Frame {
  /** Its offset; 0 for an ephemeral event, which has none. */
  readonly offset: number;
  /** Its topic; `""` for a broadcast. */
  readonly topic: string;
  /** The encoded frame. */
  readonly bytes: Uint8Array;
  /** When it was published, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** When it was published, on the monotonic clock: an adjusted system clock must not evict. */
  readonly born: number;
  /** Whether it is no event, but says that some are missing here. */
  readonly gap?: boolean;
}

/** The bounds of a ring. */
export interface RingBounds {
  /** The most frames. */
  readonly maxEvents: number;
  /** The greatest age in milliseconds. */
  readonly ttlMs: number;
  /** The most bytes of encoded frames. */
  readonly maxBytes: number;
}

/** Below this many evicted places the array is not worth moving. */
const COMPACT_AT = 1024;

/** The newest frames of a hub, in the order of their offsets. */
export class Ring {
  readonly #bounds: RingBounds;
  readonly #onEvict: (frame: Frame) => void;
  /** A deque in an array: what stands before `#start` has been evicted. */
  #frames: (Frame | undefined)[] = [];
  #start = 0;
  #bytes = 0;

  /**
   * @param bounds Its bounds.
   * @param onEvict Called with each frame that leaves, oldest first.
   */
  constructor(bounds: RingBounds, onEvict: (frame: Frame) => void) {
    this.#bounds = bounds;
    this.#onEvict = onEvict;
  }

  /** How many frames it holds. */
  get length(): number {
    return this.#frames.length - this.#start;
  }

  /** How many bytes of encoded frames it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The oldest offset it holds; 0 when it is empty. */
  get floor(): number {
    return this.floorAfter(0);
  }

  /**
   * The oldest offset it holds after another.
   *
   * @param offset The other, exclusive.
   * @returns The offset; 0 when there is none.
   */
  floorAfter(offset: number): number {
    return this.#frames[this.#indexAfter(offset)]?.offset ?? 0;
  }

  /**
   * Appends a frame, and evicts what the bounds no longer allow: the new one too, when the ring may
   * hold nothing.
   *
   * @param frame The frame; its offset is above every one before.
   */
  push(frame: Frame): void {
    this.#frames.push(frame);
    this.#bytes += frame.bytes.length;
    this.evict(frame.born);
  }

  /**
   * Evicts what is over a bound.
   *
   * @param now The monotonic time.
   */
  evict(now: number): void {
    const { maxEvents, maxBytes, ttlMs } = this.#bounds;
    const born = now - ttlMs;
    for (;;) {
      const oldest = this.#frames[this.#start];
      if (oldest === undefined) break;
      const over = this.length > maxEvents || this.#bytes > maxBytes || oldest.born < born;
      if (!over) break;
      this.#frames[this.#start] = undefined;
      this.#start++;
      this.#bytes -= oldest.bytes.length;
      this.#onEvict(oldest);
    }
    if (this.#start > COMPACT_AT && this.#start * 2 > this.#frames.length) {
      this.#frames = this.#frames.slice(this.#start);
      this.#start = 0;
    }
  }

  /**
   * The frames after an offset, oldest first.
   *
   * @param offset The offset, exclusive.
   * @returns An iterator; it must be used up before the ring changes.
   */
  *after(offset: number): Generator<Frame, void, undefined> {
    for (let i = this.#indexAfter(offset); i < this.#frames.length; i++) {
      const frame = this.#frames[i];
      if (frame !== undefined) yield frame;
    }
  }

  /** By bisection, for offsets may skip numbers. */
  #indexAfter(offset: number): number {
    let low = this.#start;
    let high = this.#frames.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#frames[middle]?.offset ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
