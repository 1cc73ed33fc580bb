/**
 * A database file behind one of the drivers of Node, Deno and Bun.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { Place } from "./place.ts";
import { countOf, hasTables } from "./schema.ts";
import { CommitError, type SqlRow, type SqlStore, type SqlValue } from "./store.ts";

/** A prepared statement. */
export interface SqliteStatement {
  /** Runs it, for what it does. */
  run(...values: SqlValue[]): unknown;
  /** Runs it, for all of its rows as objects by the columns' names. */
  all(...values: SqlValue[]): unknown[];
  /** Lets go of it, where the driver has to be told: Bun's closes nothing before. */
  finalize?(): void;
}

/**
 * An open database: `DatabaseSync` of `node:sqlite` (Node 22.13 and above, Deno), `Database` of
 * `bun:sqlite`, and that of `better-sqlite3`, as they are.
 */
export interface SqliteDatabase {
  /** Prepares one statement. */
  prepare(sql: string): SqliteStatement;
}

/** `TIDE`: tells the file from that of another application. */
const APPLICATION_ID = 0x54494445;

/** The databases on which a journal is open: a connection does not lock itself out. */
const taken = new WeakSet<SqliteDatabase>();

/** The database. */
export class FileStore implements SqlStore {
  readonly #database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();
  #place: Place | undefined;
  #claimed = false;

  private constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /**
   * Takes a database for a journal, and its file for this connection alone.
   *
   * @param database The database.
   * @param synchronous What a commit waits for.
   * @returns The store.
   * @throws {JournalError} With the fault `locked` when somebody has it, `format` when it is another
   * application's, `unsafe` when it cannot have a write-ahead log.
   * @throws What the driver throws.
   */
  static open(database: SqliteDatabase, synchronous: "full" | "normal"): FileStore {
    if (taken.has(database)) throw new JournalError("locked", "a journal is open on this database");
    taken.add(database);
    const store = new FileStore(database);
    try {
      store.#take(synchronous);
    } catch (error) {
      store.release();
      throw error;
    }
    return store;
  }

  #take(synchronous: "full" | "normal"): void {
    // Whoever has the file has it for long: waiting would only stop this thread.
    this.#pragma("busy_timeout = 0");
    // Before the file is first read: then the log's index is in memory, and the lock lasts.
    this.#pragma("locking_mode = EXCLUSIVE");
    this.transaction(() => this.#claim());
    this.#claimed = true;
    const mode = this.#pragma("journal_mode = WAL");
    if (mode !== "wal" && mode !== "memory") {
      throw new JournalError("unsafe", `its journal_mode is ${mode}, it cannot be made wal`);
    }
    this.#pragma(`synchronous = ${synchronous === "full" ? "FULL" : "NORMAL"}`);
    // Without it macOS is content with what the disk has in its own memory. Others do not know it.
    this.#pragma(`fullfsync = ${synchronous === "full" ? "ON" : "OFF"}`);
    this.#place = Place.of(this);
  }

  #claim(): void {
    const id = Number(this.#pragma("application_id"));
    if (id === APPLICATION_ID) return;
    if (id !== 0 || (!hasTables(this) && !this.#isEmpty())) {
      throw new JournalError("format", "its file is another application's");
    }
    this.#pragma(`application_id = ${APPLICATION_ID}`);
  }

  #isEmpty(): boolean {
    return countOf(this.all("SELECT count(*) AS n FROM sqlite_master")) === 0;
  }

  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[] {
    // The drivers give rows as objects; what is in them is checked where it is used.
    return this.#prepare(sql).all(...values) as SqlRow[];
  }

  run(sql: string, ...values: readonly SqlValue[]): void {
    this.#prepare(sql).run(...values);
  }

  transaction<T>(body: () => T): T {
    this.run("BEGIN IMMEDIATE");
    let result: T;
    try {
      result = body();
    } catch (error) {
      this.#rollback();
      throw error;
    }
    try {
      this.run("COMMIT");
    } catch (error) {
      this.#rollback();
      throw new CommitError(error);
    }
    return result;
  }

  inspect(): void {
    this.#place?.check();
  }

  release(): void {
    // Leaving the log also writes it back: a journal that was closed is one file. Another
    // application's file stays as it is.
    if (this.#claimed) attempt(() => this.#pragma("journal_mode = DELETE"));
    attempt(() => this.#pragma("locking_mode = NORMAL"));
    // The lock goes with the next look.
    attempt(() => this.all("SELECT count(*) FROM sqlite_master"));
    for (const statement of this.#statements.values()) attempt(() => statement.finalize?.());
    this.#statements.clear();
    taken.delete(this.#database);
  }

  /** A failure may have undone the transaction already. */
  #rollback(): void {
    attempt(() => this.run("ROLLBACK"));
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** What a setting is, once it is made. One that gives no row is not asked for one. */
  #pragma(text: string): unknown {
    const statement = this.#database.prepare(`PRAGMA ${text}`);
    try {
      if (/^(?:synchronous|fullfsync|application_id) =/.test(text)) {
        statement.run();
        return undefined;
      }
      const [row] = statement.all() as SqlRow[];
      return row === undefined ? undefined : Object.values(row)[0];
    } finally {
      statement.finalize?.();
    }
  }
}

function attempt(body: () => unknown): void {
  try {
    body();
  } catch {
    // It is being left: there is nobody to tell.
  }
}
