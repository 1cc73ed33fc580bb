/**
 * What SQLite complained of, in the journal's words.
 *
 * @module
 */
import { AppendUnknownError, JournalError, type JournalFault } from "../../errors/journal.ts";
import { newEpoch } from "../epoch.ts";
import { CommitError } from "./store.ts";

/** The primary result codes that mean something to a journal: sqlite.org/rescode.html. */
const CODES: readonly (readonly [code: number, name: string, text: string, fault: JournalFault])[] =
  [
    [5, "BUSY", "database is locked", "locked"],
    [6, "LOCKED", "database table is locked", "locked"],
    [10, "IOERR", "disk I/O error", "failed"],
    [11, "CORRUPT", "database disk image is malformed", "damaged"],
    [13, "FULL", "database or disk is full", "full"],
    [14, "CANTOPEN", "unable to open database", "unavailable"],
    [18, "TOOBIG", "string or blob too big", "too_large"],
    [26, "NOTADB", "file is not a database", "damaged"],
  ];

/** How the drivers say that the application has closed the database. */
const CLOSED = /not open|closed database|has been finalized/;

/** What the drivers put on their errors. */
interface DriverError {
  readonly message?: unknown;
  /** node:sqlite: the extended result code. */
  readonly errcode?: unknown;
  /** bun:sqlite: the extended result code. */
  readonly errno?: unknown;
  /** better-sqlite3 and bun:sqlite: the extended result code's name. */
  readonly code?: unknown;
}

/** The name of the primary result code: `"FULL"`; `""` when it is none of those above. */
export function sqliteCode(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { message, errcode, errno, code } = error as DriverError;
  const number = typeof errcode === "number" ? errcode : errno;
  const text = String(message);
  // A Durable Object ends its message with the name. Deno leaves the code out at times.
  const name = /^SQLITE_([A-Z]+)/.exec(String(code))?.[1] ?? /: SQLITE_([A-Z]+)/.exec(text)?.[1];
  const found =
    CODES.find((each) =>
      typeof number === "number" ? each[0] === (number & 0xff) : each[1] === name
    ) ?? CODES.find((each) => text.startsWith(each[2]));
  return found?.[1] ?? "";
}

/**
 * What was thrown, as a journal's error.
 *
 * @param error What was thrown; a journal's error is returned as it is.
 * @returns The error.
 */
export function asJournalError(error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  if (error instanceof CommitError) return asJournalError(error.cause);
  const text = error instanceof Error ? error.message : String(error);
  const name = sqliteCode(error);
  const fault = CODES.find((each) => each[1] === name)?.[3];
  if (fault !== undefined) return new JournalError(fault, `SQLite says: ${text}`, error);
  if (CLOSED.test(text)) {
    return new JournalError("closed", "the application has closed its database", error);
  }
  return new JournalError("failed", `SQLite says: ${text}`, error);
}

/**
 * Why an event was not stored.
 *
 * @param error What its transaction threw.
 * @param id The event's id, if it has one.
 * @returns The error for whoever appended it.
 */
export function asAppendError(
  error: unknown,
  id: string | undefined,
): JournalError | AppendUnknownError {
  // What a failed sync of the log has left on disk is seen by no one in this process, and the next
  // commit writes over it. After a crash before that commit it would be found, and be true.
  if (error instanceof CommitError && ["IOERR", ""].includes(sqliteCode(error.cause))) {
    const reason = "the disk failed while it was committed";
    return new AppendUnknownError(id ?? newEpoch(), reason, error.cause);
  }
  return asJournalError(error);
}

/** Whether a statement met a table that is not there: somebody has taken everything away. */
export function isTableMissing(error: unknown): boolean {
  return error instanceof Error && /no such table: tidemark_/.test(error.message);
}
