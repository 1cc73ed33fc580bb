/**
 * A hub's options: their defaults, what each refuses, and the rules between two of them.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { isEpoch } from "../wire/cursor.ts";
import {
  CLIENT_BUFFER_FLOOR,
  KEEPALIVE_EVENT,
  KEEPALIVE_MS,
  MAX_FRAME_BYTES,
  REPLAY_MAX_BYTES_FRAMES,
  REPLAY_TTL_FLOOR_EXTRA_MS,
  REPLY_MAX_EVENTS_CEILING,
  RETRY_MS,
  WATCHDOG_BEATS,
  WATCHDOG_FLOOR_MS,
  WRITE_TIMEOUT_BEATS,
} from "../wire/timing.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { PresenceEvent } from "./presence.ts";

/** Where a hub writes what a person should know: the shape of `console`. */
export interface Logger {
  /** Details for whoever looks for a fault. */
  debug(message: string): void;
  /** What happened and is as it should be. */
  info(message: string): void;
  /** What a person should look at. */
  warn(message: string): void;
  /** What failed. */
  error(message: string): void;
}

/** What the hub keeps, so that a client can resume. */
export interface ReplayOptions {
  /** How many events the ring holds; 0, the default, replays nothing. Needs `ttlMs` otherwise. */
  readonly maxEvents?: number;
  /**
   * How old an event in the ring may be, in milliseconds. No default. At least what a client needs
   * to notice a dead stream and come back: `max(3 × keepaliveMs, 15 000) + 30 000`.
   */
  readonly ttlMs?: number;
  /** How many bytes of encoded frames the ring holds; 64 MiB; at least one largest frame, 1 MiB. */
  readonly maxBytes?: number;
  /** The most events one reply replays; `min(maxEvents, 256)`. More is the verdict `gap_budget`. */
  readonly replyMaxEvents?: number;
}

/** What to do with a client whose buffer is full. */
export type SlowPolicy = "reset" | "lag";

/** Options of {@linkcode createHub}. `undefined` and `null` keep a default. */
export interface HubOptions {
  /** What the hub keeps for clients that come back. */
  readonly replay?: ReplayOptions | null;
  /**
   * How many live frames may wait for one client; `max(replay.maxEvents, 256)`; at least 1. A burst
   * may pass it for 250 ms: a loop that publishes gives no client a chance to take anything.
   */
  readonly clientBuffer?: number | null;
  /** How many bytes of live frames may wait for one client, at once; 4 MiB; at least 1 MiB. */
  readonly clientBufferBytes?: number | null;
  /** The most clients at once; 0, the default, or less means no cap. Beyond it: 503. */
  readonly maxClients?: number | null;
  /** The interval between two keepalives, in milliseconds; 15 000; at least 1. */
  readonly keepaliveMs?: number | null;
  /** The keepalive event's name; `sse:keepalive`; `""` sends the comment `: keepalive` instead. */
  readonly keepaliveEvent?: string | null;
  /** The stream's `retry:` in milliseconds; 1500; at least 1, for 0 would mean at once. */
  readonly reconnectDelayMs?: number | null;
  /** The most milliseconds added at random to each stream's `retry:`; 0. */
  readonly reconnectJitterMs?: number | null;
  /**
   * How long bytes may wait without the peer taking any, in milliseconds, before the peer counts as
   * dead; twice the keepalive, under `slow: "lag"` at least 60 000. Above `keepaliveMs`.
   */
  readonly writeTimeoutMs?: number | null;
  /** Over how many milliseconds clients should spread their revalidations, told in the hello; 0. */
  readonly revalidateSpreadMs?: number | null;
  /** The application's own epoch for versions, 16 lowercase hex; by default the hub's. */
  readonly versionEpoch?: string | null;
  /**
   * What happens when a client's buffer is full. `"reset"`, the default, ends the stream. `"lag"`
   * keeps it and refills it from the ring, for clients which say that they understand `sse:lag`.
   */
  readonly slow?: SlowPolicy | null;
  /** Called, in a later microtask, for each arrival and for each departure. */
  readonly onPresence?: ((event: PresenceEvent) => void | Promise<void>) | null;
  /** Where to log; `console`. */
  readonly logger?: Logger | null;
  /** The clock; the system's. Tests hand in a fake one. */
  readonly clock?: Clock | null;
}

