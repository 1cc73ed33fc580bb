import { assert, assertEquals } from "@std/assert";
import { type OpenTicketStores, ticketStoreCases } from "../../../src/tickets/conformance.ts";
import {
  createDurableObjectTicketStore,
  createMemoryTicketStore,
  type TicketStore,
} from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";
import { openStorage } from "./sql_storage.ts";

for (const { name, run } of ticketStoreCases(inMemory)) test(`tickets in memory: ${name}`, run);

if (openStorage !== undefined) {
  const open = openStorage;
  const opened = (): Promise<OpenTicketStores> => {
    const storage = open();
    let time = 1_700_000_000_000;
    const store = (): TicketStore => createDurableObjectTicketStore(storage, { now: () => time });
    return Promise.resolve({
      stores: [store(), store()],
      elapse: (ms) => void (time += ms),
      close: () => Promise.resolve(storage.close()),
    });
  };
  for (const { name, run } of ticketStoreCases(opened)) test(`tickets in an object: ${name}`, run);
}

/** What one flaw makes of a right store. */
type Flaw = (store: TicketStore) => Partial<TicketStore>;

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const HOUR_MS = 3_600_000;

const FLAWS: readonly (readonly [what: string, flaw: Flaw, caughtBy: string])[] = [
  ["gives a value without taking it", (store) => ({
    async take(key) {
      const value = await store.take(key);
      if (value !== null) await store.put(key, value, HOUR_MS);
      return value;
    },
  }), "what was put is taken"],
  ["looks, and deletes a turn later", (store) => {
    const kept = new Map<string, string>();
    return {
      put(key, value, ttlMs) {
        kept.set(key, value);
        return store.put(key, value, ttlMs);
      },
      async take(key) {
        const value = kept.get(key) ?? null;
        await turn();
        kept.delete(key);
        return value;
      },
    };
  }, "of 50 that take"],
  ["remembers what was asked for in vain", (store) => {
    const vain = new Set<string>();
    return {
      async take(key) {
        const value = vain.has(key) ? null : await store.take(key);
        if (value === null) vain.add(key);
        return value;
      },
    };
  }, "an unknown key"],
  ["gives something for an unknown key", (store) => ({
    take: async (key) => await store.take(key) ?? "",
  }), "an unknown key"],
  ["forgets one of many", (store) => {
    let puts = 0;
    return { put: async (...args) => ++puts % 50 === 0 ? undefined : await store.put(...args) };
  }, "many that are put"],
  ["keeps the newest for every key", (store) => ({
    put: async (key, value, ttlMs) => {
      await store.put(key, value, ttlMs);
      newest = value;
    },
    take: async (key) => await store.take(key) === null ? null : newest,
  }), "many that are put"],
  ["never forgets", (store) => ({
    put: (key, value, ttlMs) => store.put(key, value, ttlMs > 0 ? HOUR_MS : ttlMs),
  }), "after its time"],
  ["forgets everything at once", (store) => {
    let sooner = HOUR_MS;
    return {
      put: (key, value, ttlMs) => store.put(key, value, sooner = Math.min(sooner, ttlMs)),
    };
  }, "each value has a time"],
  ["takes no time for eternity", (store) => ({
    put: (key, value, ttlMs) => store.put(key, value, ttlMs > 0 ? ttlMs : HOUR_MS),
  }), "a value whose time is nothing"],
  ["counts how often a value was put", (store) => {
    const puts = new Map<string, number>();
    return {
      put(key, value, ttlMs) {
        puts.set(key, (puts.get(key) ?? 0) + 1);
        return store.put(key, value, ttlMs);
      },
      async take(key) {
        const value = await store.take(key);
        const left = (puts.get(key) ?? 0) - 1;
        if (value !== null) puts.set(key, left);
        if (value !== null && left > 0) await store.put(key, value, HOUR_MS);
        return value;
      },
    };
  }, "the same value put twice"],
  ["takes nothing back", (store) => {
    const known = new Set<string>();
    return {
      async put(key, value, ttlMs) {
        if (!known.has(key)) await store.put(key, value, ttlMs);
        known.add(key);
      },
    };
  }, "a value that is put back is taken"],
  ["keeps the first time", (store) => {
    const times = new Map<string, number>();
    return {
      put(key, value, ttlMs) {
        times.set(key, times.get(key) ?? ttlMs);
        return store.put(key, value, times.get(key) ?? ttlMs);
      },
    };
  }, "a value that is put back lasts"],
  ["never replaces a value", (store) => {
    const first = new Map<string, string>();
    return {
      put(key, value, ttlMs) {
        first.set(key, first.get(key) ?? value);
        return store.put(key, first.get(key) ?? value, ttlMs);
      },
    };
  }, "a value that was put again"],
  ["does not look at the case of a key", (store) => ({
    put: (key, ...rest) => store.put(key.toLowerCase(), ...rest),
    take: (key) => store.take(key.toLowerCase()),
  }), "keys are told apart"],
  ["looks at 42 characters of a key", (store) => ({
    put: (key, ...rest) => store.put(key.slice(0, 42), ...rest),
    take: (key) => store.take(key.slice(0, 42)),
  }), "keys are told apart"],
  ["trims values", (store) => ({
    put: (key, value, ttlMs) => store.put(key, value.trim(), ttlMs),
  }), "values come back"],
  ["cuts values at 64 KiB", (store) => ({
    put: (key, value, ttlMs) => store.put(key, value.slice(0, 65_536), ttlMs),
  }), "values come back"],
  ["keeps one byte of each character", (store) => ({
    put: (key, value, ttlMs) => store.put(key, value.replaceAll(/[^\0-\xff]/gu, "?"), ttlMs),
  }), "values come back"],
];

