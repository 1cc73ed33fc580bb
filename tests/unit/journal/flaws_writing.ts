/**
 * What can be wrong where a journal is written, rotated and shared, and the case of the suite that
 * must say so.
 *
 * @module
 */
import { newEpoch } from "../../../src/journal/epoch.ts";
import type { Appended } from "../../../src/journal/journal.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";
import { bounded, type Change, type Flawed, inBytes, plain, storing, turns } from "./flawed.ts";

const DATA = "an entry comes back exactly as it was appended, whatever its data";
const WORDS = "an entry comes back exactly as it was appended, whatever its topic";

export const IN_APPENDS: readonly Flawed[] = [
  [
    "stores a repetition again",
    (journal) => ({ append: ({ id: _, ...event }) => journal.append(event) }),
    "an append that is repeated under its id",
  ],
  [
    "stores a repetition again while the first is under way",
    (journal) => {
      const known = new Map<string, Appended>();
      return {
        async append({ id = "", ...event }) {
          const answer = known.get(id);
          if (answer !== undefined) return answer;
          await turns(1);
          const appended = await journal.append(event);
          if (id !== "") known.set(id, appended);
          return appended;
        },
      };
    },
    "appends under one id that are under way at once",
  ],
  [
    "takes ids without their case",
    (journal) => ({
      append: ({ id, ...event }) =>
        journal.append(id === undefined ? event : { ...event, id: id.toLowerCase() }),
    }),
    "events that are equal but for their ids",
  ],
  [
    "takes the data for the id",
    (journal) => ({ append: (event) => journal.append({ ...event, id: event.data }) }),
    "events that are equal but for their ids",
  ],
  [
    "knows an id only where it was appended",
    (journal) => {
      const mine = crypto.randomUUID();
      return {
        append: ({ id, ...event }) =>
          journal.append(id === undefined ? event : { ...event, id: mine + id }),
      };
    },
    "an append is known by its id to another opener",
  ],
  [
    "stores a row of appends in another order",
    (journal) => {
      let n = 0;
      return {
        async append(event) {
          if (n++ % 5 === 0) await turns(2);
          return await journal.append(event);
        },
      };
    },
    "events appended in a row without waiting",
  ],
  [
    "answers with the wrong offset",
    (journal) => ({
      async append(event) {
        const { epoch, offset } = await journal.append(event);
        return { epoch, offset: offset + 1 };
      },
    }),
    "an append tells where the event was stored",
  ],
  [
    "answers before it has stored",
    (journal) => ({
      async append(event) {
        const { epoch, head } = await journal.window();
        turns(50).then(() => journal.append(event)).catch(() => {});
        return { epoch, offset: head + 1 };
      },
    }),
    "an append tells where the event was stored",
  ],
  ["cuts data at U+0000", storing((text) => text.replace(/\0.*/s, "")), DATA],
  ["makes CRLF of line ends", storing((text) => text.replace(/\r\n?|\n/g, "\r\n")), DATA],
  ["normalizes", storing((text) => text.normalize()), DATA],
  ["trims", storing((text) => text.trim()), DATA],
  ["drops a byte order mark", storing((text) => text.replace(/^\ufeff/, "")), DATA],
  [
    "drops 4-byte characters",
    storing((text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, "?")),
    DATA,
  ],
  [
    "reads numbers as numbers",
    storing((text) => /^\d+$/.test(text) ? String(Number(text)) : text),
    DATA,
  ],
  [
    "keeps seconds only",
    (journal) => ({
      append: ({ at, ...event }) => journal.append({ ...event, at: at - at % 1000 }),
    }),
    DATA,
  ],
  [
    "cuts topics",
    (journal) => ({
      append: ({ topic, ...event }) => journal.append({ ...event, topic: topic.slice(0, 255) }),
    }),
    WORDS,
  ],
  ["cuts large data", storing((text) => text.slice(0, 65_536)), "a mebibyte of data"],
  ["does not refuse what is too large", bounded(null), "an event above maxBytes"],
  ["counts characters for bytes", bounded((text) => text.length), "an event above maxBytes"],
  ["refuses the largest", bounded((text) => inBytes(text) + 1), "an event above maxBytes"],
];

