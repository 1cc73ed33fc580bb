/**
 * The end of a turn: when everything that is ready now has been heard.
 *
 * @module
 */

/** What is there on Node, Deno and Bun, and not on every other runtime. */
interface WithImmediate {
  readonly setImmediate?: (callback: () => void) => unknown;
}

/**
 * Calls back as soon as what is ready now has run: where there is `setImmediate`, after the callbacks
 * of all sockets that had something; else after the microtasks. Neither waits for time to pass.
 *
 * @param callback What to call.
 */
export function soon(callback: () => void): void {
  const { setImmediate } = globalThis as WithImmediate;
  if (setImmediate === undefined) queueMicrotask(callback);
  else setImmediate(callback);
}
