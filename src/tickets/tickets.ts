/**
 * Single-use tickets: what a client shows that cannot send headers, such as `EventSource`.
 *
 * A server that knows the user mints a ticket, bound to the user and to topics; the client puts it into
 * the stream's address within half a minute; and whichever pod it reaches redeems it, once. The stream
 * takes its user and its topics from the ticket, and from nothing else in the address. An address may
 * be written to a log on its way: a ticket in a log has been used.
 *
 * The pods share a {@linkcode TicketStore}: Redis (`@tidemark/sse/tickets/redis`), a Durable Object
 * ({@linkcode createDurableObjectTicketStore}), or, where there is one process,
 * {@linkcode createMemoryTicketStore}. Others can be made, and put through
 * `@tidemark/sse/tickets/conformance`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createMemoryTicketStore, createTickets } from "@tidemark/sse/tickets";
 *
 * const tickets = createTickets({ store: createMemoryTicketStore() });
 * const ticket = await tickets.mint({ user: "ada", topics: ["orders"] });
 * assertEquals((await tickets.redeem(ticket))?.claims, { user: "ada", topics: ["orders"] });
 * assertEquals(await tickets.redeem(ticket), null);
 * ```
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { TicketError } from "../errors/ticket.ts";
import { errorForLog, forLog } from "../wire/text.ts";
import { checkClaims } from "./claims.ts";
import { readRecord, writeRecord } from "./record.ts";
import { keyOf, newTicket } from "./secret.ts";
import type { Claims, RedeemedTicket, Tickets, TicketStore } from "./types.ts";

export {
  createDurableObjectTicketStore,
  type DurableObjectTicketOptions,
  type TicketStorage,
} from "./durable_object.ts";
export { createMemoryTicketStore, type MemoryTicketOptions } from "./memory.ts";
export type { Claims, RedeemedTicket, Tickets, TicketStore };

/** Options of {@linkcode createTickets}. */
export interface TicketsOptions {
  /** Where tickets are kept: shared by all pods that mint or redeem them. */
  readonly store: TicketStore;
  /**
   * How long a ticket can be redeemed, in milliseconds; 30,000; a whole number of 1 to 600,000. Pods
   * judge it by their own clocks, which must agree much better than that. A ticket whose authority
   * (`expiresAt`) ends sooner ends with it.
   */
  readonly ttlMs?: number;
  /** The time, in milliseconds since the Unix epoch; `Date.now` by default. */
  readonly now?: () => number;
  /** Where to say, once, that the store holds what this version does not know; `console`. */
  readonly logger?: TicketLogger;
}

/** Where tickets write what a person should know: a part of `console`. */
export interface TicketLogger {
  /** What a person should look at. */
  warn(message: string): void;
}

const TTL_MS = 30_000;
const MAX_TTL_MS = 600_000;
const MAX_REASON_BYTES = 512;

/**
 * Makes tickets over a store.
 *
 * What is presented is hashed and asked for, whatever it is; so one that was used, that has expired,
 * that never was, and that could not be a ticket all get the same answer by the same way.
 *
 * When a store fails, or does not answer in time, while a ticket is redeemed, the ticket may have been
 * taken: it is used, and the client asks for another one. It is never open to two.
 *
 * Errors repeat what the store said, without the ticket's key and without the store's own error: the
 * clients of some databases hang the whole command on it.
 *
 * @param options The store, and how long tickets last.
 * @returns The tickets.
 * @throws {ConfigError} When `ttlMs` makes no sense.
 */
export function createTickets(options: TicketsOptions): Tickets {
  const { store, ttlMs = TTL_MS, now = Date.now } = options;
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > MAX_TTL_MS) {
    const range = `a whole number of 1 to ${MAX_TTL_MS}`;
    throw new ConfigError("ttlMs", `it is ${String(ttlMs)}, it must be ${range}`);
  }
  const warn = warnOnce(options.logger ?? console);

  return {
    async mint(claims: Claims): Promise<string> {
      const at = now();
      const checked = checkClaims(claims, at);
      const until = Math.min(at + ttlMs, checked.expiresAt ?? Infinity);
      const ticket = newTicket();
      const key = await keyOf(ticket);
      const value = writeRecord({ claims: checked, until });
      await asking(key, () => store.put(key, value, until - at));
      return ticket;
    },

    async redeem(ticket: string): Promise<RedeemedTicket | null> {
      const key = await keyOf(ticket);
      const value = await asking(key, () => store.take(key));
      if (value === null) return null;
      const record = readRecord(value, now());
      if (record === undefined) warn();
      if (record === undefined || record === null) return null;
      const { claims, until } = record;
      let back: Promise<void> | undefined;
      // Once: a second time would give it to one more client than the first.
      return { claims, giveBack: () => back ??= putBack(key, value, until) };
    },
  };

  async function putBack(key: string, value: string, until: number): Promise<void> {
    const left = until - now();
    if (!(left > 0)) return;
    try {
      await store.put(key, value, left);
    } catch {
      // Then it is used: the client, which has no stream, asks for another one.
    }
  }
}

/** Asks a store, and turns whatever it throws into an error that tells nothing of the ticket. */
async function asking<T>(key: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const text = error instanceof TicketError
      ? error.message.replace(/^Cannot use the tickets: /, "")
      : `the store failed: ${errorForLog(error, 4 * MAX_REASON_BYTES)}`;
    // Cut only then: half a key would not be found.
    const reason = forLog(text.replaceAll(key, "…"), MAX_REASON_BYTES);
    throw new TicketError("unavailable", reason);
  }
}

/** During a rolling update every redemption would say it. */
function warnOnce(logger: TicketLogger): () => void {
  let told = false;
  return () => {
    if (told) return;
    told = true;
    const what =
      "a ticket was refused: this version of the library did not write what its store holds";
    logger.warn(`tickets: ${what} (said once)`);
  };
}
