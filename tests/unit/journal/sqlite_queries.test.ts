import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JournalEntry } from "../../../src/journal/journal.ts";
import { eventOf, fileTest, watched } from "./sqlite_world.ts";

const TOPICS = ["", "a", "b", "c", "rare"];

fileTest("every statement that a journal runs finds its rows by an index", async (world) => {
  const statements = new Set<string>();
  const database = world.connect();
  const journal = await world.open(watched(database, (sql) => void statements.add(sql)), {
    retention: { maxEntries: 10 },
  });
  statements.clear();
  const { epoch } = await journal.window();
  for (let n = 0; n < 100; n++) {
    const id = `${n % 90}`;
    await journal.append(eventOf(`${n}`, { topic: n % 2 === 0 ? "a" : "b", id }));
  }
  for (const topics of [null, ["a"], ["a", "b"]]) {
    await journal.read({ after: 0, topics, limit: 100 });
    await journal.count({ after: 0, topics }, 100);
  }
  await journal.rotate(epoch);
  await journal.append(eventOf("x", { id: "5" }));

  let plans = 0;
  for (const sql of statements) {
    if (!/tidemark_entries/.test(sql)) continue;
    const values = Array.from(sql.matchAll(/\?/g), () => 1);
    for (const row of database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values)) {
      const { detail } = row as { readonly detail: string };
      plans++;
      // The record is one row. What LIMIT has already counted is counted again by its table.
      const small = detail === "SCAN j" || detail === "SCAN (subquery-1)" || detail === "SCAN 1";
      assert(!/SCAN|TEMP B-TREE/.test(detail) || small, `${sql}: ${detail}`);
    }
  }
  assert(plans > 8, `only ${plans} steps were seen`);
});

fileTest(
  "pages of many topics, joined, are every entry of theirs once and in order",
  async (world) => {
    const journal = await world.open(world.connect());
    // One topic that is in nearly every entry, and one that is in hardly any.
    const weights = [0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3];
    const topicOf = (n: number): string =>
      n % 397 === 5 ? "rare" : TOPICS[weights[n * 7 % 11] ?? 0] ?? "";
    const all: JournalEntry[] = await Promise.all(
      Array.from({ length: 1200 }, async (_, n) => {
        const { id: _id, ...event } = { id: undefined, ...eventOf(`${n}`, { topic: topicOf(n) }) };
        return { offset: (await journal.append(event)).offset, ...event };
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.subarray([...TOPICS, "nobody's"]),
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 0, max: 1200 }),
        fc.option(fc.integer({ min: 0, max: 1300 }), { nil: undefined }),
        async (topics, limit, start, upTo) => {
          const range = upTo === undefined ? {} : { upTo };
          const end = Math.min(upTo ?? Infinity, 1200);
          const read: string[] = [];
          let pages = 0;
          for (let after = start;;) {
            const page = await journal.read({ after, topics, limit, ...range });
            assert(page.entries.length <= limit);
            read.push(...page.entries.map(({ data }) => data));
            if (page.through >= end) break;
            assert(page.through > after, `a page after ${after} was through ${page.through}`);
            after = page.through;
            pages++;
          }
          const wanted = all.filter(({ topic, offset }) =>
            topics.includes(topic) && offset > start && offset <= end
          );
          assertEquals(read, wanted.map(({ data }) => data));
          assert(pages <= wanted.length + 1, `${pages} pages for ${wanted.length} entries`);
          const count = await journal.count({ after: start, topics, ...range }, 5000);
          assertEquals(count, wanted.length);
        },
      ),
      { numRuns: 100 },
    );
  },
);

fileTest("a page of large events ends before it fills the memory", async (world) => {
  const journal = await world.open(world.connect(), { synchronous: "normal" });
  const data = "x".repeat(512 * 1024);
  for (let n = 0; n < 80; n++) {
    await journal.append(eventOf(data, { topic: n % 2 === 0 ? "a" : "b" }));
  }
  for (const topics of [null, ["a", "b"], ["a"]]) {
    const page = await journal.read({ after: 0, topics, limit: 512 });
    assert(page.entries.length <= 64, `${page.entries.length} entries`);
    assertEquals(page.through, page.entries.at(-1)?.offset);
    const next = await journal.read({ after: page.through, topics, limit: 1 });
    assertEquals(next.entries[0]?.offset, page.through + (topics?.length === 1 ? 2 : 1));
  }
});
