/**
 * One reading of the clock for a whole turn: where a frame goes to thousands of connections at once,
 * reading it for each would cost more than the rest of what a hub does.
 *
 * @module
 */
import type { Clock } from "./clock.ts";

/** The monotonic time, which stands still while a turn's work is done. */
export class Turn {
  readonly #clock: Clock;
  #now: number | null = null;

  /** @param clock The clock. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The monotonic time in milliseconds; within {@linkcode during}, that of its beginning. */
  now(): number {
    return this.#now ?? this.#clock.monotonic();
  }

  /**
   * Does a turn's work.
   *
   * @param work The work; it returns when the turn is over.
   */
  during(work: () => void): void {
    this.#now = this.#clock.monotonic();
    try {
      work();
    } finally {
      this.#now = null;
    }
  }
}