export const IN_EPOCHS: readonly Flawed[] = [
  ["keeps the epoch", () => ({ rotate: (from) => Promise.resolve(from) }), "after a rotation"],
  [
    "tells a new epoch and keeps the old one",
    () => ({ rotate: () => Promise.resolve(newEpoch()) }),
    "after a rotation the head is as it was",
  ],
  [
    "rotates from any epoch",
    (journal) => ({
      rotate: async () => await journal.rotate((await journal.window()).epoch),
    }),
    "a rotation from an epoch that does not hold",
  ],
  [
    "compares and sets in two steps",
    (journal) => {
      let before: Promise<unknown> = Promise.resolve();
      return {
        async rotate(from) {
          const { epoch } = await journal.window();
          if (epoch !== from) return epoch;
          const set = before.then(async () => await journal.rotate((await journal.window()).epoch));
          before = set;
          return await set;
        },
      };
    },
    "of many rotations at once one changes",
  ],
  [
    "remembers the epoch that it opened with",
    (journal) => {
      const opened = journal.window().then(({ epoch }) => epoch);
      return {
        append: async (event) => ({ ...await journal.append(event), epoch: await opened }),
      };
    },
    "an empty journal can be rotated",
  ],
  [
    "tells another opener of no rotation",
    (journal) => {
      let known = journal.window().then(({ epoch }) => epoch);
      return {
        window: async () => ({ ...await journal.window(), epoch: await known }),
        async rotate(from) {
          const epoch = await journal.rotate(from);
          known = Promise.resolve(epoch);
          return epoch;
        },
      };
    },
    "another opener hears of a rotation",
  ],
];

export const WHEN_CLOSED: readonly Flawed[] = [
  ["never closes", () => ({ close: () => Promise.resolve() }), "whatever is asked of a closed"],
  [
    "says that it is away when it is closed",
    (journal) => ({
      count: (range, enough) =>
        journal.count(range, enough).catch(() => Promise.reject(new Error("not connected"))),
    }),
    "whatever is asked of a closed",
  ],
  [
    "does not close twice",
    (journal) => {
      let closed = false;
      return {
        close() {
          if (closed) return Promise.reject(new Error("it is closed"));
          closed = true;
          return journal.close();
        },
      };
    },
    "a journal may be closed again",
  ],
  [
    "drops what it was appending",
    (journal) => ({
      async append(event) {
        await turns(1);
        return await journal.append(event);
      },
    }),
    "closing finishes the appends",
  ],
];

const DEAF: Change = (journal) => {
  const mine = new Set<number>();
  return {
    async append(event) {
      const appended = await journal.append(event);
      mine.add(appended.offset);
      return appended;
    },
    async *tail(options) {
      for await (const batch of journal.tail(options)) {
        // An append is known when its promise has settled.
        await turns(3);
        const kept = batch.filter(({ offset }) => mine.has(offset));
        if (kept.length > 0) yield kept;
      }
    },
  };
};

const LATE: Change = (journal) => ({
  async *tail({ after, ...options }) {
    for (;;) {
      const page = await journal.read({ after, topics: null, limit: 2 });
      if (page.entries.length === 0) break;
      yield page.entries;
      after = page.through;
    }
    yield* journal.tail({ ...options, after });
  },
});

export const IN_COMPANY: readonly Flawed[] = [
  ["hears only of its own appends", DEAF, "many appenders through several openers"],
  ["hears only of its own appends, later", DEAF, "a tail hears of what another opener appends"],
  ["looks at its signal only when it waits", LATE, "a tail gives nothing more once its signal"],
  ["looks at its signal too late", LATE, "a tail whose signal has aborted gives nothing"],
  [
    "has a store of its own for each opener",
    () => plain(createMemoryStore().open()),
    "what one opener has appended",
  ],
  [
    "answers appends that are under way at once with one offset",
    (journal) => {
      let underWay: Promise<Appended> | null = null;
      return {
        async append(event) {
          const first = underWay;
          const appended = journal.append(event);
          underWay = first ?? appended;
          await turns(3);
          underWay = null;
          return await (first ?? appended);
        },
      };
    },
    "many appenders through one object",
  ],
  [
    "has one position for all its tails",
    (journal) => {
      let position = 0;
      return {
        async *tail(options) {
          const after = Math.max(position, options.after);
          for await (const batch of journal.tail({ ...options, after })) {
            position = batch.at(-1)?.offset ?? position;
            yield batch;
          }
        },
      };
    },
    "many tails that begin while others append",
  ],
  [
    "closes with a reader that leaves",
    (journal) => ({
      async *tail(options) {
        try {
          yield* journal.tail(options);
        } finally {
          await journal.close();
        }
      },
    }),
    "a reader may leave the loop",
  ],
];
