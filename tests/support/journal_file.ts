/**
 * SQLite files behind pods in the test's own process. Runs under Deno.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { openSqliteJournal, type SqliteDatabase } from "../../src/journal/sqlite.ts";
import type { FixtureJournalOpener } from "../../src/testing/fixture/core.ts";
import { openDatabase } from "../../src/testing/fixture/journals.ts";
import { copyTables } from "../unit/journal/sqlite_copy.ts";
import type { Broker } from "./journal_broker.ts";
import { type Outcome, Pod } from "./journal_pod.ts";

/** A folder that goes away, whatever becomes of the work. */
export async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tidemark-store-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Opens a file, and lets the test have the database. */
function opener(path: string, hold: (database: SqliteDatabase) => void): FixtureJournalOpener {
  return async () => {
    const database = await openDatabase(path);
    hold(database);
    const journal = await openSqliteJournal(database);
    const close = async (): Promise<void> => {
      await journal.close();
      database.close();
    };
    return { journal, close };
  };
}

/** Starts a pod over a file, stops it after the work, and gives the work the database. */
export async function withFilePod(
  path: string,
  options: { readonly replayEvents: number },
  work: (pod: Pod, database: SqliteDatabase) => Promise<void>,
): Promise<void> {
  let database: SqliteDatabase | undefined;
  const pod = await Pod.start(opener(path, (opened) => database = opened), {
    ...options,
    keepaliveMs: 100,
    writeTimeoutMs: 5000,
  });
  try {
    if (database === undefined) throw new Error("The pod has not opened its database");
    await work(pod, database);
  } finally {
    await pod.stop();
  }
}

/** The refusal of a publication that was not stored, with its reason. */
export function assertRefused(outcome: Outcome, text: RegExp): void {
  assertEquals([outcome.status, outcome.code, outcome.offsets], [503, "journal", []]);
  assertMatch(outcome.message, text);
}

/** Publishes events that must be stored. */
export async function publishAll(pod: Pod, data: readonly string[]): Promise<void> {
  for (const each of data) {
    const outcome = await pod.publish(each);
    assertEquals([outcome.status, outcome.message], [200, ""]);
  }
}

/** A store, as a test does it harm. */
export type HarmedStore = Pick<
  Broker,
  "open" | "copy" | "empty" | "purge" | "loseCounter" | "dispose"
>;

/**
 * A file that is harmed through the journal's own connection: nobody else gets at it.
 *
 * @param now The time by which entries age.
 * @returns The store; its file exists once it is opened.
 */
export async function startSqlite(now: () => number = Date.now): Promise<HarmedStore> {
  const folder = await Deno.makeTempDir({ prefix: "tidemark-epoch-" });
  let database: (SqliteDatabase & { close(): void }) | undefined;
  const run = (sql: string, ...values: (string | number)[]): unknown[] => {
    const statement = database?.prepare(sql);
    if (/^SELECT/.test(sql)) return statement?.all(...values) ?? [];
    statement?.run(...values);
    return [];
  };
  const atOnce = (work: () => void): Promise<void> => {
    run("BEGIN");
    work();
    run("COMMIT");
    return Promise.resolve();
  };
  return {
    async open() {
      const opened = database = await openDatabase(`${folder}/journal.db`);
      const journal = await openSqliteJournal(opened, { now });
      const close = async (): Promise<void> => {
        await journal.close();
        opened.close();
      };
      return { journal, close };
    },
    copy() {
      const restore = copyTables(run);
      return Promise.resolve(() => atOnce(restore));
    },
    empty: () =>
      atOnce(() => {
        for (const table of ["journal", "entries"]) run(`DROP TABLE tidemark_${table}`);
      }),
    purge: () => atOnce(() => void run("DELETE FROM tidemark_entries")),
    loseCounter: () => atOnce(() => void run("DELETE FROM tidemark_journal")),
    dispose: () => Deno.remove(folder, { recursive: true }),
  };
}
