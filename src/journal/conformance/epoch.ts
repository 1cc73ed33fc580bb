/**
 * The epoch: what keeps it, and how it is changed on purpose.
 *
 * @module
 */
import { JournalEpochError, JournalGapError } from "../../errors/journal.ts";
import type { Appended, Journal } from "../journal.ts";
import { type Bench, type Draft, fill, makeEvent, plain, readAll, TELLS_MS } from "./bench.ts";
import { ensure, equal, sameEntries } from "./expect.ts";
import { empty } from "./retention.ts";

export const epochCases: readonly Draft[] = [
  {
    name: "opening again keeps epoch, floor, head and every entry, and the numbering goes on",
    async body(bench) {
      let journal = await bench.open();
      const { epoch } = await journal.window();
      const expected = await fill(journal, plain(3));
      for (let times = 0; times < 3; times++) {
        const before = await journal.window();
        journal = await bench.reopen(journal);
        equal(await journal.window(), before, "the window after opening again");
        sameEntries(await readAll(journal), expected, "the entries after opening again");
        const follower = bench.follow(journal, { epoch, after: 0 });
        expected.push(...await fill(journal, plain(2, expected.length)));
        sameEntries(await follower.take(expected.length), expected, "a tail after opening again");
      }
    },
  },
  {
    name: "an empty store keeps its epoch when it is opened again",
    async body(bench) {
      const journal = await bench.open();
      const before = await journal.window();
      equal(await (await bench.reopen(journal)).window(), before, "the window of an empty store");
    },
  },
  {
    name: "two stores have two epochs",
    async body(bench) {
      const other = await bench.subject.makeStore();
      try {
        const journal = await other.open({ retention: {} });
        const { epoch } = await journal.window();
        await journal.close();
        const mine = (await (await bench.open()).window()).epoch;
        ensure(epoch !== mine, `two epochs, both are ${epoch}`);
      } finally {
        await other.dispose();
      }
    },
  },
  {
    name: "after a rotation the head is as it was, and nothing of the old epoch is readable",
    async body(bench) {
      const journal = await bench.open();
      const old = (await journal.window()).epoch;
      const entries = await fill(journal, plain(10).map((event) => ({ ...event, topic: "t" })));
      const head = entries.at(-1)?.offset ?? 0;
      const epoch = await journal.rotate(old);
      ensure(/^[0-9a-f]{16}$/.test(epoch) && epoch !== old, `a new epoch, not ${epoch}`);
      await empty(journal, epoch, head);
      equal(await journal.count({ after: 0, topics: ["t"] }, 9), 0, "the count of a topic");
      sameEntries(await readAll(journal, ["t"]), [], "the entries of a topic after a rotation");
      const fresh = await fill(journal, plain(5, 10).map((event) => ({ ...event, topic: "t" })));
      ensure((fresh[0]?.offset ?? 0) > head, `an offset above ${head}, not ${fresh[0]?.offset}`);
      for (const topics of [null, ["t"]]) {
        sameEntries(await readAll(journal, topics), fresh, "only what is new to be readable");
        equal(await journal.count({ after: 0, topics }, 99), 5, "the count of what is new");
      }
      const again = await bench.reopen(journal);
      equal((await again.window()).epoch, epoch, "the epoch after opening again");
      sameEntries(await readAll(again), fresh, "only what is new to be readable, later too");
    },
  },
  {
    name: "an empty journal can be rotated, and one that has just been",
    async body(bench) {
      const journal = await bench.open();
      const epochs = [(await journal.window()).epoch];
      for (let times = 0; times < 3; times++) {
        epochs.push(await journal.rotate(epochs.at(-1) ?? ""));
        await empty(journal, epochs.at(-1) ?? "", 0);
      }
      equal(new Set(epochs).size, 4, "how many epochs there were");
      const { epoch } = await journal.append(makeEvent(1));
      equal(epoch, epochs.at(-1), "the epoch of an append after rotations");
    },
  },
  {
    name: "a rotation from an epoch that does not hold changes nothing, and tells what holds",
    async body(bench) {
      const journal = await bench.open();
      const old = (await journal.window()).epoch;
      const epoch = await journal.rotate(old);
      const entries = await fill(journal, plain(3));
      const before = await journal.window();
      for (const stale of [old, "0".repeat(16), "f".repeat(16)]) {
        equal(await journal.rotate(stale), epoch, "the answer to a stale rotation");
        equal(await journal.window(), before, "the window after a stale rotation");
      }
      sameEntries(await readAll(journal), entries, "the entries after a stale rotation");
    },
  },
  {
    name: "of many rotations at once one changes the epoch, and all are told the same",
    async body(bench) {
      const journals = await openSome(bench);
      for (let round = 0; round < 5; round++) {
        const old = await epochOf(journals[0]);
        const asked = [...journals, ...journals, ...journals].map((journal) => journal.rotate(old));
        const told = new Set(await Promise.all(asked));
        equal(told.size, 1, "how many epochs the rotations were told");
        ensure(!told.has(old), `another epoch than ${old}`);
        for (const journal of journals) {
          ensure(told.has(await epochOf(journal)), "the epoch that was told to hold");
        }
      }
    },
  },
  {
    name: "a rotation ends each tail of the old epoch; a tail of the new one goes on from the head",
    async body(bench) {
      const journals = await openSome(bench);
      const [journal] = journals;
      if (journal === undefined) throw new Error("Cannot rotate: no journal is open");
      const old = await epochOf(journal);
      const entries = await fill(journal, plain(4));
      const head = entries.at(-1)?.offset ?? 0;
      const running = journals.map((each) => bench.follow(each, { epoch: old, after: 0 }));
      for (const follower of running) await follower.take(4);
      const epoch = await journal.rotate(old);
      for (const follower of running) {
        const error = await follower.fails(JournalEpochError, TELLS_MS);
        equal([error.expected.epoch, error.found.epoch], [old, epoch], "the old and the new epoch");
      }
      await bench.follow(journal, { epoch: old, after: head }).fails(JournalEpochError, TELLS_MS);
      // Below the floor of the new epoch is what it may not be shown.
      await bench.follow(journal, { epoch, after: 0 }).fails(JournalGapError, TELLS_MS);
      const fresh = journals.map((each) => bench.follow(each, { epoch, after: head }));
      const next = await fill(journal, plain(2, 4));
      for (const follower of fresh) {
        sameEntries(await follower.take(2), next, "a tail of the new epoch");
      }
    },
  },
  {
    name: "another opener hears of a rotation: at once in its window, soon in its appends",
    openers: "many",
    async body(bench) {
      const [one, other] = [await bench.open(), await bench.open()];
      await fill(one, plain(2));
      await fill(other, plain(2));
      const epoch = await one.rotate(await epochOf(one));
      equal(await epochOf(other), epoch, "the epoch in the window of another opener");
      let n = 0;
      const told = async (): Promise<true | undefined> =>
        (await other.append(makeEvent(n++))).epoch === epoch ? true : undefined;
      await bench.eventually(told, "an append of another opener to be told the new epoch");
    },
  },
  {
    name: "no epoch and offset are given twice while appends and rotations go on at once",
    async body(bench) {
      const journals = await openSome(bench);
      const appended: Appended[] = [];
      const append = async (journal: Journal, from: number): Promise<void> => {
        for (let n = 0; n < 30; n++) appended.push(await journal.append(makeEvent(from + n)));
      };
      const rotate = async (journal: Journal): Promise<void> => {
        for (let n = 0; n < 5; n++) await journal.rotate(await epochOf(journal));
      };
      await Promise.all(journals.flatMap((each, n) => [append(each, n * 100), rotate(each)]));
      const pairs = appended.map(({ epoch, offset }) => `${epoch}:${offset}`);
      equal(new Set(pairs).size, appended.length, "how many places were given");
      const head = Math.max(...appended.map(({ offset }) => offset));
      equal((await journals[0]?.window())?.head, head, "the head in the end");
    },
  },
];

/** Two journals where the store has room for two, else one. */
async function openSome(bench: Bench): Promise<Journal[]> {
  const one = await bench.open();
  return bench.subject.openers === "many" ? [one, await bench.open()] : [one];
}

async function epochOf(journal: Journal | undefined): Promise<string> {
  return (await journal?.window())?.epoch ?? "";
}
