/**
 * Retention: the oldest leave, the numbering stays.
 *
 * @module
 */
import type { Journal, JournalEntry, JournalWindow } from "../journal.ts";
import { type Bench, type Draft, fill, makeEvent, plain, readAll } from "./bench.ts";
import { ensure, equal, sameEntries } from "./expect.ts";

/** Short, for it is waited for; long enough that a store's own clock ticks within. */
const AGE_MS = 1000;

const encoder = new TextEncoder();

export const retentionCases: readonly Draft[] = [
  {
    name: "retention by entries keeps the newest, moves the floor and keeps epoch and head",
    async body(bench) {
      const journal = await bench.open({ maxEntries: 10 });
      const before = await journal.window();
      const entries = await fill(journal, plain(35));
      await holds(bench, journal, entries.slice(-10));
      const { epoch, head } = await journal.window();
      equal([epoch, head], [before.epoch, entries.at(-1)?.offset], "epoch and head");
    },
  },
  {
    name: "what is within every bound is kept",
    async body(bench) {
      const bounds = { maxEntries: 20, maxBytes: 1_000_000, maxAgeMs: 600_000 };
      const journal = await bench.open(bounds);
      const entries = await fill(journal, plain(20));
      await bench.store.trim?.();
      sameEntries(await readAll(journal), entries, "what no bound concerns to be kept");
      equal((await journal.window()).floor <= (entries[0]?.offset ?? 0), true, "the floor is low");
      const again = await bench.reopen(journal, bounds);
      sameEntries(await readAll(again), entries, "it to be kept after reopening");
    },
  },
  {
    name: "retention by bytes keeps no more than its bound, and not much less",
    async body(bench) {
      const maxBytes = 40_000;
      const journal = await bench.open({ maxBytes });
      const { epoch } = await journal.window();
      const data = "é".repeat(1000);
      const events = plain(60).map((event) => ({ ...event, data }));
      const entries = await fill(journal, events);
      const size = async (): Promise<number> => bytesOf(await readAll(journal));
      const { floor, head, epoch: after } = await bench.trimmed(
        journal,
        async () => await size() <= maxBytes,
        `at most ${maxBytes} bytes to be held`,
      );
      const held = await readAll(journal);
      equal([after, head], [epoch, entries.at(-1)?.offset], "epoch and head");
      sameEntries(held, entries.slice(entries.length - held.length), "the newest to be held");
      ensure(floor <= (held[0]?.offset ?? 0), `the floor ${floor} to be at the first that is held`);
      // A store may count what it adds to each entry.
      ensure(bytesOf(held) >= maxBytes / 2, `at least half of the bytes, not ${bytesOf(held)}`);
    },
  },
  {
    name: "retention by age empties a quiet journal, no earlier, and the numbering goes on",
    async body(bench) {
      const journal = await bench.open({ maxAgeMs: AGE_MS });
      const { epoch } = await journal.window();
      const started = performance.now();
      const entries = await fill(journal, plain(5));
      const head = entries.at(-1)?.offset ?? 0;
      let left: number | undefined;
      const check = (window: JournalWindow): boolean => {
        const { floor } = window;
        equal(window.head, head, "the head while entries leave");
        if (floor > (entries[0]?.offset ?? 0)) left ??= performance.now() - started;
        return floor > head;
      };
      await bench.trimmed(journal, check, "the old entries to leave");
      // The first was stored after the start; two clocks may differ a little.
      ensure(
        (left ?? 0) > AGE_MS * 0.9,
        `none to leave before ${AGE_MS} ms, one had after ${left}`,
      );
      await empty(journal, epoch, head);
      const again = await bench.reopen(journal, { maxAgeMs: AGE_MS });
      await empty(again, epoch, head);
      const [next] = await fill(again, plain(1, 5));
      ensure((next?.offset ?? 0) > head, `an offset above ${head}, not ${next?.offset}`);
      equal((await again.window()).epoch, epoch, "the epoch after trimming to nothing");
    },
  },
  {
    name: "a read and a count of what was trimmed give what is left, and the floor shows the hole",
    async body(bench) {
      const journal = await bench.open({ maxEntries: 6 });
      const topicOf = (n: number): string => n % 3 === 0 ? "third" : "";
      const events = plain(30).map((event, n) => ({ ...event, topic: topicOf(n) }));
      const entries = await fill(journal, events);
      const held = entries.slice(-6);
      await holds(bench, journal, held);
      for (const topics of [null, ["third"], ["", "third"], ["none"]]) {
        const wanted = held.filter(({ topic }) => topics === null || topics.includes(topic));
        const page = await journal.read({ after: 1, topics, limit: 100 });
        sameEntries(page.entries, wanted, `what is left of ${JSON.stringify(topics)}`);
        ensure(page.floor > 2, `a floor that shows the hole after 1, not ${page.floor}`);
        equal(await journal.count({ after: 1, topics }, 100), wanted.length, "the count of it");
      }
      const upTo = entries[9]?.offset ?? 0;
      const gone = await journal.read({ after: 1, upTo, topics: null, limit: 100 });
      equal(gone.entries, [], "what is left of a range that was trimmed");
      equal(await journal.count({ after: 1, upTo, topics: null }, 100), 0, "its count");
    },
  },
  {
    name: "a tighter bound, given when the journal is opened again, concerns what it holds",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const entries = await fill(journal, plain(12));
      const again = await bench.reopen(journal, { maxEntries: 4 });
      entries.push(...await fill(again, plain(1, 12)));
      await holds(bench, again, entries.slice(-4));
      const wide = await bench.reopen(again, { maxEntries: 100 });
      sameEntries(await readAll(wide), entries.slice(-4), "what has left to stay away");
      const window = await wide.window();
      equal([window.epoch, window.head], [epoch, entries.at(-1)?.offset], "epoch and head");
    },
  },
  {
    name: "a tail at the head goes on while retention trims behind it",
    async body(bench) {
      const journal = await bench.open({ maxEntries: 3 });
      const { epoch } = await journal.window();
      const follower = bench.follow(journal, { epoch, after: 0 });
      const expected: JournalEntry[] = [];
      for (let n = 0; n < 12; n++) {
        expected.push(...await fill(journal, [makeEvent(n)]));
        sameEntries(await follower.take(n + 1), expected, "a tail before the trimming");
      }
      await holds(bench, journal, expected.slice(-3));
    },
  },
];

