/**
 * Opening and closing.
 *
 * @module
 */
import type { Journal } from "../journal.ts";
import { type Bench, type Draft, fill, makeEvent, plain, readAll } from "./bench.ts";
import { ensure, equal, faults, sameEntries, within } from "./expect.ts";

export const closeCases: readonly Draft[] = [
  {
    name: "whatever is asked of a closed journal is rejected with the fault closed",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      await fill(journal, plain(2));
      await within(journal.close(), bench.patienceMs, "the journal to close");
      const asked: Readonly<Record<string, () => Promise<unknown>>> = {
        window: () => journal.window(),
        append: () => journal.append(makeEvent(1)),
        read: () => journal.read({ after: 0, topics: null, limit: 1 }),
        count: () => journal.count({ after: 0, topics: null }, 1),
        rotate: () => journal.rotate(epoch),
        tail() {
          const { signal } = new AbortController();
          return journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]().next();
        },
      };
      for (const [name, ask] of Object.entries(asked)) {
        const what = `${name} on a closed journal`;
        await faults(within(ask(), bench.patienceMs, `${what} to settle`), "closed", what);
      }
      const again = await bench.open();
      equal(await again.count({ after: 0, topics: null }, 9), 2, "the count after all that");
      equal((await again.window()).epoch, epoch, "the epoch after all that");
    },
  },
  {
    name: "a journal may be closed again, and twice at once",
    async body(bench) {
      const journal = await bench.open();
      await fill(journal, plain(1));
      await within(closeTwice(journal), bench.patienceMs, "a journal to close twice at once");
      await within(closeTwice(journal), bench.patienceMs, "a journal to close again");
      equal(await (await bench.open()).count({ after: 0, topics: null }, 9), 1, "the count");
    },
  },
  {
    name: "closing finishes the appends that have begun",
    async body(bench) {
      const journal = await bench.open();
      const filling = fill(journal, plain(50));
      const closing = within(journal.close(), bench.patienceMs, "the journal to close");
      const ending = within(filling, bench.patienceMs, "the appends to end");
      const [entries] = await Promise.all([ending, closing]);
      sameEntries(await readAll(await bench.open()), entries, "what was appended before closing");
    },
  },
  {
    name: "a second opener is refused as locked while the first has it, and not afterwards",
    openers: "one",
    async body(bench) {
      const journal = await bench.open();
      const entries = await fill(journal, plain(2));
      for (let times = 0; times < 2; times++) {
        await faults(bench.open(), "locked", "a second opener");
      }
      entries.push(...await fill(journal, plain(1, 2)));
      sameEntries(await readAll(journal), entries, "the first opener not to mind");
      const again = await bench.reopen(journal);
      sameEntries(await readAll(again), entries, "the second opener, in its turn");
    },
  },
  {
    name: "an opener that closes leaves the others as they were",
    openers: "many",
    async body(bench) {
      const [one, other] = [await bench.open(), await bench.open()];
      const before = await other.window();
      const follower = bench.follow(other, { epoch: before.epoch, after: 0 });
      const entries = await fill(one, plain(2));
      await follower.take(2);
      await within(one.close(), bench.patienceMs, "one of two journals to close");
      entries.push(...await fill(other, plain(2, 2)));
      sameEntries(await follower.take(4), entries, "the tail of the other opener");
      sameEntries(await readAll(other), entries, "what the other opener reads");
      await allClosedAndOpened(bench, other);
    },
  },
  {
    name: "a store that an unknown version wrote is refused clearly, again and again",
    hooks: ["foreignFormat"],
    async body(bench) {
      const journal = await bench.open();
      await fill(journal, plain(2));
      await within(journal.close(), bench.patienceMs, "the journal to close");
      await bench.store.foreignFormat?.();
      for (let times = 0; times < 2; times++) {
        await faults(bench.open(), "format", "opening what an unknown version wrote");
      }
    },
  },
];

async function closeTwice(journal: Journal): Promise<void> {
  await Promise.all([journal.close(), journal.close()]);
}

async function allClosedAndOpened(bench: Bench, last: Journal): Promise<void> {
  const before = await last.window();
  const again = await bench.reopen(last);
  equal(await again.window(), before, "the window after all had closed");
  ensure(before.head > 0, "a head above 0");
}
