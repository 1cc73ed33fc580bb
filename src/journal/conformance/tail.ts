/**
 * Following: everything once and in order, and no reader in the way of another.
 *
 * @module
 */
import type { Journal, JournalEntry } from "../journal.ts";
import { type Bench, type Draft, fill, plain } from "./bench.ts";
import { ensure, equal, sameEntries, within } from "./expect.ts";

/** More than any adapter reads at once. */
const LONG = 1300;

export const tailCases: readonly Draft[] = [
  {
    name: "a tail gives everything after its offset, once and in order, and then what is appended",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const old = await fill(journal, plain(30));
      const starts = [0, 1, 15, 29, 30].map((index) => ({ index, after: placeOf(old, index) }));
      const followers = starts.map(({ after }) => bench.follow(journal, { epoch, after }));
      for (const [n, { index }] of starts.entries()) {
        const seen = await followers[n]?.take(30 - index) ?? [];
        sameEntries(seen, old.slice(index), `a tail after entry ${index} to catch up`);
      }
      const fresh = await fill(journal, plain(30, 30));
      for (const [n, { index, after }] of starts.entries()) {
        const seen = await followers[n]?.take(60 - index) ?? [];
        sameEntries(seen, [...old, ...fresh].slice(index), `a tail after ${after} to go on`);
      }
    },
  },
  {
    name: "a tail of a new journal begins with its first entry",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const follower = bench.follow(journal, { epoch, after: 0 });
      for (const n of [1, 2, 3]) {
        const { offset } = await journal.append({ topic: "", name: "", data: `${n}`, at: n });
        equal((await follower.take(n)).at(-1)?.offset, offset, "what a waiting tail gave");
      }
    },
  },
  {
    name: "what is appended while a tail catches up is neither missed nor given twice",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const old = await fill(journal, plain(LONG));
      const follower = bench.follow(journal, { epoch, after: 0 });
      const fresh: JournalEntry[] = [];
      for (let n = 0; n < 60; n++) fresh.push(...await fill(journal, plain(1, LONG + n)));
      const seen = await follower.take(LONG + 60);
      sameEntries(seen, [...old, ...fresh], "a tail that caught up under appends");
    },
  },
  {
    name: "many tails that begin while others append all see the same",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const followers = [];
      const work: Promise<unknown>[] = [];
      for (let n = 0; n < 100; n++) {
        const appended = fill(journal, plain(1, n));
        // Seen to reject although another one may be awaited first.
        appended.catch(() => {});
        work.push(appended);
        if (n % 10 === 0) followers.push(bench.follow(journal, { epoch, after: 0 }));
        if (n % 7 === 0) await appended;
      }
      await Promise.all(work);
      const whole = (await journal.read({ after: 0, topics: null, limit: 1000 })).entries;
      equal(whole.length, 100, "how many are stored");
      for (const follower of followers) {
        sameEntries(await follower.take(100), whole, "a tail that began under appends");
      }
    },
  },
  {
    name: "two tails are independent: one that ends does not end the other",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const old = await fill(journal, plain(4));
      const one = bench.follow(journal, { epoch, after: 0 });
      const other = bench.follow(journal, { epoch, after: placeOf(old, 2) });
      await Promise.all([one.take(4), other.take(2)]);
      await one.stop();
      const fresh = await fill(journal, plain(4, 4));
      sameEntries(await other.take(6), [...old.slice(2), ...fresh], "the tail that is left");
      equal(one.entries.length, 4, "what the tail that ended has seen");
    },
  },
  {
    name: "a tail hears of what another opener appends",
    openers: "many",
    async body(bench) {
      const [one, other] = [await bench.open(), await bench.open()];
      const { epoch } = await one.window();
      const follower = bench.follow(one, { epoch, after: 0 });
      const expected: JournalEntry[] = [];
      for (let n = 0; n < 5; n++) {
        expected.push(...await fill(other, plain(1, n)));
        sameEntries(await follower.take(n + 1), expected, "a tail of what another one appends");
      }
    },
  },
  {
    name: "a reader that is slow holds neither a fast one nor an append, and misses nothing",
    body: async (bench) => await slowReader(bench, await bench.open()),
  },
];

/** The offset after which the entry with an index is the first. */
function placeOf(entries: readonly JournalEntry[], index: number): number {
  return entries[index - 1]?.offset ?? 0;
}

async function slowReader(bench: Bench, journal: Journal): Promise<void> {
  const { epoch } = await journal.window();
  const first = await fill(journal, plain(5));
  const abort = new AbortController();
  const tail = journal.tail({ epoch, after: 0, signal: abort.signal });
  const slow = tail[Symbol.asyncIterator]();
  const next = async (): Promise<readonly JournalEntry[]> => {
    const result = await within(slow.next(), bench.patienceMs, "a slow reader to be given a batch");
    ensure(result.done !== true, "the tail of a slow reader to go on");
    return result.value;
  };
  const seen = [...await next()];
  // It holds what it was given and does not ask for more.
  const fast = bench.follow(journal, { epoch, after: 0 });
  const more = await within(fill(journal, plain(LONG, 5)), bench.patienceMs, "the appends to end");
  const expected = [...first, ...more];
  sameEntries(await fast.take(expected.length), expected, "a fast reader beside a slow one");
  while (seen.length < expected.length) seen.push(...await next());
  sameEntries(seen, expected, "a slow reader, in the end");
  abort.abort();
  const last = await within(slow.next(), bench.patienceMs, "the slow reader to end");
  ensure(last.done === true, "no batch after the end");
}
