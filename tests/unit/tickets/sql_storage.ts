/**
 * SQL as a Durable Object's storage has it, over the SQLite of this runtime.
 *
 * @module
 */
import type { TicketStorage } from "../../../src/tickets/durable_object.ts";
import { type OpenPath, openPath } from "../journal/sqlite_driver.ts";

/** A storage, and what a test does to it. */
export interface SqlStorage extends TicketStorage {
  /** Ends it. */
  close(): void;
}

/** Makes an empty storage; `undefined` where this runtime has no SQLite. */
export const openStorage: (() => SqlStorage) | undefined = openPath &&
  storageOf.bind(null, openPath);

function storageOf(open: OpenPath): SqlStorage {
  const database = open(":memory:");
  return {
    sql: {
      exec(query, ...bindings) {
        const statement = database.prepare(query);
        // Some drivers refuse to ask a statement for rows that gives none.
        const gives = /^SELECT|RETURNING/.test(query);
        const rows = gives ? statement.all(...bindings) : [];
        if (!gives) statement.run(...bindings);
        return { toArray: () => [...rows] };
      },
    },
    close: () => database.close(),
  };
}