/** Waits until a journal holds exactly these, and expects the window to say so. */
async function holds(
  bench: Bench,
  journal: Journal,
  entries: readonly JournalEntry[],
): Promise<void> {
  const { floor } = await bench.trimmed(
    journal,
    async () => await journal.count({ after: 0, topics: null }, 1000) <= entries.length,
    `at most ${entries.length} entries to be held`,
  );
  sameEntries(await readAll(journal), entries, "exactly the newest to be held");
  const first = entries[0]?.offset ?? 0;
  ensure(floor <= first && floor > 1, `a floor from 2 to ${first}, not ${floor}`);
}

/** Expects a journal that held something and holds nothing. */
export async function empty(journal: Journal, epoch: string, head: number): Promise<void> {
  const window = await journal.window();
  equal([window.epoch, window.floor, window.head], [epoch, head + 1, head], "the empty window");
  for (const after of [0, head]) {
    const page = await journal.read({ after, topics: null, limit: 10 });
    equal([page.entries, page.floor, page.through], [[], head + 1, head], "the empty page");
    equal(await journal.count({ after, topics: null }, 10), 0, "the empty count");
  }
}

function bytesOf(entries: readonly JournalEntry[]): number {
  let bytes = 0;
  for (const { topic, name, data } of entries) {
    bytes += encoder.encode(topic + name + data).length;
  }
  return bytes;
}
