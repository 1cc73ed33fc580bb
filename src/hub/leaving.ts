/**
 * Leaving without a hurry: first out of the balancer's sight, then one client after another.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { encodeRetry } from "../wire/frame.ts";
import type { Roster } from "./roster.ts";
import { pause, spread } from "./spread.ts";
import type { DrainOptions } from "./types.ts";

const LAME_DUCK_MS = 5000;
const SPREAD_MS = 3000;
const MAX_MS = 2_147_483_647;

/** What a client that is sent away waits before it comes back: the seed's `retry: 1000`. */
const RETRY = encodeRetry(1000);

/** How a drain goes, checked. */
export interface DrainPlan {
  readonly lameDuckMs: number;
  readonly spreadMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Checks a drain's options.
 *
 * @param options What the application passed.
 * @returns The plan, with the defaults in place.
 * @throws {ConfigError} When a number is out of bounds.
 */
export function readDrainOptions(options: DrainOptions): DrainPlan {
  return {
    lameDuckMs: checkWait("lameDuckMs", options.lameDuckMs ?? LAME_DUCK_MS),
    spreadMs: checkWait("spreadMs", options.spreadMs ?? SPREAD_MS),
    signal: options.signal,
  };
}

/**
 * Goes through a lame duck and sends every client away.
 *
 * @param roster The hub's connections.
 * @param plan How long each part may take.
 * @returns Settles when each was told, or the hub has been shut down meanwhile.
 */
export async function leave(roster: Roster, plan: DrainPlan): Promise<void> {
  const { clock } = roster.settings;
  const ends = AbortSignal.any([roster.ending, ...(plan.signal ? [plan.signal] : [])]);
  roster.announce("lame_duck");
  await pause(clock, plan.lameDuckMs, ends);
  roster.announce("draining");
  await spread(clock, plan.spreadMs, [...roster.fanout], (connection) => {
    // Before its hello a stream has said `retry:` alone.
    if (connection.open) connection.write(RETRY).catch(() => {});
    connection.shutdown();
  }, ends);
}

/**
 * Checks how long something is to take.
 *
 * @param option What the application calls it.
 * @param ms What it passed, in milliseconds.
 * @returns It.
 * @throws {ConfigError} When it is not a whole number that a timer can wait for.
 */
export function checkWait(option: string, ms: number): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= MAX_MS) return ms;
  throw new ConfigError(option, `it is ${ms}, it must be a whole number from 0 to ${MAX_MS}`);
}
