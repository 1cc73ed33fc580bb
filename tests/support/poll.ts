/**
 * Waiting for a condition, with a deadline: what tests do instead of sleeping.
 *
 * @module
 */

/** Options of {@linkcode eventually}. */
export interface EventuallyOptions {
  /** What is waited for, for the error. */
  readonly what: string;
  /** How long to wait, in milliseconds; 10 000. */
  readonly timeoutMs?: number;
  /** How long to wait between two checks, in milliseconds; 10. */
  readonly everyMs?: number;
}

// Kept here, so that a test with fake timers can wait all the same.
const { setTimeout } = globalThis;

/**
 * Waits until a check is truthy. A check that throws counts as not yet.
 *
 * @param check What to ask.
 * @param options What is waited for, and how long.
 * @returns The first truthy answer.
 * @throws {Error} At the deadline; it names what was waited for, and the last answer or error.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: EventuallyOptions,
): Promise<NonNullable<T>> {
  const { what, timeoutMs = 10_000, everyMs = 10 } = options;
  const deadline = performance.now() + timeoutMs;
  while (true) {
    let last: string;
    let cause: unknown;
    try {
      const answer = await check();
      if (answer) return answer;
      last = `the last answer was ${String(answer)}`;
    } catch (error) {
      last = `the last error was ${String(error)}`;
      cause = error;
    }
    if (performance.now() >= deadline) {
      throw new Error(`Waited ${timeoutMs} ms in vain for ${what}; ${last}`, { cause });
    }
    await new Promise<void>((resolve) => setTimeout(resolve, everyMs));
  }
}
