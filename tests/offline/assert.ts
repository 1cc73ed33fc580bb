/**
 * Stands in for `@std/assert` where JSR cannot be reached: the assertions that our tests use, over
 * `node:assert`, with the signatures of the real ones. Where the two differ this one is stricter, so
 * that what passes here passes there.
 *
 * @module
 */
import assertion, { AssertionError } from "node:assert";

export { AssertionError };

/** A class of errors. */
export type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

function refuse(message: string, msg?: string): never {
  throw new AssertionError({ message: msg === undefined ? message : `${message}: ${msg}` });
}

/** Fails. */
export function fail(msg?: string): never {
  refuse("Failed assertion", msg);
}

/** Fails: the line that calls it was thought to be unreachable. */
export function unreachable(msg?: string): never {
  refuse("Unreachable", msg);
}

/** Asserts that a value is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError({ message: msg });
}

/** Asserts that a value is falsy. */
export function assertFalse(expr: unknown, msg = ""): void {
  if (expr) throw new AssertionError({ message: msg });
}

/** Asserts deep equality. Unlike the real one it tells 0 from −0, and compares errors whole. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (actual instanceof URL && expected instanceof URL) {
    return assertEquals(actual.href, expected.href, msg);
  }
  assertion.deepStrictEqual(actual, expected, msg);
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  assertion.notDeepStrictEqual(actual, expected, msg);
}

/** Asserts that two values are the same, as `Object.is` says. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (!Object.is(actual, expected)) assertion.strictEqual(actual, expected, msg);
}

/** Asserts that two values are not the same. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  assertion.notStrictEqual(actual, expected, msg);
}

/** Asserts that a value is neither `null` nor `undefined`. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === null || actual === undefined) refuse(`Expected a value, got ${actual}`, msg);
}

/** Asserts that a text matches a pattern. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (!expected.test(actual)) refuse(`Expected ${quote(actual)} to match ${expected}`, msg);
}

/** Asserts that a text does not match a pattern. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) refuse(`Expected ${quote(actual)} not to match ${expected}`, msg);
}

/** Asserts that a text holds another. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (!actual.includes(expected)) {
    refuse(`Expected ${quote(actual)} to include ${quote(expected)}`, msg);
  }
}

/** Asserts that each value of a list is deeply equal to one of another. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
): void {
  for (const wanted of Array.from(expected)) {
    if (!Array.from(actual).some((value) => same(value, wanted))) {
      refuse(`Expected the list to include ${quote(wanted)}`, msg);
    }
  }
}

/** Asserts `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) refuse(`Expected ${quote(actual)} > ${quote(expected)}`, msg);
}

/** Asserts `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual >= expected)) refuse(`Expected ${quote(actual)} >= ${quote(expected)}`, msg);
}

/** Asserts `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) refuse(`Expected ${quote(actual)} < ${quote(expected)}`, msg);
}

/** Asserts `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual <= expected)) refuse(`Expected ${quote(actual)} <= ${quote(expected)}`, msg);
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<T extends abstract new (...args: never[]) => unknown>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceOf<T> {
  if (!(actual instanceof expectedType)) {
    refuse(`Expected an instance of ${expectedType.name}, got ${quote(actual)}`, msg);
  }
}

type InstanceOf<T> = T extends abstract new (...args: never[]) => infer I ? I : never;

/** Asserts that a value is an error, of a class and with a message that holds a text or matches. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  errorClass?: ErrorClass<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) refuse(`Expected an Error, got ${quote(error)}`, msg);
  if (errorClass !== undefined && !(error instanceof errorClass)) {
    refuse(`Expected an instance of ${errorClass.name}, got ${error.constructor.name}`, msg);
  }
  if (msgMatches === undefined) return;
  const matches = typeof msgMatches === "string"
    ? error.message.includes(msgMatches)
    : msgMatches.test(error.message);
  if (!matches) refuse(`Expected a message with ${msgMatches}, got ${quote(error.message)}`, msg);
}

/** Asserts that a function throws. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Asserts that a function throws an error of a class, whose message holds a text. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  classOrMsg?: ErrorClass<E> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  let error: unknown;
  try {
    fn();
  } catch (thrown) {
    error = thrown;
    if (typeof classOrMsg === "function") assertIsError(error, classOrMsg, msgIncludes, msg);
    return error;
  }
  refuse("Expected the function to throw", typeof classOrMsg === "string" ? classOrMsg : msg);
}

/** Asserts that a promise rejects. A function that throws before it returns one fails. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Asserts that a promise rejects with an error of a class, whose message holds a text. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  classOrMsg?: ErrorClass<E> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch {
    refuse("Expected a rejected promise, but the function threw", msg);
  }
  if (typeof promise?.then !== "function") refuse("Expected a promise", msg);
  try {
    await promise;
  } catch (error) {
    if (typeof classOrMsg === "function") assertIsError(error, classOrMsg, msgIncludes, msg);
    return error;
  }
  refuse("Expected the promise to reject", typeof classOrMsg === "string" ? classOrMsg : msg);
}

function same(a: unknown, b: unknown): boolean {
  try {
    assertEquals(a, b);
    return true;
  } catch {
    return false;
  }
}

function quote(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
