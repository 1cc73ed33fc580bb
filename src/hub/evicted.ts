/**
 * What is no longer held, topic by topic: so that a client of a quiet topic whose cursor is far below
 * the ring's floor is told the truth, that it has missed nothing.
 *
 * @module
 */

import type { Topics } from "./topics.ts";

/** How many topics are remembered before the ones longest quiet are folded into one number. */
export const MAX_EVICTED_TOPICS = 65_536;

/** For each topic, the newest offset that was evicted. */
export class EvictedOffsets {
  readonly #limit: number;
  /** In the order of the offsets, for each eviction moves its topic to the end. */
  readonly #newest = new Map<string, number>();
  /** At or below this, a frame of any topic may have been evicted. */
  #common = 0;
  /** The newest offset evicted of all. */
  #any = 0;

  /** @param limit How many topics are remembered. */
  constructor(limit: number = MAX_EVICTED_TOPICS) {
    this.#limit = limit;
  }

  /**
   * Notes an eviction.
   *
   * @param topic The frame's topic.
   * @param offset The frame's offset, above every one noted before.
   */
  note(topic: string, offset: number): void {
    this.#newest.delete(topic);
    this.#newest.set(topic, offset);
    this.#any = offset;
    if (this.#newest.size <= this.#limit) return;
    // Forgetting a topic can only make an answer err towards `gap_floor`, never towards `resumed`.
    for (const [oldest, pruned] of this.#newest) {
      this.#newest.delete(oldest);
      this.raise(pruned);
      break;
    }
  }

  /**
   * Declares that below an offset nothing is known of any topic.
   *
   * @param offset The offset, inclusive.
   */
  raise(offset: number): void {
    this.#common = Math.max(this.#common, offset);
    this.#any = Math.max(this.#any, offset);
  }

  /**
   * The newest offset of one topic that is no longer held.
   *
   * @param topic The topic.
   * @returns The offset; 0 when there is none.
   */
  newestOf(topic: string): number {
    return Math.max(this.#common, this.#newest.get(topic) ?? 0);
  }

  /**
   * The newest offset that a connection would have received and that is no longer held.
   *
   * @param topics The connection's topics; `null` for everything.
   * @returns The offset; 0 when there is none.
   */
  newestFor(topics: Topics): number {
    if (topics === null) return this.#any;
    let newest = Math.max(this.#common, this.#newest.get("") ?? 0);
    for (const [topic, since] of topics) {
      const evicted = this.#newest.get(topic) ?? 0;
      if (evicted > since) newest = Math.max(newest, evicted);
    }
    return newest;
  }
}
