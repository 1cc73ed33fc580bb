/**
 * Time under a test's control.
 *
 * @module
 */
import type { Clock, Timer } from "../hub/clock.ts";

interface Waiting {
  due: number;
  /** Timers of one instant run in the order in which they were set. */
  order: number;
  readonly everyMs: number | null;
  readonly callback: () => void;
}

/**
 * A clock that stands still until it is told to advance.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { FakeClock } from "@tidemark/sse/testing";
 *
 * const clock = new FakeClock();
 * const seen: number[] = [];
 * clock.every(1000, () => seen.push(clock.monotonic()));
 * clock.advance(2500);
 * assertEquals(seen, [1000, 2000]);
 * ```
 */
export class FakeClock implements Clock {
  readonly #start: number;
  readonly #waiting = new Set<Waiting>();
  #elapsed = 0;
  #order = 0;

  /**
   * A clock that has just begun.
   *
   * @param start What {@linkcode now} says at first, in milliseconds since the Unix epoch.
   */
  constructor(start = 1_700_000_000_000) {
    this.#start = start;
  }

  /** Milliseconds since the Unix epoch. */
  now(): number {
    return this.#start + this.#elapsed;
  }

  /** Milliseconds since the clock was made. */
  monotonic(): number {
    return this.#elapsed;
  }

  /**
   * Calls back once.
   *
   * @param ms After how many milliseconds.
   * @param callback What to call.
   * @returns The wait.
   */
  after(ms: number, callback: () => void): Timer {
    return this.#set(ms, null, callback);
  }

  /**
   * Calls back again and again.
   *
   * @param ms The interval in milliseconds; less than 1 counts as 1, as it does for `setInterval`.
   * @param callback What to call.
   * @returns The wait.
   */
  every(ms: number, callback: () => void): Timer {
    const interval = Math.max(ms, 1);
    return this.#set(interval, interval, callback);
  }

  /** How many waits are set: 0 when everything was cleaned up. */
  get pending(): number {
    return this.#waiting.size;
  }

  /**
   * Lets time pass. What falls due meanwhile is called in order, each at its own instant; also what
   * those calls set, when it falls due before the end.
   *
   * @param ms How many milliseconds.
   */
  advance(ms: number): void {
    const end = this.#elapsed + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#elapsed = Math.max(this.#elapsed, next.due);
      if (next.everyMs === null) this.#waiting.delete(next);
      else {
        next.due += next.everyMs;
        next.order = this.#order++;
      }
      next.callback();
    }
    this.#elapsed = end;
  }

  #set(ms: number, everyMs: number | null, callback: () => void): Timer {
    const waiting: Waiting = {
      due: this.#elapsed + Math.max(ms, 0),
      order: this.#order++,
      everyMs,
      callback,
    };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  #next(end: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (waiting.due > end) continue;
      if (
        first === undefined || waiting.due < first.due ||
        (waiting.due === first.due && waiting.order < first.order)
      ) first = waiting;
    }
    return first;
  }
}
