/**
 * The conformance suite of ticket stores: what each must do, as cases that any test runner takes.
 *
 * It needs no test framework: a case rejects with a plain `Error` when an expectation was not met.
 * Each case opens a place of its own, so cases may run in any order, and side by side.
 *
 * @example
 * ```ts
 * import { createMemoryTicketStore } from "@tidemark/sse/tickets";
 * import { ticketStoreCases } from "@tidemark/sse/tickets/conformance";
 *
 * const cases = ticketStoreCases(() =>
 *   Promise.resolve({ stores: [createMemoryTicketStore()], close: () => Promise.resolve() })
 * );
 * const first = cases[0];
 * await first?.run(); // In a test file: for (const { name, run } of cases) test(name, run);
 * ```
 *
 * @module
 */
import type { TicketStore } from "./types.ts";

export type { TicketStore };

/** A place for tickets, empty when it is opened, and the stores on it. */
export interface OpenTicketStores {
  /** The stores: one for each pod, which share the tickets; one at least. */
  readonly stores: readonly [TicketStore, ...TicketStore[]];
  /**
   * Lets time pass for all of them, where a test has their clock in hand. Without it the suite waits.
   *
   * @param ms How much, in milliseconds.
   */
  elapse?(ms: number): void | Promise<void>;
  /** Lets go of everything. Called once, at the end of each case. */
  close(): Promise<void>;
}

/** One case of the suite. */
export interface TicketStoreCase {
  /** What it expects, as a sentence. */
  readonly name: string;
  /**
   * Runs it in a place of its own.
   *
   * @returns Settles when it is over and everything is closed.
   * @throws {Error} When an expectation was not met; the message says which.
   */
  run(): Promise<void>;
}

/** So long that no case outlasts it, in milliseconds. */
const LONG_MS = 120_000;
/** So short that a case can wait for it, in milliseconds. */
const SHORT_MS = 80;
/** How long to wait between two looks, in milliseconds, and how often to look. */
const LOOK_MS = 10;
const LOOKS = 100;
const PRESENTERS = 50;

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

type Body = (place: OpenTicketStores) => Promise<void>;

