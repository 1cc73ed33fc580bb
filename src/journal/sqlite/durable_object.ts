/**
 * A journal in the SQL storage of a Durable Object.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { Journal } from "../journal.ts";
import { readRetention, type RetentionOptions } from "../retention.ts";
import { asJournalError } from "./faults.ts";
import { SqlJournal } from "./journal.ts";
import type { SqlRow, SqlStore, SqlValue } from "./store.ts";

/** What is used of `ctx.storage`. */
export interface DurableObjectStorage {
  /** Its SQL; only an object of a class that was made with SQLite has it. */
  readonly sql: {
    /** Runs one statement. */
    exec(query: string, ...bindings: SqlValue[]): { toArray(): unknown[] };
  };
  /** Runs a function in a transaction. */
  transactionSync<T>(closure: () => T): T;
  /** Waits until what was written is on disk. */
  sync(): Promise<void>;
}

/** Options of {@linkcode openDurableObjectJournal}. */
export interface DurableObjectJournalOptions {
  /** How much is kept; 7 days by default. */
  readonly retention?: RetentionOptions;
  /** The time by which entries age, in milliseconds since the Unix epoch; `Date.now` by default. */
  readonly now?: () => number;
}

/** A row may have 2 MB, everything that is in it together; the rest is for the other columns. */
const MAX_EVENT_BYTES = 2_000_000 - 1024;

/** The storages on which a journal is open. */
const taken = new WeakSet<DurableObjectStorage>();

/**
 * Opens a journal in an object's storage, beside whatever else is there: its tables' names begin with
 * `tidemark_`.
 *
 * An append resolves, and a reader sees it, once `storage.sync()` says that it is on disk. No timer
 * runs, for it would keep the object awake: what is too old is not read, and is deleted when
 * something is appended. `deleteAll()` makes the journal begin anew, with another epoch; a recovery
 * to an earlier point in time needs {@linkcode Journal.rotate}.
 *
 * @param storage The object's `ctx.storage`.
 * @param options What is kept.
 * @returns The journal.
 * @throws {ConfigError} When a bound makes no sense.
 * @throws {JournalError} With the fault `locked` when a journal is open on it, `format` when its tables
 * are of a newer version, `damaged` when they contradict themselves.
 *
 * @example
 * ```ts no-run
 * import { openDurableObjectJournal } from "@tidemark/sse/journal/sqlite";
 * import type { DurableObjectStorage } from "@tidemark/sse/journal/sqlite";
 * import type { Journal } from "@tidemark/sse";
 *
 * export class Room {
 *   readonly journal: Promise<Journal>;
 *   constructor(ctx: { readonly storage: DurableObjectStorage }) {
 *     this.journal = openDurableObjectJournal(ctx.storage);
 *   }
 * }
 * ```
 */
// deno-lint-ignore require-await -- what is thrown rejects
export async function openDurableObjectJournal(
  storage: DurableObjectStorage,
  options: DurableObjectJournalOptions = {},
): Promise<Journal> {
  const retention = readRetention(options.retention);
  if (taken.has(storage)) throw new JournalError("locked", "a journal is open on this storage");
  taken.add(storage);
  try {
    const settings = { retention, maxBytes: MAX_EVENT_BYTES, timer: false };
    return new SqlJournal(new ObjectStore(storage), { ...settings, now: options.now ?? Date.now });
  } catch (error) {
    taken.delete(storage);
    throw asJournalError(error);
  }
}

class ObjectStore implements SqlStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[] {
    // Rows are objects; what is in them is checked where it is used.
    return this.#storage.sql.exec(sql, ...values).toArray() as SqlRow[];
  }

  run(sql: string, ...values: readonly SqlValue[]): void {
    this.#storage.sql.exec(sql, ...values).toArray();
  }

  transaction<T>(body: () => T): T {
    return this.#storage.transactionSync(body);
  }

  settle(): Promise<void> {
    return this.#storage.sync();
  }

  release(): void {
    taken.delete(this.#storage);
  }
}
