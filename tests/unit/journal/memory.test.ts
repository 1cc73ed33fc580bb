import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import type { JournalEntry, JournalEvent, JournalRange } from "../../../src/journal/journal.ts";
import { createMemoryJournal, createMemoryStore } from "../../../src/journal/memory.ts";
import { test } from "../../support/test.ts";

const MAX_IDS = 65_536;
const TOPICS = ["", "a", "b", "c", "rare"] as const;

function event(fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic: "", name: "", data: "", at: 0, ...fields };
}

function inRange(entries: readonly JournalEntry[], { after, upTo, topics }: JournalRange) {
  return entries.filter(({ offset, topic }) =>
    offset > after && offset <= (upTo ?? Infinity) && (topics === null || topics.includes(topic))
  );
}

test("every page and every count by topics is what a scan of what is held gives", async () => {
  const topic = fc.constantFrom(...TOPICS);
  const topics = fc.option(fc.array(topic, { maxLength: 6 }), { nil: null });
  const query = fc.record({ after: fc.nat(130), upTo: fc.nat(140), topics, limit: fc.nat(20) });
  await fc.assert(fc.asyncProperty(
    fc.array(topic, { maxLength: 120 }),
    fc.nat(130),
    fc.array(query, { minLength: 1, maxLength: 10 }),
    async (appended, maxEntries, queries) => {
      const journal = createMemoryJournal({ retention: { maxEntries } });
      const all: JournalEntry[] = [];
      for (const [n, each] of appended.entries()) {
        const { offset } = await journal.append(event({ topic: each, data: `${n}` }));
        all.push({ offset, ...event({ topic: each, data: `${n}` }) });
      }
      const held = all.slice(maxEntries === 0 ? 0 : -maxEntries);
      const floor = held[0]?.offset ?? 1;
      for (const { limit, ...range } of queries) {
        const wanted = inRange(held, range);
        const page = await journal.read({ ...range, limit: limit + 1 });
        assertEquals(page.entries, wanted.slice(0, limit + 1));
        const end = Math.max(range.after, Math.min(range.upTo, all.length));
        const cut = wanted.length > limit + 1;
        assertEquals(page.through, cut ? wanted[limit]?.offset : end);
        assertEquals([page.floor, page.head], [floor, all.length]);
        const count = await journal.count(range, limit + 1);
        assertEquals(Math.min(count, limit + 1), Math.min(wanted.length, limit + 1));
      }
      await journal.close();
    },
  ));
});

test("a bound of bytes that comes later concerns what came before it", async () => {
  const store = createMemoryStore({ retention: { maxAgeMs: 0 } });
  const journal = store.open();
  for (let n = 0; n < 10; n++) await journal.append(event({ data: "é".repeat(50) }));
  const tighter = store.open({ retention: { maxBytes: 350 } });
  assertEquals(await tighter.count({ after: 0, topics: null }, 99), 3);
  // All journals of a store have its bounds.
  assertEquals((await journal.window()).floor, 8);
  await tighter.append(event({ data: "x".repeat(151) }));
  assertEquals(await tighter.count({ after: 0, topics: null }, 99), 2);
  const wider = store.open({ retention: { maxAgeMs: 0 } });
  await wider.append(event({ data: "x".repeat(300) }));
  assertEquals(await wider.count({ after: 0, topics: null }, 99), 3);
  const again = store.open({ retention: { maxBytes: 451 } });
  assertEquals(await again.count({ after: 0, topics: null }, 99), 2);
});

test("an event above the bound of bytes takes its offset and is gone at once", async () => {
  const journal = createMemoryJournal({ retention: { maxBytes: 10 } });
  await journal.append(event({ data: "held" }));
  const { epoch, offset } = await journal.append(event({ data: "x".repeat(11) }));
  assertEquals([await journal.window(), offset], [{ epoch, floor: 3, head: 2 }, 2]);
});

test("the newest 65,536 ids are remembered, whether their entries are held or not", async () => {
  const journal = createMemoryJournal({ retention: { maxEntries: 10 } });
  const appends = Array.from(
    { length: MAX_IDS },
    (_, n) => journal.append(event({ id: `id-${n}` })),
  );
  await Promise.all(appends);
  assertEquals((await journal.append(event({ id: "id-0" }))).offset, 1);
  const head = (await journal.append(event({ id: "one more" }))).offset;
  assertEquals(head, MAX_IDS + 1);
  assertEquals((await journal.append(event({ id: "id-1" }))).offset, 2);
  assertEquals((await journal.append(event({ id: "id-0" }))).offset, head + 1);
});

test("a repetition after a rotation is stored again: nobody reads the first any more", async () => {
  const journal = createMemoryJournal();
  const first = await journal.append(event({ id: "id" }));
  const epoch = await journal.rotate(first.epoch);
  assertEquals(await journal.append(event({ id: "id" })), { epoch, offset: 2 });
});

test("an entry does not change with the object that was appended", async () => {
  const journal = createMemoryJournal();
  const given = { topic: "t", name: "n", data: "before", at: 1 };
  await journal.append(given);
  given.data = "after";
  const { entries } = await journal.read({ after: 0, topics: ["t"], limit: 9 });
  assertEquals(entries, [{ offset: 1, topic: "t", name: "n", data: "before", at: 1 }]);
});

test("bounds that make no sense are refused, and leave a store as it was", async () => {
  assertThrows(() => createMemoryJournal({ retention: { maxBytes: -1 } }), ConfigError);
  const store = createMemoryStore({ retention: { maxEntries: 2 } });
  assertThrows(() => store.open({ retention: { maxEntries: 0.5 } }), ConfigError);
  const journal = store.open();
  for (let n = 0; n < 5; n++) await journal.append(event());
  assertEquals(await journal.count({ after: 0, topics: null }, 9), 2);
});

test("two journals are apart, and what one was does not come back with the next", async () => {
  const [one, other] = [createMemoryJournal(), createMemoryJournal()];
  await one.append(event());
  assertEquals((await other.window()).head, 0);
  assertNotEquals((await one.window()).epoch, (await other.window()).epoch);
});
