/**
 * Appending: the order, the numbers, many at once, and repetitions.
 *
 * @module
 */
import type { Appended, Journal, JournalEntry } from "../journal.ts";
import { asEntry, type Bench, type Draft, fill, makeEvent, plain, readAll } from "./bench.ts";
import { ensure, equal, sameEntries } from "./expect.ts";

/** How many append at once, and how often each does. */
const APPENDERS = 6;
const TIMES = 20;

export const appendCases: readonly Draft[] = [
  {
    name: "a new store has the floor 1, the head 0 and an epoch of 16 lowercase hex characters",
    async body(bench) {
      const journal = await bench.open();
      const { epoch, floor, head } = await journal.window();
      equal([floor, head], [1, 0], "floor and head");
      ensure(/^[0-9a-f]{16}$/.test(epoch), `an epoch of 16 lowercase hex characters, not ${epoch}`);
      ensure(journal.maxBytes > 0, `maxBytes above 0, it is ${journal.maxBytes}`);
      const page = await journal.read({ after: 0, topics: null, limit: 10 });
      equal([page.epoch, page.floor, page.head], [epoch, 1, 0], "the window of a page of nothing");
      equal([page.entries, page.through], [[], 0], "a page of nothing");
      equal(await journal.count({ after: 0, topics: null }, 10), 0, "the count of nothing");
    },
  },
  {
    name: "an append tells where the event was stored, and the window follows at once",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const expected: JournalEntry[] = [];
      for (const event of plain(5)) {
        const appended = await journal.append(event);
        const head = expected.at(-1)?.offset ?? 0;
        equal(appended.epoch, epoch, "the epoch of an append");
        ensure(
          Number.isSafeInteger(appended.offset) && appended.offset > head,
          `an offset above ${head}, it is ${appended.offset}`,
        );
        expected.push(asEntry(event, appended.offset));
        const window = await journal.window();
        equal([window.epoch, window.head], [epoch, appended.offset], "epoch and head");
        sameEntries(await readAll(journal), expected, "all that was appended to be read");
      }
    },
  },
  {
    name: "events appended in a row without waiting are stored in that order",
    async body(bench) {
      const journal = await bench.open();
      const expected = await fill(journal, plain(200));
      const offsets = expected.map(({ offset }) => offset);
      equal(offsets, [...new Set(offsets)].sort((a, b) => a - b), "the offsets in a row");
      sameEntries(await readAll(journal), expected, "the order of a row of appends");
    },
  },
  {
    name: "many appenders through one object lose, repeat and disorder nothing, for every tail",
    body: async (bench) => await manyAppend(bench, [await bench.open()]),
  },
  {
    name:
      "many appenders through several openers lose, repeat and disorder nothing, for every tail",
    openers: "many",
    async body(bench) {
      await manyAppend(bench, await Promise.all([bench.open(), bench.open(), bench.open()]));
    },
  },
  {
    name: "what one opener has appended is what another one reads next",
    openers: "many",
    async body(bench) {
      const [one, other] = [await bench.open(), await bench.open()];
      equal(await other.window(), await one.window(), "the window of another opener");
      const expected: JournalEntry[] = [];
      for (const [index, event] of plain(10).entries()) {
        const [from, to] = index % 2 === 0 ? [one, other] : [other, one];
        expected.push(asEntry(event, (await from.append(event)).offset));
        sameEntries(await readAll(to), expected, "another opener to read what was stored");
        equal((await to.window()).head, expected.at(-1)?.offset, "the head for another opener");
      }
    },
  },
  {
    name: "an append that is repeated under its id is stored once, and is told its first offset",
    async body(bench) {
      const journal = await bench.open();
      const event = makeEvent(1, { id: "order-1" });
      const first = await journal.append(event);
      equal(await journal.append(event), first, "the answer to a repetition");
      const between = makeEvent(2);
      const second = await journal.append(between);
      equal(await journal.append(event), first, "the answer to a later repetition");
      const third = await journal.append(makeEvent(3));
      const expected = [event, between, makeEvent(3)];
      await onceEach(journal, expected.map(({ data }) => data), [first, second, third]);
    },
  },
  {
    name: "appends under one id that are under way at once are stored once",
    async body(bench) {
      const journal = await bench.open();
      const event = makeEvent(1, { id: "~ !\"'{}$*.>" + "x".repeat(117) });
      const answers = await Promise.all(Array.from({ length: 8 }, () => journal.append(event)));
      const [first] = answers;
      for (const answer of answers) equal(answer, first, "each answer to one id");
      await onceEach(journal, [event.data], answers.slice(0, 1));
    },
  },
  {
    name: "an append is known by its id to another opener",
    openers: "many",
    async body(bench) {
      const [one, other] = [await bench.open(), await bench.open()];
      const event = makeEvent(1, { id: "order-1" });
      const first = await one.append(event);
      equal(await other.append(event), first, "the answer to a repetition by another opener");
      const both = makeEvent(2, { id: "order-2" });
      const answers = await Promise.all([one.append(both), other.append(both)]);
      equal(answers[0], answers[1], "the answers to two openers at once");
      await onceEach(other, [event.data, both.data], [first, answers[0]]);
    },
  },
  {
    name: "an append is known by its id after the journal was opened again",
    async body(bench) {
      const journal = await bench.open();
      const event = makeEvent(1, { id: "order-1" });
      const first = await journal.append(event);
      const again = await bench.reopen(journal);
      equal(await again.append(event), first, "the answer to a repetition after opening again");
      await onceEach(again, [event.data], [first]);
    },
  },
  {
    name: "events that are equal but for their ids, or have none, are stored each",
    async body(bench) {
      const journal = await bench.open();
      const event = makeEvent(1);
      const same = [event, event, { ...event, id: "a" }, { ...event, id: "A" }];
      const expected = await fill(journal, same);
      sameEntries(await readAll(journal), expected, "each of the equal events to be stored");
      equal(new Set(expected.map(({ offset }) => offset)).size, 4, "how many offsets there are");
    },
  },
];