const CASES: readonly (readonly [name: string, body: Body])[] = [
  ["what was put is taken, and then it is gone", async ({ stores: [store] }) => {
    const key = newKey();
    await store.put(key, "value", LONG_MS);
    await gives(store, key, "value", "what was put");
    await gives(store, key, null, "what was taken");
    await gives(store, key, null, "what was asked for in vain");
  }],
  ["an unknown key gives null, as often as it is asked for", async ({ stores }) => {
    const key = newKey();
    for (const store of [...stores, ...stores]) await gives(store, key, null, "an unknown key");
    const [store] = stores;
    // Asking must leave nothing behind that would stand in its way.
    await store.put(key, "value", LONG_MS);
    await gives(store, key, "value", "what was put after it was asked for");
  }],
  [`of ${PRESENTERS} that take one at once, one gets it`, async ({ stores }) => {
    for (let round = 0; round < 5; round++) {
      const key = newKey();
      await stores[0].put(key, "value", LONG_MS);
      const taken = await Promise.all(
        Array.from({ length: PRESENTERS }, (_, n) => storeOf(stores, n).take(key)),
      );
      const got = taken.filter((value) => value !== null);
      ensure(got.length === 1, `one of ${PRESENTERS} to get a value, ${got.length} got it`);
      ensure(got[0] === "value", "that one to get what was put");
    }
  }],
  ["many that are put and taken at once are all taken, each once, none for another", async (
    { stores },
  ) => {
    const keys = Array.from({ length: 200 }, newKey);
    await Promise.all(keys.map((key, n) => storeOf(stores, n).put(key, `of ${key}`, LONG_MS)));
    const taken = await Promise.all(
      [...keys, ...keys].map((key, n) => storeOf(stores, n + (n < keys.length ? 1 : 0)).take(key)),
    );
    for (const [n, key] of keys.entries()) {
      const got = [taken[n], taken[n + keys.length]].filter((value) => value !== null);
      ensure(got.length === 1, `value ${n} to be taken once, it was taken ${got.length} times`);
      ensure(got[0] === `of ${key}`, `value ${n} to be given for its own key`);
    }
  }],
  ["what one store puts, every other one takes", async ({ stores }) => {
    for (const from of stores) {
      for (const to of stores) {
        const key = newKey();
        await from.put(key, "value", LONG_MS);
        await gives(to, key, "value", "what another store put");
        await gives(from, key, null, "what another store took");
      }
    }
  }],
  ["after its time a value is gone", async (place) => {
    const { stores: [store] } = place;
    const [key, other] = [newKey(), newKey()];
    await store.put(key, "value", SHORT_MS);
    await store.put(other, "value", SHORT_MS - 0.5);
    await outlast(place, SHORT_MS);
    await gives(store, key, null, "what had expired");
    await gives(store, other, null, "what had expired, half a millisecond sooner");
  }],
  ["each value has a time of its own", async (place) => {
    const { stores: [store] } = place;
    const [short, long, next] = [newKey(), newKey(), newKey()];
    await store.put(long, "long", LONG_MS);
    await store.put(short, "short", SHORT_MS);
    await store.put(next, "next", LONG_MS);
    await outlast(place, SHORT_MS);
    await gives(store, short, null, "what had expired");
    await gives(store, long, "long", "what was put before it, for longer");
    await gives(store, next, "next", "what was put after it, for longer");
  }],
  ["a value whose time is nothing is not kept", async ({ stores: [store] }) => {
    for (const ttlMs of [0, -1, -LONG_MS]) {
      const key = newKey();
      await store.put(key, "value", ttlMs);
      await gives(store, key, null, `what was put for ${ttlMs} ms`);
    }
  }],
  ["the same value put twice is taken once", async ({ stores }) => {
    const key = newKey();
    await stores[0].put(key, "value", LONG_MS);
    await storeOf(stores, 1).put(key, "value", LONG_MS);
    await gives(stores[0], key, "value", "what was put twice");
    for (const store of stores) await gives(store, key, null, "what was put twice, and taken");
  }],
  ["a value that is put back is taken once more", async ({ stores }) => {
    const key = newKey();
    await stores[0].put(key, "value", LONG_MS);
    for (let round = 0; round < 3; round++) {
      await gives(storeOf(stores, round), key, "value", "what was put back");
      await gives(storeOf(stores, round + 1), key, null, "what was taken again");
      await storeOf(stores, round).put(key, "value", LONG_MS - round);
    }
    await gives(stores[0], key, "value", "what was put back last");
  }],
  ["a value that is put back lasts for its new time, not for its old one", async (place) => {
    const { stores: [store] } = place;
    const [shorter, longer] = [newKey(), newKey()];
    await store.put(shorter, "value", LONG_MS);
    await store.put(longer, "value", LONG_MS / 2);
    await gives(store, shorter, "value", "what was put");
    await gives(store, longer, "value", "what was put");
    await store.put(shorter, "value", SHORT_MS);
    await store.put(longer, "value", LONG_MS);
    await outlast(place, SHORT_MS);
    await gives(store, shorter, null, "what was put back for a short time");
    await gives(store, longer, "value", "what was put back for a long time");
  }],
  ["a value that was put again after it had expired is there", async (place) => {
    const { stores: [store] } = place;
    const key = newKey();
    await store.put(key, "old", SHORT_MS);
    await outlast(place, SHORT_MS);
    await store.put(key, "new", LONG_MS);
    await gives(store, key, "new", "what was put after another one had expired");
  }],
  ["keys are told apart by every character", async ({ stores: [store] }) => {
    const stem = newKey().slice(1);
    const firsts = [...ALPHABET];
    const keys = [...firsts.map((c) => c + stem), ...firsts.map((c) => stem + c)];
    const distinct = [...new Set(keys)];
    await Promise.all(distinct.map((key) => store.put(key, `of ${key}`, LONG_MS)));
    for (const key of distinct) await gives(store, key, `of ${key}`, "a key among similar ones");
  }],
  ["values come back as they were, whatever is in them", async ({ stores }) => {
    const values = [
      "x",
      `{"v":1,"claims":{"user":"a\\"b'c\\\\d","topics":["%s","$1","{0}","?",";--"]}}`,
      "é ß 漢字 𝒳 👩‍👩‍👧 \u00a0\u200b\ufeff",
      " \t\r\n line\nline\r\nline ",
      "null",
      "1e3",
      "007",
      "true",
      "0x".padEnd(300, "f"),
      "é".repeat(100_000),
    ];
    for (const [n, value] of values.entries()) {
      const key = newKey();
      await storeOf(stores, n).put(key, value, LONG_MS);
      await gives(storeOf(stores, n + 1), key, value, `value ${n}`);
    }
  }],
];

/**
 * The cases that a ticket store must pass.
 *
 * @param open Opens a new and empty place for tickets.
 * @returns The cases, each with a name of its own.
 */
export function ticketStoreCases(
  open: () => Promise<OpenTicketStores>,
): readonly TicketStoreCase[] {
  return CASES.map(([name, body]) => ({
    name,
    async run() {
      const place = await open();
      try {
        await body(place);
      } catch (error) {
        // What went wrong in the case comes before what goes wrong in clearing up after it.
        await place.close().catch(() => {});
        throw error;
      }
      await place.close();
    },
  }));
}

/** Lets values expire that were put for so long, before this was called. */
async function outlast(place: OpenTicketStores, ms: number): Promise<void> {
  const { stores: [store] } = place;
  if (place.elapse !== undefined) return await place.elapse(ms + 1);
  // One for each look, since looking takes it: when the first is gone, so must those before it be.
  const probes = Array.from({ length: LOOKS }, newKey);
  await Promise.all(probes.map((key) => store.put(key, "probe", ms)));
  for (const key of probes) {
    if (await store.take(key) === null) return;
    await new Promise<void>((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`Expected a value of ${ms} ms to be gone after ${LOOKS * LOOK_MS} ms`);
}

async function gives(
  store: TicketStore,
  key: string,
  expected: string | null,
  what: string,
): Promise<void> {
  const value = await store.take(key);
  ensure(
    value === expected,
    `${what} to give ${shown(expected)}, it gave ${shown(value)}`,
  );
}

function shown(value: unknown): string {
  if (typeof value !== "string") return String(value);
  return value.length > 20 ? `a text of ${value.length} characters` : JSON.stringify(value);
}

function ensure(condition: boolean, expectation: string): void {
  if (!condition) throw new Error(`Expected ${expectation}`);
}

/** The store of the n-th pod, around and around. */
function storeOf(stores: OpenTicketStores["stores"], n: number): TicketStore {
  return stores[n % stores.length] ?? stores[0];
}

/** A key as `createTickets` makes them. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(43));
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte & 63)).join("");
}
