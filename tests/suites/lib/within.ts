/**
 * A bound on how long work may take.
 *
 * @module
 */

/**
 * Bounds work in time: what hangs fails under its own name.
 *
 * @param ms The bound in milliseconds.
 * @param work What to do.
 * @returns What the work returned.
 * @throws What the work threw, or that it took too long.
 */
export async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took over ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lets time pass. Only for what is about time itself: traffic at a rate, a span in which nothing may
 * happen. Never to wait in the hope that something has happened.
 *
 * @param ms How long, in milliseconds.
 */
export function elapse(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
