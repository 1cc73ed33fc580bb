/**
 * Work that ends in time, or when somebody says so.
 *
 * `AbortSignal.any` is not everywhere, and holds on to the signal of a long life; a timer of
 * `AbortSignal.timeout` cannot be cancelled. So both are put together by hand.
 *
 * @module
 */

/**
 * Does something under a signal of its own, which aborts with another one or when the time is up.
 *
 * It settles then, even if the work takes no notice. Afterwards neither a timer nor a listener is
 * left.
 *
 * @param ms The time, in milliseconds.
 * @param outer The other signal; none.
 * @param work What to do.
 * @returns What the work returned. Rejects with what it threw, with the other signal's reason, or
 * with a `DOMException` named `TimeoutError`.
 */
export async function withDeadline<T>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const inner = new AbortController();
  let cut = (_: unknown): void => {};
  const cutShort = new Promise<never>((_, reject) => {
    cut = (reason) => {
      // Rejected first: whatever the work makes of the abort, the reason is what the caller gets.
      reject(reason);
      inner.abort(reason);
    };
  });
  const abort = (): void => cut(outer?.reason);
  const timer = setTimeout(
    () => cut(new DOMException(`The request took over ${ms} ms`, "TimeoutError")),
    ms,
  );
  outer?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work(inner.signal), cutShort]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", abort);
  }
}
