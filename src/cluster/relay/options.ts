/**
 * The options of a pod that joins a relay: their defaults, and what each refuses.
 *
 * @module
 */
import { ConfigError } from "../../errors.ts";
import { type Clock, systemClock } from "../../hub/clock.ts";
import type { Logger } from "../../hub/options.ts";
import { isOrigin } from "../../relay/envelope.ts";
import { toHex } from "../../wire/hex.ts";
import type { JoinOptions } from "../types.ts";

const SPREAD_MS = 2000;
const READY_MS = 10_000;
const BEAT_MS = 5000;
/** The longest wait that a timer can have. */
const MAX_MS = 2_147_483_647;

/** The options, with their defaults in place. */
export interface JoinSettings {
  readonly origin: string;
  /** Which start of it this is. */
  readonly boot: string;
  readonly spreadMs: number;
  readonly readyMs: number;
  readonly beatMs: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * Reads the options.
 *
 * @param options What the application passed.
 * @returns The settings.
 * @throws {ConfigError} Naming the option and the bound.
 */
export function readJoinOptions(options: JoinOptions): JoinSettings {
  const origin = options.origin ?? randomId();
  if (typeof origin !== "string" || !isOrigin(origin)) {
    throw new ConfigError("origin", "it is not 1 to 64 characters of [A-Za-z0-9._-]");
  }
  return {
    origin,
    boot: randomId(),
    spreadMs: wholeMs("spreadMs", options.spreadMs ?? SPREAD_MS, 0),
    readyMs: wholeMs("readyMs", options.readyMs ?? READY_MS, 1),
    beatMs: wholeMs("beatMs", options.beatMs ?? BEAT_MS, 1),
    logger: options.logger ?? console,
    clock: options.clock ?? systemClock,
  };
}

/**
 * Checks a number of milliseconds.
 *
 * @param option The option's name.
 * @param ms What was passed.
 * @param least The least that it may be.
 * @returns It.
 * @throws {ConfigError} When it is no whole number within its bounds.
 */
export function wholeMs(option: string, ms: number, least: number): number {
  if (Number.isSafeInteger(ms) && ms >= least && ms <= MAX_MS) return ms;
  throw new ConfigError(
    option,
    `it is ${ms}, it must be a whole number from ${least} to ${MAX_MS}`,
  );
}

/** 64 random bits, as 16 lowercase hex characters. */
export function randomId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(8)));
}
