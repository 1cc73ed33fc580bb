/**
 * Time as an argument: what a hub needs of it, so that a test can hand in its own.
 *
 * @module
 */

/** A cancellable wait. */
export interface Timer {
  /** Cancels the wait; a second call does nothing. */
  cancel(): void;
}

/** The time, and waits. */
export interface Clock {
  /** Milliseconds since the Unix epoch, for what people read. */
  now(): number;
  /** Milliseconds on a clock that never goes back, for what is measured. */
  monotonic(): number;
  /**
   * Calls back once.
   *
   * @param ms After how many milliseconds.
   * @param callback What to call.
   */
  after(ms: number, callback: () => void): Timer;
  /**
   * Calls back again and again.
   *
   * @param ms The interval in milliseconds.
   * @param callback What to call.
   */
  every(ms: number, callback: () => void): Timer;
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const id = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(id) };
  },
  every(ms, callback) {
    const id = setInterval(callback, ms);
    return { cancel: () => clearInterval(id) };
  },
};
