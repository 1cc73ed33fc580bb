/**
 * How much of the past a journal keeps. It is the journal's own affair: the floor that clients are
 * told follows from it.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";

/** The bounds of a journal. The oldest entries leave first; whichever bound is hit first holds. */
export interface RetentionOptions {
  /** The most entries; 0, the default, for no such bound. */
  readonly maxEntries?: number;
  /** The greatest age in milliseconds; 7 days by default; 0 for no such bound. */
  readonly maxAgeMs?: number;
  /** The most bytes of topics, names and data; 0, the default, for no such bound. */
  readonly maxBytes?: number;
}

/** The bounds, complete; `Infinity` for none. */
export interface Retention {
  /** The most entries. */
  readonly maxEntries: number;
  /** The greatest age in milliseconds. */
  readonly maxAgeMs: number;
  /** The most bytes of topics, names and data. */
  readonly maxBytes: number;
}

/** A week: a client that stays away longer reconciles anyway. */
export const DEFAULT_MAX_AGE_MS = 604_800_000;

/**
 * Checks the bounds of a journal.
 *
 * @param options What the application passed.
 * @returns The bounds.
 * @throws {ConfigError} Naming the one that makes no sense.
 */
export function readRetention(options: RetentionOptions = {}): Retention {
  const { maxEntries = 0, maxAgeMs = DEFAULT_MAX_AGE_MS, maxBytes = 0 } = options;
  return {
    maxEntries: bound("maxEntries", maxEntries),
    maxAgeMs: bound("maxAgeMs", maxAgeMs),
    maxBytes: bound("maxBytes", maxBytes),
  };
}

function bound(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new ConfigError(`retention.${name}`, `it is ${value}, it must be a whole number from 0`);
  }
  return value === 0 ? Infinity : value;
}
