/**
 * A journal in SQLite: a file for one pod whose events must outlast it, or the storage of a Durable
 * Object ({@linkcode openDurableObjectJournal}). What follows is about files.
 *
 * The application opens the file with its own driver and hands the database in: `node:sqlite` (Node
 * 22.13 and above, Deno), `bun:sqlite` and `better-sqlite3` fit as they are. The file belongs to the
 * journal alone, and so does the connection.
 *
 * **When an event is on disk.** `append` resolves after the commit.
 *
 * - `synchronous: "full"`, the default: the disk has been told to write, and has said that it did.
 *   After a power cut everything that was acknowledged is there, as far as the disk tells the truth.
 * - `synchronous: "normal"`: the system has it. It survives a crash and a `kill -9` of the process.
 *   After a power cut the newest events may be gone, although clients have seen them, and their
 *   numbers are given again under the same epoch: call {@linkcode Journal.rotate} before the first
 *   client is served after such a start.
 *
 * When the disk itself fails in a commit, `append` rejects with {@linkcode AppendUnknownError}: readers
 * do not see the event, and the next commit undoes it for good; only if the process ended before that,
 * the next one might find it.
 *
 * **Copies.** Copy the file while no journal is open on it; then it is one file. To put an older copy
 * back: stop the pod, take away the file and what stands beside it (`-wal`), put the copy there, open
 * it, and call `rotate` with the epoch of its window. Nothing in an older copy says that it is one, so
 * without `rotate` its numbers are given again under the same epoch, and clients pass over what they
 * have not seen. While a journal is open, the epoch changes by itself when the database is put back
 * through its own connection. A file that is replaced or taken away under an open journal is seen with
 * `node:sqlite`: everything is refused within a second, with the fault `unavailable`. The other
 * drivers offer no way to see it, and none sees that a file was overwritten in its place.
 *
 * **One opener.** The file is locked while the journal is open, for every other connection, also one
 * that only reads. The lock ends with the process, however it ends.
 *
 * @module
 */
import type { Journal } from "./journal.ts";
import { readRetention, type RetentionOptions } from "./retention.ts";
import { asJournalError } from "./sqlite/faults.ts";
import { FileStore, type SqliteDatabase } from "./sqlite/file_store.ts";
import { SqlJournal } from "./sqlite/journal.ts";

export {
  type DurableObjectJournalOptions,
  type DurableObjectStorage,
  openDurableObjectJournal,
} from "./sqlite/durable_object.ts";
export type { SqliteDatabase, SqliteStatement } from "./sqlite/file_store.ts";
export type { SqlValue } from "./sqlite/store.ts";

/** Options of {@linkcode openSqliteJournal}. */
export interface SqliteJournalOptions {
  /** How much is kept; 7 days by default. */
  readonly retention?: RetentionOptions;
  /**
   * What an append waits for: `"full"`, the default, for the disk; `"normal"` for the system only, and
   * then a power cut may take the newest events back.
   */
  readonly synchronous?: "full" | "normal";
  /** The time by which entries age, in milliseconds since the Unix epoch; `Date.now` by default. */
  readonly now?: () => number;
}

/**
 * Opens a journal in a SQLite file; an empty one becomes a journal.
 *
 * The driver is synchronous: the thread stands still while the disk writes. What is appended in one
 * turn is written at once.
 *
 * @param database The open database. Its `busy_timeout`, `locking_mode`, `journal_mode` and
 * `synchronous` are set here. Close it after the journal.
 * @param options What is kept, and when an event counts as stored.
 * @returns The journal.
 * @throws {ConfigError} When a bound makes no sense.
 * @throws {JournalError} With the fault `locked` when somebody else has the file open, `format` when
 * it is another application's or of a newer version, `damaged` when it is no database or contradicts
 * itself, `unsafe` when it cannot have a write-ahead log.
 *
 * @example
 * ```ts no-run
 * import { openSqliteJournal, type SqliteDatabase } from "@tidemark/sse/journal/sqlite";
 *
 * // new DatabaseSync("events.db") of node:sqlite, or new Database("events.db") of the other two.
 * export async function greet(database: SqliteDatabase): Promise<void> {
 *   const journal = await openSqliteJournal(database, { retention: { maxEntries: 100_000 } });
 *   await journal.append({ topic: "", name: "", data: "hello", at: Date.now() });
 *   await journal.close();
 * }
 * ```
 */
// deno-lint-ignore require-await -- what is thrown rejects; a driver that is not synchronous may come
export async function openSqliteJournal(
  database: SqliteDatabase,
  options: SqliteJournalOptions = {},
): Promise<Journal> {
  const { synchronous = "full", now = Date.now } = options;
  const retention = readRetention(options.retention);
  let store: FileStore | undefined;
  try {
    store = FileStore.open(database, synchronous);
    return new SqlJournal(store, { retention, maxBytes: Infinity, now, timer: true });
  } catch (error) {
    store?.release();
    throw asJournalError(error);
  }
}