let newest = "";

test("the suite catches each ticket store that is wrong", async () => {
  const missed: string[] = [];
  for (const [what, flaw, caughtBy] of FLAWS) {
    const open = async (): Promise<OpenTicketStores> => {
      const { stores: [right], ...place } = await inMemory();
      const flawed = { put: right.put.bind(right), take: right.take.bind(right), ...flaw(right) };
      return { ...place, stores: [flawed] };
    };
    if (!(await failures(open)).some((name) => name.startsWith(caughtBy))) missed.push(what);
  }
  assertEquals(missed, []);
});

test("the suite catches stores that do not share their tickets", async () => {
  const apart = async (): Promise<OpenTicketStores> => {
    const { stores: [one], ...place } = await inMemory();
    return { ...place, stores: [one, (await inMemory()).stores[0]] };
  };
  assertEquals(
    (await failures(apart)).includes("what one store puts, every other one takes"),
    true,
  );
});

test("every case of the suite has a flaw that it catches", () => {
  const caughtBy = [...FLAWS.map(([, , name]) => name), "what one store puts"];
  const names = ticketStoreCases(inMemory).map(({ name }) => name);
  assertEquals(names.filter((name) => !caughtBy.some((start) => name.startsWith(start))), []);
  assertEquals(new Set(names).size, names.length);
});

test("the suite closes what it opened, whether a case fails or not", async () => {
  let open = 0;
  let opened = 0;
  const counted = async (): Promise<OpenTicketStores> => {
    open++;
    opened++;
    const { stores: [store], elapse } = await inMemory();
    const flawed = { put: store.put.bind(store), take: () => Promise.resolve("other") };
    const stores: OpenTicketStores["stores"] = opened % 2 === 0 ? [store] : [flawed];
    return { stores, elapse, close: () => Promise.resolve(void open--) };
  };
  const failed = (await failures(counted)).length;
  assert(failed > 0 && failed < opened);
  assertEquals(open, 0);
});

test("the suite waits in real time where no clock is handed in", async () => {
  const open = (): Promise<OpenTicketStores> =>
    Promise.resolve({ stores: [createMemoryTicketStore()], close: () => Promise.resolve() });
  assertEquals(await failures(open), []);
});

/** The names of the cases that fail; a mistake in a flaw or a case is no failure. */
async function failures(open: () => Promise<OpenTicketStores>): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { name, run } of ticketStoreCases(open)) {
    try {
      await run();
    } catch (error) {
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      failed.push(name);
    }
  }
  return failed;
}

function inMemory(): Promise<OpenTicketStores> {
  let time = 0;
  const store = createMemoryTicketStore({ now: () => time });
  return Promise.resolve({
    stores: [store],
    elapse: (ms) => void (time += ms),
    close: () => Promise.resolve(),
  });
}
