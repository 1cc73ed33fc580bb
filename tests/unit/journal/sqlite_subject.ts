/**
 * SQLite files as a subject of the conformance suite.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  JournalStore,
  JournalStoreCopy,
  JournalSubject,
} from "../../../src/journal/conformance.ts";
import { openSqliteJournal } from "../../../src/journal/sqlite.ts";
import { copyTables } from "./sqlite_copy.ts";
import type { OpenDatabase, OpenPath } from "./sqlite_driver.ts";

/** A folder that goes away. */
export interface Folder {
  /** A path in it. */
  path(name: string): string;
  /** Removes it. */
  remove(): Promise<void>;
}

/** Makes an empty folder. */
export async function makeFolder(): Promise<Folder> {
  const folder = await mkdtemp(join(tmpdir(), "tidemark-sqlite-"));
  return {
    path: (name) => join(folder, name),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/**
 * The subject.
 *
 * @param openPath Opens a database.
 * @returns The subject; each store is a file in a folder of its own.
 */
export function sqliteSubject(openPath: OpenPath): JournalSubject {
  return {
    openers: "one",
    hooks: ["copy", "empty", "purge", "foreignFormat"],
    makeStore: () => makeStore(openPath),
  };
}

async function makeStore(openPath: OpenPath): Promise<JournalStore> {
  const folder = await makeFolder();
  const databases: OpenDatabase[] = [];
  const connect = (): OpenDatabase => {
    const database = openPath(folder.path("journal.db"));
    databases.push(database);
    return database;
  };
  // The journal's own connection: no other one gets at the file while it is open.
  let current: OpenDatabase | undefined;
  const own = (): OpenDatabase => current ??= connect();
  return {
    async open({ retention }) {
      const database = connect();
      const journal = await openSqliteJournal(database, { retention });
      current = database;
      return journal;
    },
    copy: () => Promise.resolve(copyOf(own())),
    empty() {
      for (const table of ["journal", "entries"]) run(own(), `DROP TABLE tidemark_${table}`);
      return Promise.resolve();
    },
    purge() {
      run(own(), "DELETE FROM tidemark_entries");
      return Promise.resolve();
    },
    foreignFormat() {
      run(own(), "UPDATE tidemark_journal SET format = 2");
      return Promise.resolve();
    },
    async dispose() {
      for (const database of databases) database.close();
      await folder.remove();
    },
  };
}

function copyOf(database: OpenDatabase): JournalStoreCopy {
  const restore = copyTables((sql, ...values) => {
    if (/^SELECT/.test(sql)) return database.prepare(sql).all(...values);
    run(database, sql, ...values);
    return [];
  });
  return {
    restore() {
      run(database, "BEGIN");
      restore();
      run(database, "COMMIT");
      return Promise.resolve();
    },
  };
}

function run(database: OpenDatabase, sql: string, ...values: (string | number)[]): void {
  database.prepare(sql).run(...values);
}
