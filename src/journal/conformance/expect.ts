/**
 * Expectations without a test framework: each throws a plain `Error` that says what was seen.
 *
 * @module
 */
import { JournalError, type JournalFault } from "../../errors/journal.ts";
import type { JournalEntry } from "../journal.ts";

/** How much of a value stands in a message. */
const MAX_SHOWN = 200;

/**
 * Expects a condition.
 *
 * @param condition What must hold.
 * @param expectation What was expected, and what was seen.
 * @throws {Error} When it does not hold.
 */
export function ensure(condition: boolean, expectation: string): asserts condition {
  if (!condition) throw new Error(`Expected ${expectation}`);
}

/**
 * Expects two values to be equal, as JSON shows them.
 *
 * @param actual What was seen.
 * @param expected What it must be.
 * @param what What it is.
 * @throws {Error} When they differ.
 */
export function equal<T>(actual: T, expected: T, what: string): void {
  if (canonical(actual) === canonical(expected)) return;
  throw new Error(`Expected ${what} to be ${show(expected)}, it is ${show(actual)}`);
}

/**
 * Expects entries, each field exactly; what an adapter adds to them is not looked at.
 *
 * @param actual What was seen.
 * @param expected What it must be.
 * @param what What they are.
 * @throws {Error} At the first that differs.
 */
export function sameEntries(
  actual: readonly JournalEntry[],
  expected: readonly JournalEntry[],
  what: string,
): void {
  const count = Math.min(actual.length, expected.length);
  for (let i = 0; i < count; i++) {
    const [seen, wanted] = [actual[i], expected[i]];
    if (seen === undefined || wanted === undefined) break;
    for (const field of ["offset", "topic", "name", "data", "at"] as const) {
      if (seen[field] === wanted[field]) continue;
      throw new Error(
        `Expected ${what}: the ${field} of entry ${i} must be ${show(wanted[field])} ` +
          `(offset ${wanted.offset}), it is ${show(seen[field])} (offset ${seen.offset})`,
      );
    }
  }
  ensure(
    actual.length === expected.length,
    `${what}: there must be ${expected.length} entries, there are ${actual.length}; the first that ` +
      `is ${actual.length < expected.length ? "missing" : "too many"} has the offset ` +
      `${(actual.length < expected.length ? expected : actual)[count]?.offset}`,
  );
}

/**
 * Expects a rejection with an error of one class.
 *
 * @param promise What must reject.
 * @param kind The class.
 * @param what What is done.
 * @returns The error.
 * @throws {Error} When it resolves, or rejects with something else.
 */
export async function rejects<E extends Error>(
  promise: Promise<unknown>,
  kind: new (...args: never[]) => E,
  what: string,
): Promise<E> {
  let resolved: unknown;
  try {
    resolved = await promise;
  } catch (error) {
    if (error instanceof kind) return error;
    throw new Error(`Expected ${what} to reject with ${kind.name}, it rejected with ${error}`, {
      cause: error,
    });
  }
  throw new Error(`Expected ${what} to reject with ${kind.name}, it gave ${show(resolved)}`);
}

/**
 * Expects a rejection with a {@linkcode JournalError} of one fault.
 *
 * @param promise What must reject.
 * @param fault The fault.
 * @param what What is done.
 * @throws {Error} When it resolves, or rejects with something else.
 */
export async function faults(
  promise: Promise<unknown>,
  fault: JournalFault,
  what: string,
): Promise<void> {
  const error = await rejects(promise, JournalError, what);
  ensure(error.fault === fault, `the fault ${fault} from ${what}, it is ${error.fault}: ${error}`);
}

/**
 * Waits for a promise, but not for ever.
 *
 * @param promise What must settle.
 * @param ms For how long, in milliseconds.
 * @param what What must come about.
 * @returns What it resolves to.
 * @throws {Error} When it has not settled by then; else what it rejects with.
 */
export async function within<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Expected ${what} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** JSON in which the order of an object's keys says nothing. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1));
  });
}

/** What went wrong, for a longer message: an expectation's own words, or the error by its name. */
export function reason(error: unknown): string {
  return error instanceof Error && error.name === "Error" ? error.message : String(error);
}

/** A value, short enough for a message. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} long)`;
}
