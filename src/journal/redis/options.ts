/**
 * A Redis journal's options: their defaults, and what each refuses.
 *
 * @module
 */
import { ConfigError } from "../../errors.ts";
import { readRetention, type Retention, type RetentionOptions } from "../retention.ts";
import type { RedisConnection } from "./client.ts";

/** Options of {@linkcode openRedisJournal}. */
export interface RedisJournalOptions {
  /**
   * The journal's name, the same on every pod; 1 to 128 printable ASCII characters but spaces and
   * braces. Its keys begin with `tidemark:{NAME}:`. Nothing else may write them.
   */
  readonly name: string;
  /**
   * What is kept, the same on every pod: where they differ, the tightest bound holds. An event above
   * its `maxBytes` is refused.
   */
  readonly retention?: RetentionOptions;
  /**
   * How long an append may wait for its answer, in milliseconds; 5000; 1 to 600,000. After that it
   * rejects: with `AppendUnknownError` when it was sent.
   */
  readonly appendTimeoutMs?: number;
  /** How long any other question may wait, in milliseconds; 5000; 1 to 600,000. */
  readonly readTimeoutMs?: number;
  /**
   * How long an append's id is remembered at least, in milliseconds; 120,000; at least twice
   * `appendTimeoutMs`, at most a day. It is remembered for less than three times as long. A repetition
   * that comes later is stored again. Each costs some 100 bytes of the server's memory meanwhile.
   */
  readonly idTtlMs?: number;
  /**
   * A connection of its own for blocking reads, which nothing else uses. Without it the client's
   * `duplicate` makes one when the journal is first followed, and the journal ends it.
   */
  readonly blocking?: RedisConnection;
  /**
   * Hears what could not be checked when the journal was opened, because the server forbids the
   * question; silent by default.
   */
  readonly onWarning?: (message: string) => void;
}

/** The options, complete. */
export interface RedisSettings {
  /** What every script is told of retention: entries, milliseconds, bytes; 0 for no bound. */
  readonly bounds: readonly string[];
  /** The most bytes that retention leaves; `Infinity` for no bound. */
  readonly maxBytes: number;
  /** As in {@linkcode RedisJournalOptions}. */
  readonly appendTimeoutMs: number;
  /** As in {@linkcode RedisJournalOptions}. */
  readonly readTimeoutMs: number;
  /** As in {@linkcode RedisJournalOptions}. */
  readonly idTtlMs: number;
  /** What all keys begin with. */
  readonly root: string;
}

const MAX_TIMEOUT_MS = 600_000;
const DAY_MS = 86_400_000;

/**
 * Checks the options.
 *
 * @param options What the application passed.
 * @returns The options, complete.
 * @throws {ConfigError} Naming the one that makes no sense.
 */
export function readRedisOptions(options: RedisJournalOptions): RedisSettings {
  const { name, appendTimeoutMs = 5000, readTimeoutMs = 5000 } = options;
  // A brace would end the hash tag early, and two journals could share it.
  if (typeof name !== "string" || !/^[!-z|~]{1,128}$/.test(name)) {
    throw new ConfigError("name", "it must be 1 to 128 printable ASCII characters but braces");
  }
  duration("appendTimeoutMs", appendTimeoutMs, 1, MAX_TIMEOUT_MS);
  duration("readTimeoutMs", readTimeoutMs, 1, MAX_TIMEOUT_MS);
  const idTtlMs = options.idTtlMs ?? Math.max(120_000, 2 * appendTimeoutMs);
  duration("idTtlMs", idTtlMs, 2 * appendTimeoutMs, DAY_MS);
  const root = `tidemark:{${name}}:`;
  const retention = readRetention(options.retention);
  const { maxBytes } = retention;
  return { bounds: boundsOf(retention), maxBytes, appendTimeoutMs, readTimeoutMs, idTtlMs, root };
}

function boundsOf({ maxEntries, maxAgeMs, maxBytes }: Retention): readonly string[] {
  return [maxEntries, maxAgeMs, maxBytes].map((bound) => bound === Infinity ? "0" : String(bound));
}

function duration(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new ConfigError(name, `it is ${value}, it must be a whole number of ${least} to ${most}`);
  }
}
