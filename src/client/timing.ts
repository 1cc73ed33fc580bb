/**
 * Every time and bound a client keeps to, each an option under the name it has in `timing.json`.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import {
  MAX_BUFFER_BYTES,
  MAX_FRAME_BYTES,
  WATCHDOG_BEATS,
  WATCHDOG_FLOOR_MS,
} from "../wire/timing.ts";
import { checkWhole, MAX_TIMER_MS } from "./bounds.ts";

/** The times and bounds of a client. Each is at least 1, but for those whose line says what 0 means. */
export interface TimingConfig {
  /** How long an attempt may take from its start to the response's head; 15 000 ms. */
  readonly connectTimeoutMs: number;
  /** How long a response may take to say hello; 10 000 ms. */
  readonly helloTimeoutMs: number;
  /** How long a revalidation, or a repair, may take before the connection is given up; 30 000 ms. */
  readonly revalidateTimeoutMs: number;
  /** How long a digest request may take; 10 000 ms. */
  readonly digestTimeoutMs: number;
  /** The most frames held while a revalidation runs; 2000. One more ends the connection. */
  readonly heldMaxFrames: number;
  /** The most bytes held meanwhile, counted as two per character; 64 MiB. */
  readonly heldMaxBytes: number;
  /** The first step of the backoff; 500 ms. */
  readonly baseMs: number;
  /** The longest step of the backoff; 30 000 ms. */
  readonly capMs: number;
  /**
   * How long a stream must have been open to count as a success; 30 000 ms. 0, for tests: one that
   * greets and ends is asked again at once.
   */
  readonly stableMs: number;
  /** How long a stream stays open while nobody sees it; 60 000 ms. 0: for ever. */
  readonly hiddenCloseAfterMs: number;
  /** Within this time of a revalidation's start another wake joins it; 1000 ms. 0: none joins. */
  readonly wakeThrottleMs: number;
  /** The interval of the beats between a tab and a worker; 5000 ms. */
  readonly heartbeatMs: number;
  /** How many keepalives one acknowledgement stands for; 1. */
  readonly aliveEveryBeats: number;
  /** After how many silent keepalive intervals a stream is given up; 3. */
  readonly watchdogBeats: number;
  /** The least silence after which a stream is given up; 15 000 ms. */
  readonly watchdogFloorMs: number;
  /** The most characters held of one unfinished event; 1 048 576. */
  readonly maxBufferBytes: number;
}

/** The defaults; a test pins them to `timing.json`. */
export const DEFAULT_TIMING: TimingConfig = {
  connectTimeoutMs: 15_000,
  helloTimeoutMs: 10_000,
  revalidateTimeoutMs: 30_000,
  digestTimeoutMs: 10_000,
  heldMaxFrames: 2000,
  heldMaxBytes: 64 * MAX_FRAME_BYTES,
  baseMs: 500,
  capMs: 30_000,
  stableMs: 30_000,
  hiddenCloseAfterMs: 60_000,
  wakeThrottleMs: 1000,
  heartbeatMs: 5000,
  aliveEveryBeats: 1,
  watchdogBeats: WATCHDOG_BEATS,
  watchdogFloorMs: WATCHDOG_FLOOR_MS,
  maxBufferBytes: MAX_BUFFER_BYTES,
};

/**
 * The longest wait a server can ask for, by `retry:`, `Retry-After` or its hello: an hour. Without a bound one
 * mistaken number would silence a page for good, or overflow a timer, which then fires at once.
 */
export const MAX_WAIT_MS = 3_600_000;

/**
 * The step of the backoff, of which a random part is waited.
 *
 * @param timing Its first step, and the longest.
 * @param failures How many attempts have failed before.
 * @returns Twice as much after each failure, in milliseconds.
 */
export function backoffStep({ baseMs, capMs }: TimingConfig, failures: number): number {
  // 2^31 is beyond any cap; more would turn the product into Infinity.
  return Math.min(capMs, baseMs * 2 ** Math.min(failures, 31));
}

/** These may be 0: it switches something off. */
const MAY_BE_ZERO: ReadonlySet<string> = new Set<keyof TimingConfig>([
  "hiddenCloseAfterMs",
  "wakeThrottleMs",
  "stableMs",
]);

/**
 * Fills what is not given with the defaults.
 *
 * @param given What the application sets.
 * @returns All of them.
 * @throws {ConfigError} When one is unknown, not a whole number, or outside its bound.
 */
export function resolveTiming(given: Partial<TimingConfig> = {}): TimingConfig {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_TIMING, name)) {
      throw new ConfigError(`timing.${name}`, "there is no such time");
    }
    const most = name.endsWith("Ms") ? MAX_TIMER_MS : undefined;
    checkWhole(`timing.${name}`, value, MAY_BE_ZERO.has(name) ? 0 : 1, most);
  }
  return { ...DEFAULT_TIMING, ...given };
}
