import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import fc from "fast-check";
import { JournalEpochError, JournalGapError } from "../../../src/errors/journal.ts";
import { Bell } from "../../../src/journal/bell.ts";
import { checkPage, follow } from "../../../src/journal/follow.ts";
import type { JournalEntry, JournalPage, JournalQuery } from "../../../src/journal/journal.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { test } from "../../support/test.ts";

const EPOCH = "00000000000000aa";

/** Pages by hand: each read takes the next one, and the last one stays. */
class Pages {
  readonly queries: JournalQuery[] = [];
  readonly #pages: readonly Partial<JournalPage>[];

  constructor(...pages: readonly Partial<JournalPage>[]) {
    this.#pages = pages;
  }

  read(query: JournalQuery): Promise<JournalPage> {
    const page = this.#pages[Math.min(this.queries.push(query), this.#pages.length) - 1];
    return Promise.resolve({ epoch: EPOCH, floor: 1, head: 0, entries: [], through: 0, ...page });
  }
}

/** A bell that tells how often somebody waited for it. */
class CountingBell extends Bell {
  waits = 0;

  override wait(ms: number, signal: AbortSignal): Promise<void> {
    this.waits++;
    return super.wait(ms, signal);
  }
}

function entry(offset: number): JournalEntry {
  return { offset, topic: "", name: "", data: "", at: 0 };
}

test("an empty page that leads on is followed by the next one at once, not by a wait", async () => {
  const journal = new Pages(
    { head: 9, through: 4 },
    { head: 9, through: 8 },
    { head: 9, through: 9, entries: [entry(9)] },
  );
  const { signal } = new AbortController();
  const bell = new CountingBell();
  const tail = follow(journal, bell, { epoch: EPOCH, after: 0, signal });
  assertEquals((await tail.next()).value, [entry(9)]);
  assertEquals(bell.waits, 0);
  assertEquals(journal.queries.map(({ after }) => after), [0, 4, 8]);
  await tail.return();
});

test("a ring while a page is read is not slept through", async () => {
  const bell = new CountingBell();
  const pages = new Pages({}, { head: 1, through: 1, entries: [entry(1)] });
  const journal = {
    async read(query: JournalQuery): Promise<JournalPage> {
      const page = await pages.read(query);
      bell.ring();
      return page;
    },
  };
  const { signal } = new AbortController();
  const tail = follow(journal, bell, { epoch: EPOCH, after: 0, signal });
  assertEquals((await tail.next()).value, [entry(1)]);
  assertEquals(bell.waits, 0);
  await tail.return();
});

test("a quiet journal is looked at once a second, without a ring", async () => {
  const journal = new Pages({}, { epoch: "00000000000000bb" });
  const { signal } = new AbortController();
  const bell = new CountingBell();
  const tail = follow(journal, bell, { epoch: EPOCH, after: 0, signal });
  const error = await assertRejects(() => tail.next(), JournalEpochError);
  assertEquals(bell.waits, 1);
  assertEquals(error.found, { epoch: "00000000000000bb", offset: 0 });
  assertEquals(journal.queries.length, 2);
});

test("a page that arrives after the abort is given to nobody", async () => {
  const abort = new AbortController();
  const journal = {
    read(): Promise<JournalPage> {
      abort.abort();
      // Another epoch, too: who has gone need not know.
      const page = { epoch: "", floor: 1, head: 1, entries: [entry(1)], through: 1 };
      return Promise.resolve(page);
    },
  };
  const tail = follow(journal, new Bell(), { epoch: EPOCH, after: 0, signal: abort.signal });
  assertEquals(await tail.next(), { done: true, value: undefined });
});

test("what the store throws ends a tail as it is", async () => {
  const journal = { read: () => Promise.reject(new RangeError("on purpose")) };
  const { signal } = new AbortController();
  const tail = follow(journal, new Bell(), { epoch: EPOCH, after: 0, signal });
  await assertRejects(() => tail.next(), RangeError, "on purpose");
});

test("a page goes on exactly when epoch, head and floor allow it", () => {
  const number = fc.nat(6);
  const same = fc.boolean();
  fc.assert(fc.property(same, number, number, number, (isSame, floor, head, after) => {
    const epoch = isSame ? EPOCH : "00000000000000bb";
    let thrown: unknown = null;
    try {
      checkPage({ epoch, floor, head, entries: [], through: after }, EPOCH, after);
    } catch (error) {
      thrown = error;
    }
    if (!isSame || head < after) {
      assertInstanceOf(thrown, JournalEpochError);
      assertEquals(thrown.expected, { epoch: EPOCH, offset: after });
      assertEquals(thrown.found, { epoch, offset: head });
    } else if (floor > after + 1) {
      assertInstanceOf(thrown, JournalGapError);
      assertEquals([thrown.after, thrown.floor], [after, floor]);
    } else assertEquals(thrown, null);
  }));
});

test("every entry is given exactly once, whatever is appended between two batches", async () => {
  const lists = fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(lists, async (counts) => {
      const later = [...counts];
      const journal = createMemoryJournal();
      const { epoch } = await journal.window();
      const append = async (count: number): Promise<void> => {
        for (let n = 0; n < count; n++) {
          await journal.append({ topic: "", name: "", data: "", at: 0 });
        }
      };
      const abort = new AbortController();
      const seen: number[] = [];
      const total = counts.reduce((sum, count) => sum + count, 1);
      await append(1);
      for await (const batch of journal.tail({ epoch, after: 0, signal: abort.signal })) {
        seen.push(...batch.map(({ offset }) => offset));
        await append(later.shift() ?? 0);
        if (seen.length === total) abort.abort();
      }
      assertEquals(seen, Array.from({ length: total }, (_, index) => index + 1));
      await journal.close();
    }),
    { numRuns: 20 },
  );
});
