/**
 * Waiting for a server that needs a moment.
 *
 * @module
 */

/**
 * Lets time pass.
 *
 * @param ms How much, in milliseconds.
 */
export function elapse(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
