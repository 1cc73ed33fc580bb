/**
 * Entries in the order of their offsets, that come at one end and leave at the other.
 *
 * @module
 */
import type { JournalEntry } from "./journal.ts";

/** An entry in memory. */
export interface Held {
  /** What is read. */
  readonly entry: JournalEntry;
  /** The bytes of its topic, name and data; 0 when nobody counts them. */
  bytes: number;
  /** When it was appended, on the monotonic clock: an adjusted system clock must not trim. */
  readonly born: number;
}

/** Below this many empty places the array is not worth moving. */
const COMPACT_AT = 32;

/** Entries that are found by bisection, for offsets may skip numbers. */
export class Run {
  /** A deque in an array: what stands before `#start` has left. */
  #held: (Held | undefined)[] = [];
  #start = 0;

  /** How many there are. */
  get length(): number {
    return this.#held.length - this.#start;
  }

  /** The oldest. */
  get first(): Held | undefined {
    return this.#held[this.#start];
  }

  /**
   * Adds the newest.
   *
   * @param held Its offset is above every one before.
   */
  push(held: Held): void {
    this.#held.push(held);
  }

  /** Lets the oldest go. */
  shift(): void {
    if (this.length === 0) return;
    this.#held[this.#start] = undefined;
    this.#start++;
    if (this.#start > COMPACT_AT && this.#start * 2 > this.#held.length) {
      this.#held = this.#held.slice(this.#start);
      this.#start = 0;
    }
  }

  /**
   * Counts entries.
   *
   * @param after The offset after which they stand, exclusive.
   * @param upTo The offset up to which they stand, inclusive.
   * @returns How many there are.
   */
  count(after: number, upTo: number): number {
    return Math.max(0, this.#indexAfter(upTo) - this.#indexAfter(after));
  }

  /**
   * The entries of a range, oldest first.
   *
   * @param offset The offset after which they stand, exclusive.
   * @param upTo The offset up to which they stand, inclusive.
   * @returns An iterator; it must be used up before the run changes.
   */
  *after(offset: number, upTo = Infinity): Generator<Held, void, undefined> {
    const end = this.#indexAfter(upTo);
    for (let i = this.#indexAfter(offset); i < end; i++) {
      const held = this.#held[i];
      if (held !== undefined) yield held;
    }
  }

  #indexAfter(offset: number): number {
    let low = this.#start;
    let high = this.#held.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#held[middle]?.entry.offset ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
