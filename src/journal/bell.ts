/**
 * How the readers of a store in this process hear of an append: without asking it again and again.
 *
 * @module
 */

/** A bell that wakes whoever waits. */
export class Bell {
  #waiting = new Set<() => void>();
  #rings = 0;

  /** How often it has rung: who read this before it looked, and reads the same now, missed nothing. */
  get rings(): number {
    return this.#rings;
  }

  /** Wakes all who wait now. */
  ring(): void {
    this.#rings++;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /**
   * Waits for the next ring, or for some time.
   *
   * @param ms The longest wait in milliseconds; with `Infinity` no timer is set.
   * @param signal Ends the waiting early.
   * @returns Settles, never rejects.
   */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = ms === Infinity ? undefined : setTimeout(wake, ms);
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  }
}