/** The options of a hub after every check, with every default in place. */
export interface HubSettings {
  readonly maxEvents: number;
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly replyMaxEvents: number;
  readonly clientBuffer: number;
  readonly clientBufferBytes: number;
  readonly maxClients: number;
  readonly keepaliveMs: number;
  readonly keepaliveEvent: string;
  readonly reconnectDelayMs: number;
  readonly reconnectJitterMs: number;
  readonly writeTimeoutMs: number;
  readonly revalidateSpreadMs: number;
  readonly versionEpoch: string | null;
  readonly slow: SlowPolicy;
  readonly onPresence: ((event: PresenceEvent) => void | Promise<void>) | null;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The longest wait that a timer holds: about 25 days in milliseconds. */
const MAX_MS = 2_147_483_647;
const DEFAULT_CLIENT_BUFFER_BYTES = 4 * MAX_FRAME_BYTES;
const LAG_WRITE_TIMEOUT_FLOOR_MS = 60_000;

/** What the rules between options depend on. */
export interface OptionContext {
  /**
   * Whether a journal stands behind the ring. Then there is a ring by default, of 1024 events, which
   * need no age bound; and one reply may replay more than the ring holds, by default 100 000 events.
   */
  readonly journaled: boolean;
}

const JOURNALED_MAX_EVENTS = 1024;
const JOURNALED_REPLY_MAX_EVENTS = 100_000;

/**
 * Checks a hub's options. First each by itself, then, when all have been read, the rules between
 * two: so the order in which they are written never changes the answer.
 *
 * @param options What the application passed.
 * @param context What the rules between them depend on.
 * @returns The settings, complete.
 * @throws {ConfigError} Naming the option and the bound.
 */
export function readOptions(
  options: HubOptions,
  { journaled }: OptionContext = { journaled: false },
): HubSettings {
  if (!journaled && "journal" in options) {
    throw new ConfigError("journal", "createHub has no use for one; openHub makes a hub over it");
  }
  const replay = options.replay ?? {};
  const maxEvents = whole("replay.maxEvents", replay.maxEvents, 0) ??
    (journaled ? JOURNALED_MAX_EVENTS : 0);
  const ttlMs = whole("replay.ttlMs", replay.ttlMs, 1, Number.MAX_SAFE_INTEGER);
  const maxBytes = whole("replay.maxBytes", replay.maxBytes, MAX_FRAME_BYTES);
  const replyMaxEvents = whole("replay.replyMaxEvents", replay.replyMaxEvents, 0);
  const clientBuffer = whole("clientBuffer", options.clientBuffer, 1);
  const clientBufferBytes = whole("clientBufferBytes", options.clientBufferBytes, MAX_FRAME_BYTES);
  const maxClients = cap(options.maxClients ?? 0);
  const keepaliveMs = whole("keepaliveMs", options.keepaliveMs, 1, MAX_MS - 1) ?? KEEPALIVE_MS;
  const keepaliveEvent = eventName(options.keepaliveEvent ?? KEEPALIVE_EVENT);
  const reconnectDelayMs = whole("reconnectDelayMs", options.reconnectDelayMs, 1, MAX_MS);
  const reconnectJitterMs = whole("reconnectJitterMs", options.reconnectJitterMs, 0, MAX_MS);
  const writeTimeoutMs = whole("writeTimeoutMs", options.writeTimeoutMs, 1, MAX_MS);
  const revalidateSpreadMs = whole("revalidateSpreadMs", options.revalidateSpreadMs, 0, MAX_MS);
  const slow = policy(options.slow ?? "reset");
  const versionEpoch = epoch(options.versionEpoch ?? null);

  const ttlFloor = Math.max(WATCHDOG_BEATS * keepaliveMs, WATCHDOG_FLOOR_MS) +
    REPLAY_TTL_FLOOR_EXTRA_MS;
  if (maxEvents > 0 && ttlMs === undefined && !journaled) {
    throw new ConfigError("replay.ttlMs", "a ring (replay.maxEvents) needs an age bound");
  }
  if (ttlMs !== undefined && ttlMs < ttlFloor) {
    throw new ConfigError(
      "replay.ttlMs",
      `it is ${ttlMs}, the least is ${ttlFloor} at a keepaliveMs of ${keepaliveMs}`,
    );
  }
  if (replyMaxEvents !== undefined && replyMaxEvents > maxEvents && !journaled) {
    throw new ConfigError(
      "replay.replyMaxEvents",
      `it is ${replyMaxEvents}, the most is replay.maxEvents, ${maxEvents}`,
    );
  }
  if (writeTimeoutMs !== undefined && writeTimeoutMs <= keepaliveMs) {
    throw new ConfigError(
      "writeTimeoutMs",
      `it is ${writeTimeoutMs}, it must be above keepaliveMs, ${keepaliveMs}`,
    );
  }
  const patience = Math.min(WRITE_TIMEOUT_BEATS * keepaliveMs, MAX_MS);
  return {
    maxEvents,
    ttlMs: ttlMs ?? Infinity,
    maxBytes: maxBytes ?? REPLAY_MAX_BYTES_FRAMES * MAX_FRAME_BYTES,
    replyMaxEvents: replyMaxEvents ??
      (journaled ? JOURNALED_REPLY_MAX_EVENTS : Math.min(maxEvents, REPLY_MAX_EVENTS_CEILING)),
    clientBuffer: clientBuffer ?? Math.max(maxEvents, CLIENT_BUFFER_FLOOR),
    clientBufferBytes: clientBufferBytes ?? DEFAULT_CLIENT_BUFFER_BYTES,
    maxClients,
    keepaliveMs,
    keepaliveEvent,
    reconnectDelayMs: reconnectDelayMs ?? RETRY_MS,
    reconnectJitterMs: reconnectJitterMs ?? 0,
    writeTimeoutMs: writeTimeoutMs ??
      (slow === "lag" ? Math.max(LAG_WRITE_TIMEOUT_FLOOR_MS, patience) : patience),
    revalidateSpreadMs: revalidateSpreadMs ?? 0,
    versionEpoch,
    slow,
    onPresence: options.onPresence ?? null,
    logger: options.logger ?? console,
    clock: options.clock ?? systemClock,
  };
}

/** A whole number within its bounds, or `undefined` for the default. */
function whole(
  option: string,
  value: number | null | undefined,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value)) {
    throw new ConfigError(option, `it is ${String(value)}, it must be a whole number`);
  }
  if (value < least) throw new ConfigError(option, `it is ${value}, the least is ${least}`);
  if (value > most) throw new ConfigError(option, `it is ${value}, the most is ${most}`);
  return value;
}

/** A cap on clients: whatever is not positive means none. */
export function cap(value: number): number {
  return value > 0 ? value : Infinity;
}

function eventName(name: string): string {
  if (/[\r\n\0]/.test(name)) throw new ConfigError("keepaliveEvent", "it holds CR, LF or NUL");
  if (name.startsWith("sse:") && name !== KEEPALIVE_EVENT) {
    throw new ConfigError("keepaliveEvent", `"sse:" is the library's, but for ${KEEPALIVE_EVENT}`);
  }
  if (!name.isWellFormed()) throw new ConfigError("keepaliveEvent", "it holds a lone surrogate");
  return name;
}

function policy(slow: string): SlowPolicy {
  if (slow === "reset" || slow === "lag") return slow;
  throw new ConfigError("slow", `it is ${JSON.stringify(slow)}, it must be "reset" or "lag"`);
}

function epoch(value: string | null): string | null {
  if (value === null || isEpoch(value)) return value;
  throw new ConfigError("versionEpoch", "it is not 16 lowercase hex characters");
}
