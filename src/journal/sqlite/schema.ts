/**
 * The tables of a journal, and what is read of them when it is opened.
 *
 * - `tidemark_journal` has one row: the epoch and the head in one record, which is written in the
 *   transaction of the entries that it counts. (The largest rowid would not do: it starts at 1 again
 *   once everything was trimmed.) `floor` is where reading begins at least: rows below it are only
 *   waiting to be deleted. `bytes` and `latest` are the sums that the next entry continues.
 * - `tidemark_entries` has one row for each entry that is held. `before` is the bytes of all entries
 *   before it, `latest` the greatest `at` up to it (null when that is its own): both only grow, so
 *   the floor that a bound means is found by halving, not by adding up.
 *
 * Text that holds U+0000 is kept as a BLOB: some drivers cut a TEXT there. The columns of text have no
 * type, so that SQLite converts nothing.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { newEpoch } from "../epoch.ts";
import type { SqlRow, SqlStore } from "./store.ts";

/** The version of the tables. */
export const FORMAT = 1;

const TABLES = [
  `CREATE TABLE IF NOT EXISTS tidemark_journal (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL,
    epoch TEXT NOT NULL,
    head INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    latest INTEGER NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS tidemark_entries (
    offset INTEGER PRIMARY KEY,
    topic NOT NULL,
    name NOT NULL,
    data NOT NULL,
    at INTEGER NOT NULL,
    latest INTEGER,
    before INTEGER NOT NULL,
    id TEXT
  )`,
  // An index ends with the primary key by itself: this one is (topic, offset).
  `CREATE INDEX IF NOT EXISTS tidemark_topics ON tidemark_entries (topic)`,
  `CREATE UNIQUE INDEX IF NOT EXISTS tidemark_ids ON tidemark_entries (id) WHERE id IS NOT NULL`,
];

/** The record, and the oldest entry that is there. */
export interface Meta {
  /** The epoch. */
  readonly epoch: string;
  /** The newest offset that was given. */
  readonly head: number;
  /** The offset below which nothing is read, whatever is there. */
  readonly floor: number;
  /** The bytes of all entries that ever were. */
  readonly bytes: number;
  /** The greatest `at` of them. */
  readonly latest: number;
  /** The oldest entry; `null` when there is none. */
  readonly first: Mark | null;
}

/** What the bounds ask of an entry. */
export interface Mark {
  /** Its offset. */
  readonly offset: number;
  /** The greatest `at` up to it. */
  readonly latest: number;
  /** The bytes of all entries before it. */
  readonly before: number;
}

/**
 * Makes the tables where there are none.
 *
 * @param store The database, in a transaction.
 * @throws {JournalError} With the fault `format` when the tables are of another version, `damaged`
 * when they contradict themselves.
 */
export function prepareTables(store: SqlStore): void {
  if (!hasTables(store)) {
    for (const sql of TABLES) store.run(sql);
    insertRecord(store, 0, 0, 0);
    return;
  }
  // Before anything else is asked: only this much is known of the tables of another version.
  const record = store.all("SELECT format FROM tidemark_journal")[0];
  const format = record === undefined ? undefined : integer(record, "format");
  if (format !== undefined && format !== FORMAT) {
    const known = `this version of the library knows ${FORMAT}`;
    throw new JournalError("format", `its tables are of format ${format}, ${known}`);
  }
  for (const sql of TABLES) store.run(sql);
  // The entries are there, the counter is not: the numbers go on, under another name.
  if (format === undefined) recount(store);
  checkEnds(store);
}

/** Whether the journal's record has a table. */
export function hasTables(store: SqlStore): boolean {
  const sql = "SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = ?";
  return countOf(store.all(sql, "tidemark_journal")) > 0;
}

/**
 * Reads the record and the oldest entry.
 *
 * @param store The database.
 * @returns What they say; `undefined` when the record is gone.
 */
export function readMeta(store: SqlStore): Meta | undefined {
  const row = store.all(
    `SELECT j.epoch, j.head, j.floor, j.bytes, j.latest, e.offset AS first_offset,
      coalesce(e.latest, e.at) AS first_latest, e.before AS first_before
    FROM tidemark_journal j LEFT JOIN tidemark_entries e
      ON e.offset = (SELECT min(offset) FROM tidemark_entries)`,
  )[0];
  if (row === undefined) return undefined;
  const epoch = row["epoch"];
  if (typeof epoch !== "string" || !/^[0-9a-f]{16}$/.test(epoch)) {
    throw new JournalError("damaged", `its record has no epoch`);
  }
  return {
    epoch,
    head: integer(row, "head"),
    floor: integer(row, "floor"),
    bytes: integer(row, "bytes"),
    latest: integer(row, "latest"),
    first: row["first_offset"] === null ? null : {
      offset: integer(row, "first_offset"),
      latest: integer(row, "first_latest"),
      before: integer(row, "first_before"),
    },
  };
}

/**
 * Gives the sequence a new epoch: the numbers go on, and what was stored under the old one is not read
 * any more. One statement.
 *
 * @param store The database.
 * @returns The epoch.
 */
export function changeEpoch(store: SqlStore): string {
  const epoch = newEpoch();
  store.run("UPDATE tidemark_journal SET epoch = ?, floor = head + 1", epoch);
  return epoch;
}

/** What a statement has counted as `n`. */
export function countOf([row]: readonly SqlRow[]): number {
  return row === undefined ? 0 : integer(row, "n");
}

/** A column that holds a number; a driver may have been told to give each as a BigInt. */
export function integer(row: SqlRow, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  throw new JournalError("damaged", `its ${column} is ${value === null ? "null" : typeof value}`);
}

/** A record with a new epoch; it reads nothing of what stands up to its head. */
function insertRecord(store: SqlStore, head: number, bytes: number, latest: number): void {
  store.run(
    `INSERT INTO tidemark_journal (one, format, epoch, head, floor, bytes, latest)
    VALUES (1, ?, ?, ?, ?, ?, ?)`,
    FORMAT,
    newEpoch(),
    head,
    head + 1,
    bytes,
    latest,
  );
}

/** Nothing of what is there is read: that the bytes of its last entry are not counted is no harm. */
function recount(store: SqlStore): void {
  const last = lastEntry(store);
  insertRecord(store, last?.offset ?? 0, last?.before ?? 0, last?.latest ?? 0);
}

function checkEnds(store: SqlStore): void {
  const meta = readMeta(store);
  const last = lastEntry(store);
  if (meta === undefined || last === undefined || last.offset === meta.head) return;
  throw new JournalError("damaged", `its head is ${meta.head}, its last entry is ${last.offset}`);
}

function lastEntry(store: SqlStore): Mark | undefined {
  return marks(store.all(
    `SELECT offset, coalesce(latest, at) AS latest, before FROM tidemark_entries
    ORDER BY offset DESC LIMIT 1`,
  ));
}

/**
 * The oldest entry from an offset on.
 *
 * @param store The database.
 * @param offset The offset.
 * @returns The entry; `undefined` when there is none.
 */
export function markFrom(store: SqlStore, offset: number): Mark | undefined {
  return marks(store.all(
    `SELECT offset, coalesce(latest, at) AS latest, before FROM tidemark_entries
    WHERE offset >= ? ORDER BY offset LIMIT 1`,
    offset,
  ));
}

function marks([row]: readonly SqlRow[]): Mark | undefined {
  if (row === undefined) return undefined;
  return {
    offset: integer(row, "offset"),
    latest: integer(row, "latest"),
    before: integer(row, "before"),
  };
}
