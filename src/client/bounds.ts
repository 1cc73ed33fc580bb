/**
 * Numbers that an application may choose.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";

/** `setTimeout` takes no more milliseconds; above it the wait would end at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/**
 * Checks a number.
 *
 * @param option The option, as it is written in the options object.
 * @param value What was chosen.
 * @param least The smallest that is allowed.
 * @param most The largest.
 * @throws {ConfigError} When it is no whole number within these bounds.
 */
export function checkWhole(
  option: string,
  value: number,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new ConfigError(option, `${value} is not a whole number from ${least} to ${most}`);
}
