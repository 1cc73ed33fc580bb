/**
 * Which SQLite driver a runtime has.
 *
 * @module
 */
import type { SqliteDatabase } from "../../../src/journal/sqlite.ts";
import { skipOrFail } from "../../support/require.ts";

/** A database that was opened by its driver. */
export interface OpenDatabase extends SqliteDatabase {
  /** Closes it. */
  close(): void;
}

/** Opens the database of a path. */
export type OpenPath = (path: string) => OpenDatabase;

/** What a driver is. */
interface Driver {
  /** Its module. */
  readonly module: string;
  /** Its class there. */
  readonly name: string;
  /** SQLite may be given an address, so that a journal sees that its file was replaced. */
  readonly seesReplacedFile: boolean;
}

/** The drivers of a runtime, in the order in which they are looked for. */
const DRIVERS: readonly Driver[] = "Bun" in globalThis
  ? [{ module: "bun:sqlite", name: "Database", seesReplacedFile: false }]
  : [
    { module: "node:sqlite", name: "DatabaseSync", seesReplacedFile: true },
    // Node 20 has no driver of its own.
    { module: "better-sqlite3", name: "default", seesReplacedFile: false },
  ];

type Database = new (path: string) => OpenDatabase;

const found = await findDriver();

/** What opens a database here; `undefined` where there is no driver, which was said then. */
export const openPath: OpenPath | undefined = found && ((path) => new found.Database(path));

/** As the table above says it of the driver that was found. */
export const seesReplacedFile: boolean = found?.driver.seesReplacedFile === true;

async function findDriver(): Promise<
  { readonly driver: Driver; readonly Database: Database } | undefined
> {
  for (const driver of DRIVERS) {
    try {
      const Database = (await import(driver.module) as Record<string, Database>)[driver.name];
      if (Database !== undefined) return { driver, Database };
    } catch {
      // It is not there, or the optional package was not installed.
    }
  }
  skipOrFail("a SQLite driver (better-sqlite3)");
  return undefined;
}
