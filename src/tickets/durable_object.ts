/**
 * Tickets in the SQL storage of a Durable Object.
 *
 * @module
 */
import { TicketError } from "../errors/ticket.ts";
import { errorForLog } from "../wire/text.ts";
import type { TicketStore } from "./types.ts";

/** What is used of `ctx.storage`. */
export interface TicketStorage {
  /** Its SQL; only an object of a class that was made with SQLite has it. */
  readonly sql: {
    /** Runs one statement. */
    exec(query: string, ...bindings: (string | number)[]): { toArray(): unknown[] };
  };
}

/** Options of {@linkcode createDurableObjectTicketStore}. */
export interface DurableObjectTicketOptions {
  /** The time by which tickets expire, in milliseconds since the Unix epoch; `Date.now` by default. */
  readonly now?: () => number;
}

/** `createTickets` cuts it shorter, once a ticket's key that is quoted in it has been removed. */
const MAX_TOLD_BYTES = 2048;

const TABLE = `CREATE TABLE IF NOT EXISTS tidemark_tickets (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  expires INTEGER NOT NULL
) WITHOUT ROWID`;
const INDEX = `CREATE INDEX IF NOT EXISTS tidemark_tickets_expires ON tidemark_tickets (expires)`;

/** More than come with one put: the expired go faster than they come, and no put waits for many. */
const MAX_TRIMMED = 100;
const TRIM = `DELETE FROM tidemark_tickets WHERE key IN
  (SELECT key FROM tidemark_tickets WHERE expires <= ? ORDER BY expires LIMIT ${MAX_TRIMMED})`;
const PUT = `INSERT OR REPLACE INTO tidemark_tickets (key, value, expires) VALUES (?, ?, ?)`;
const TAKE = `DELETE FROM tidemark_tickets WHERE key = ? RETURNING value, expires`;

/**
 * Makes a store in an object's storage, beside whatever else is there: in the table
 * `tidemark_tickets`. All that mint and redeem are served by this one object.
 *
 * A ticket is put, or taken, before the method returns, in one statement: no other call comes in
 * between. What the object answers leaves it only when its writes are on disk, so a ticket that was
 * used stays used. No timer and no alarm runs, for it would keep the object awake: what has expired is
 * deleted when other tickets are put.
 *
 * @param storage The object's `ctx.storage`.
 * @param options Its clock.
 * @returns The store. It rejects with a {@linkcode TicketError} `unavailable` when the storage fails.
 *
 * @example
 * ```ts no-run
 * import { createDurableObjectTicketStore, createTickets } from "@tidemark/sse/tickets";
 * import type { Tickets, TicketStorage } from "@tidemark/sse/tickets";
 *
 * export class Room {
 *   readonly tickets: Tickets;
 *   constructor(ctx: { readonly storage: TicketStorage }) {
 *     this.tickets = createTickets({ store: createDurableObjectTicketStore(ctx.storage) });
 *   }
 * }
 * ```
 */
export function createDurableObjectTicketStore(
  storage: TicketStorage,
  options: DurableObjectTicketOptions = {},
): TicketStore {
  return new ObjectTicketStore(storage, options.now ?? Date.now);
}

class ObjectTicketStore implements TicketStore {
  readonly #storage: TicketStorage;
  readonly #now: () => number;

  constructor(storage: TicketStorage, now: () => number) {
    this.#storage = storage;
    this.#now = now;
  }

  put(key: string, value: string, ttlMs: number): Promise<void> {
    return settled(() => {
      if (!(ttlMs > 0)) return;
      const now = this.#now();
      this.#run(TRIM, now);
      this.#run(PUT, key, value, Math.ceil(now + ttlMs));
    });
  }

  take(key: string): Promise<string | null> {
    return settled(() => {
      // The statement is run to its end by reading all that it gives.
      const [row] = this.#run(TAKE, key) as readonly (Readonly<Record<string, unknown>>)[];
      if (row === undefined) return null;
      const { value, expires } = row;
      return typeof value === "string" && this.#now() < Number(expires) ? value : null;
    });
  }

  #run(sql: string, ...values: (string | number)[]): readonly unknown[] {
    const { sql: database } = this.#storage;
    try {
      return database.exec(sql, ...values).toArray();
    } catch (error) {
      // It is made with the first ticket, and after the application's `deleteAll()`.
      if (!/no such table: tidemark_tickets/.test(String(error))) throw error;
    }
    database.exec(TABLE).toArray();
    database.exec(INDEX).toArray();
    return database.exec(sql, ...values).toArray();
  }
}

/** What is thrown becomes a rejection. */
function settled<T>(act: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    try {
      resolve(act());
    } catch (error) {
      const told = errorForLog(error, MAX_TOLD_BYTES);
      reject(new TicketError("unavailable", `the storage failed: ${told}`));
    }
  });
}
