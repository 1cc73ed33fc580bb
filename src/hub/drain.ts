/**
 * Waiting until every stream has ended.
 *
 * @module
 */

/** Streams that have not ended, or whose last bytes have not been flushed. */
export class Drain {
  readonly #open = new Set<unknown>();
  #waiting: (() => void)[] = [];

  /**
   * A stream began.
   *
   * @param stream The stream.
   */
  add(stream: unknown): void {
    this.#open.add(stream);
  }

  /**
   * A stream ended.
   *
   * @param stream The stream.
   * @param flushed Settles when its last bytes are on their way; `undefined` when nobody can tell.
   */
  delete(stream: unknown, flushed: Promise<unknown> | undefined): void {
    const gone = (): void => {
      this.#open.delete(stream);
      if (this.#open.size > 0) return;
      for (const resolve of this.#waiting.splice(0)) resolve();
    };
    if (flushed === undefined) gone();
    else flushed.then(gone, gone);
  }

  /** Settles when no stream is left. */
  empty(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/**
 * Waits, unless a signal aborts first.
 *
 * @param wait What to wait for.
 * @param signal The signal.
 * @throws The signal's reason.
 */
export function unlessAborted(wait: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return wait;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    wait.finally(() => signal.removeEventListener("abort", abort)).then(resolve, reject);
  });
}
