/**
 * Stands in for `@std/async` where JSR cannot be reached: the two functions that our tests use, with
 * the signatures of the real ones.
 *
 * @module
 */

/** Options of {@linkcode delay}. */
export interface DelayOptions {
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/** Options of {@linkcode deadline}. */
export interface DeadlineOptions {
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/**
 * Waits.
 *
 * @param ms How long, in milliseconds.
 * @param options A signal that ends the wait.
 * @returns Settles after the wait.
 * @throws The signal's reason, when it aborts first.
 */
export function delay(ms: number, options: DelayOptions = {}): Promise<void> {
  const { signal } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Bounds a wait.
 *
 * @param promise What is waited for.
 * @param ms How long, in milliseconds.
 * @param options A signal that ends the wait early.
 * @returns What the promise settles with.
 * @throws {DOMException} `TimeoutError` when the time is over, or the signal's reason.
 */
export async function deadline<T>(
  promise: Promise<T>,
  ms: number,
  options: DeadlineOptions = {},
): Promise<T> {
  const { signal } = options;
  signal?.throwIfAborted();
  let stop = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal?.reason);
    const timer = setTimeout(
      () => reject(new DOMException("Signal timed out.", "TimeoutError")),
      ms,
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop();
  }
}
