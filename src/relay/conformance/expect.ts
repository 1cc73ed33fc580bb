/**
 * Expectations without a test framework: each throws a plain `Error` that says what was seen.
 *
 * @module
 */
import { RelayError, type RelayFault } from "../../errors/relay.ts";

/** How many bytes of a message are shown. */
const MAX_SHOWN = 16;

/**
 * Expects a condition.
 *
 * @param condition What must hold.
 * @param expectation What was expected, and what was seen.
 * @throws {Error} When it does not hold.
 */
export function expect(condition: boolean, expectation: string): asserts condition {
  if (!condition) throw new Error(`Expected ${expectation}`);
}

/**
 * Expects messages, byte by byte.
 *
 * @param actual What was seen.
 * @param expected What it must be.
 * @param what What they are.
 * @throws {Error} At the first that differs.
 */
export function expectMessages(
  actual: readonly Uint8Array[],
  expected: readonly Uint8Array[],
  what: string,
): void {
  for (const [index, wanted] of expected.entries()) {
    const seen = actual[index];
    expect(seen !== undefined, `${what}: ${expected.length} messages, there are ${index}`);
    const place = firstDifference(seen, wanted);
    expect(
      place === -1,
      `${what}: message ${index} to be ${showBytes(wanted)}, it is ${
        showBytes(seen)
      }; they differ ` +
        `at byte ${place}`,
    );
  }
  const extra = actual[expected.length];
  expect(
    extra === undefined,
    `${what}: ${expected.length} messages, there are ${actual.length}; the first too many is ` +
      `${extra && showBytes(extra)}`,
  );
}

/**
 * Expects a {@linkcode RelayError} of one fault.
 *
 * @param act What must throw or reject with it.
 * @param fault The fault.
 * @param what What is done.
 * @throws {Error} When it does not, or with something else.
 */
export async function expectFault(
  act: () => unknown,
  fault: RelayFault,
  what: string,
): Promise<void> {
  const error = await thrownBy(act, what);
  expect(
    error instanceof RelayError && error.fault === fault,
    `a RelayError with the fault ${fault} from ${what}, it is ${error}`,
  );
}

/**
 * Expects something to be thrown, or rejected with.
 *
 * @param act What must do that.
 * @param what What is done.
 * @returns What was thrown.
 * @throws {Error} When nothing was.
 */
export async function thrownBy(act: () => unknown, what: string): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return error;
  }
  throw new Error(`Expected ${what} to fail`);
}

/** The first index at which two differ; −1 when they are equal. */
function firstDifference(a: Uint8Array, b: Uint8Array): number {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return i;
  return -1;
}

function showBytes(bytes: Uint8Array): string {
  const shown = [...bytes.subarray(0, MAX_SHOWN)].map((byte) => byte.toString(16).padStart(2, "0"));
  return `[${shown.join(" ")}${bytes.length > MAX_SHOWN ? " …" : ""}] (${bytes.length} bytes)`;
}
