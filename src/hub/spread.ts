/**
 * Doing something to many, one by one over a stretch of time: sent away in one second, a thousand
 * clients come back in one second.
 *
 * @module
 */
import type { Clock } from "./clock.ts";

/** The shortest wait between two turns, in milliseconds; each does as many as are due. */
const MIN_TURN_MS = 20;

/**
 * Acts on each item once, spread evenly.
 *
 * @param clock The clock.
 * @param ms Over how many milliseconds; with 0 at once.
 * @param items The items.
 * @param act What to do. It must not throw.
 * @param signal Ends the waiting: the rest is done at once.
 * @returns Settles when the last was done.
 */
export async function spread<T>(
  clock: Clock,
  ms: number,
  items: readonly T[],
  act: (item: T) => void,
  signal: AbortSignal,
): Promise<void> {
  const began = clock.monotonic();
  const turnMs = Math.max(MIN_TURN_MS, ms / Math.max(1, items.length));
  for (let done = 0; done < items.length;) {
    const share = ms === 0 || signal.aborted ? 1 : (clock.monotonic() - began) / ms;
    const due = Math.max(done + 1, Math.min(items.length, Math.ceil(share * items.length)));
    for (const item of items.slice(done, due)) act(item);
    done = due;
    if (done < items.length) await pause(clock, turnMs, signal);
  }
}

/**
 * Waits.
 *
 * @param clock The clock.
 * @param ms How long, in milliseconds.
 * @param signal Ends the waiting.
 * @returns Settles when the time is over or the signal aborts; it never rejects.
 */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal.addEventListener("abort", end);
  });
}