/** Appends from many sides at once, and compares what was answered, what is read and what tails saw. */
async function manyAppend(bench: Bench, journals: readonly Journal[]): Promise<void> {
  const [first] = journals;
  if (first === undefined) throw new Error("Cannot append: no journal is open");
  const { epoch } = await first.window();
  const followers = [...journals, ...journals].map((journal) =>
    bench.follow(journal, { epoch, after: 0 })
  );
  const stored = new Map<number, string>();
  const work = Array.from({ length: APPENDERS }, async (_, who) => {
    const journal = journals[who % journals.length] ?? first;
    let before = 0;
    for (let n = 0; n < TIMES; n++) {
      const data = `appender ${who}, event ${n}`;
      const { offset } = await journal.append(makeEvent(n, { data }));
      ensure(offset > before, `each offset of one appender above ${before}, it is ${offset}`);
      ensure(!stored.has(offset), `the offset ${offset} to be given once`);
      stored.set(offset, data);
      before = offset;
    }
  });
  await Promise.all(work);
  const entries = await readAll(first);
  equal(
    entries.map(({ offset, data }) => [offset, data]),
    [...stored].sort(([a], [b]) => a - b),
    "what is read of many appenders",
  );
  for (const follower of followers) {
    sameEntries(await follower.take(APPENDERS * TIMES), entries, "every tail to see one order");
  }
}

/** Expects these and no more, at the places that the appends were told. */
async function onceEach(
  journal: Journal,
  data: readonly string[],
  appended: readonly Appended[],
): Promise<void> {
  const entries = await readAll(journal);
  equal(entries.map((entry) => entry.data), data, "what is stored");
  equal(entries.map(({ offset }) => offset), appended.map(({ offset }) => offset), "the offsets");
}
