/**
 * A journal in a file, with its database at hand, for tests of what only this adapter does.
 *
 * @module
 */
import { JournalError, type JournalFault } from "../../../src/errors/journal.ts";
import type { Journal, JournalEntry, JournalEvent } from "../../../src/journal/journal.ts";
import {
  openSqliteJournal,
  type SqliteDatabase,
  type SqliteJournalOptions,
} from "../../../src/journal/sqlite.ts";
import { type OpenDatabase, type OpenPath, openPath } from "./sqlite_driver.ts";
import { makeFolder } from "./sqlite_subject.ts";
import { test, type TestOptions } from "../../support/test.ts";

/** What a test works with. */
export interface World {
  /** A path in the test's folder. */
  path(name?: string): string;
  /** Opens a database; it is closed after the test. */
  connect(name?: string): OpenDatabase;
  /** Opens a journal; it is closed after the test, unless the test has closed it. */
  open(database: SqliteDatabase, options?: SqliteJournalOptions): Promise<Journal>;
}

/**
 * Registers a test that works with files; not where there is no driver.
 *
 * @param name A sentence of behaviour.
 * @param body What it does.
 * @param options What it needs.
 */
export function fileTest(
  name: string,
  body: (world: World) => Promise<void>,
  options: TestOptions = {},
): void {
  if (openPath === undefined) return;
  const open = openPath;
  test(name, () => withWorld(open, body), options);
}

async function withWorld(open: OpenPath, body: (world: World) => Promise<void>): Promise<void> {
  const folder = await makeFolder();
  const databases: OpenDatabase[] = [];
  const journals: Journal[] = [];
  const path = (name = "journal.db"): string => folder.path(name);
  try {
    await body({
      path,
      connect(name) {
        const database = open(path(name));
        databases.push(database);
        return database;
      },
      async open(database, options) {
        const journal = await openSqliteJournal(database, options);
        journals.push(journal);
        return journal;
      },
    });
  } finally {
    for (const journal of journals) await journal.close();
    for (const database of databases) database.close();
    await folder.remove();
  }
}

/** An event. */
export function eventOf(data: string, fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic: "", name: "", data, at: Date.now(), ...fields };
}

/** The data of everything that may be read. */
export async function dataOf(journal: Journal): Promise<string[]> {
  const { entries } = await journal.read({ after: 0, topics: null, limit: 10_000 });
  return entries.map((entry: JournalEntry) => entry.data);
}

/**
 * Expects a rejection.
 *
 * @param promise What must reject.
 * @returns The fault that it rejects with; what else happened, if it did not.
 */
export async function faultOf(promise: Promise<unknown>): Promise<JournalFault | string> {
  try {
    return `it gave ${JSON.stringify(await promise)}`;
  } catch (error) {
    return error instanceof JournalError ? error.fault : String(error);
  }
}

/** Called before each statement runs, with its text and values; what it throws, the driver throws. */
export type Watch = (sql: string, values: readonly unknown[]) => void;

/**
 * A database whose statements are watched.
 *
 * @param database The database.
 * @param watch Sees them.
 * @returns The same, for a journal.
 */
export function watched(database: SqliteDatabase, watch: Watch): SqliteDatabase {
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        run(...values) {
          watch(sql, values);
          return statement.run(...values);
        },
        all(...values) {
          watch(sql, values);
          return statement.all(...values);
        },
        finalize: () => statement.finalize?.(),
      };
    },
  };
}
