/**
 * Deleting what no bound lets stay, while nothing is appended.
 *
 * @module
 */

/** How many rows one step deletes: a few milliseconds. */
const STEP_ROWS = 512;

/** How long a journal with nothing to delete is left alone, in milliseconds. */
const IDLE_MS = 5000;

/** How long others have the thread between two steps, in milliseconds. */
const BUSY_MS = 20;

/** How Deno says that a timer is not to keep the process alive. */
interface DenoTimers {
  readonly Deno?: { readonly unrefTimer?: (id: number) => void };
}

/**
 * Trims now and then, by a timer that does not keep the process alive.
 *
 * @param trim Deletes at most so many rows, and says whether there are more.
 * @returns Stops it.
 */
export function startTrimming(trim: (rows: number) => boolean): () => void {
  let timer = after(IDLE_MS, step);
  function step(): void {
    let more = false;
    try {
      more = trim(STEP_ROWS);
    } catch {
      // The next append meets the same, and has somebody to tell. Readers see nothing of it: the
      // floor does not wait for the deleting.
    }
    timer = after(more ? BUSY_MS : IDLE_MS, step);
  }
  return () => clearTimeout(timer);
}

function after(ms: number, callback: () => void): ReturnType<typeof setTimeout> {
  const timer: unknown = setTimeout(callback, ms);
  if (typeof timer === "number") (globalThis as DenoTimers).Deno?.unrefTimer?.(timer);
  else (timer as { unref?: () => void }).unref?.();
  return timer as ReturnType<typeof setTimeout>;
}
