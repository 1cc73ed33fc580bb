/**
 * What can be wrong where a journal is read, and the case of the suite that must say so.
 *
 * @module
 */
import { JournalEpochError, JournalGapError } from "../../../src/errors/journal.ts";
import type { JournalEntry } from "../../../src/journal/journal.ts";
import { type Change, type Flawed, retold, tailing } from "./flawed.ts";

const DROP_SEVENTH: Change = (journal) => ({
  async *tail(options) {
    let seen = 0;
    for await (const batch of journal.tail(options)) {
      const kept = batch.filter(() => ++seen % 7 !== 0);
      if (kept.length > 0) yield kept;
    }
  },
});

export const IN_TAILS: readonly Flawed[] = [
  ["drops every seventh entry", DROP_SEVENTH, "a tail gives everything after its offset"],
  [
    "gives a batch twice",
    tailing((batch) => [batch, batch]),
    "a tail gives everything after its offset",
  ],
  [
    "gives a batch backwards",
    tailing((batch) => [batch.toReversed()]),
    "a tail gives everything after its offset",
  ],
  ["gives empty batches", tailing((batch) => [batch, []]), "a tail of a new journal begins"],
  [
    "begins one entry too early",
    retold((options) => ({ ...options, after: Math.max(0, options.after - 1) })),
    "a tail gives everything after its offset",
  ],
  [
    "begins at the head",
    (journal) => ({
      async *tail(options) {
        const { head } = await journal.window();
        yield* journal.tail({ ...options, after: Math.max(head, options.after) });
      },
    }),
    "a tail gives everything after its offset",
  ],
  [
    "misses what is appended before it waits",
    (journal) => ({
      async *tail(options) {
        for await (const batch of journal.tail(options)) {
          yield batch;
          if (batch.length < 512) break;
        }
        const { head } = await journal.window();
        yield* journal.tail({ ...options, after: head });
      },
    }),
    "what is appended while a tail catches up",
  ],
  [
    "goes on after its signal aborted",
    retold((options) => ({ ...options, signal: new AbortController().signal })),
    "a tail that waits ends quietly",
  ],
  [
    "throws when its signal aborts",
    (journal) => ({
      async *tail(options) {
        yield* journal.tail(options);
        options.signal.throwIfAborted();
      },
    }),
    "a tail that waits ends quietly",
  ],
  [
    "believes in whatever epoch there is",
    (journal) => ({
      async *tail(options) {
        yield* journal.tail({ ...options, epoch: (await journal.window()).epoch });
      },
    }),
    "a tail of another epoch is refused",
  ],
  [
    "waits beyond the head",
    (journal) => ({
      async *tail(options) {
        const { head } = await journal.window();
        yield* journal.tail({ ...options, after: Math.min(head, options.after) });
      },
    }),
    "a tail from beyond the head is refused",
  ],
  [
    "skips what was trimmed without a word",
    (journal) => ({
      async *tail(options) {
        const { floor } = await journal.window();
        yield* journal.tail({ ...options, after: Math.max(floor - 1, options.after) });
      },
    }),
    "a tail from before the floor is told of the gap",
  ],
  [
    "skips what retention trimmed while its reader was slow",
    (journal) => ({
      async *tail(options) {
        for (let after = options.after;;) {
          const { floor } = await journal.window();
          after = Math.max(after, floor - 1);
          const page = await journal.read({ after, topics: null, limit: 512 });
          after = page.through;
          if (page.entries.length > 0) yield page.entries;
          else return;
        }
      },
    }),
    "a reader that retention has passed",
  ],
  [
    "lets a slow reader hold an append",
    (journal) => {
      let held = Promise.resolve();
      return {
        append: (event) => held.then(() => journal.append(event)),
        async *tail(options) {
          for await (const batch of journal.tail(options)) {
            let taken = (): void => {};
            held = new Promise((resolve) => taken = resolve);
            yield batch;
            taken();
          }
        },
      };
    },
    "a reader that is slow holds neither",
  ],
  [
    "ends quietly when the journal closes",
    (journal) => ({
      async *tail(options) {
        try {
          yield* journal.tail(options);
        } catch {
          // As an adapter that takes every failure for the end.
        }
      },
    }),
    "closing does not wait for a slow reader",
  ],
  [
    "ends with another tail",
    (journal) => {
      const shared = new AbortController();
      return {
        async *tail(options) {
          const signal = AbortSignal.any([options.signal, shared.signal]);
          options.signal.addEventListener("abort", () => shared.abort());
          yield* journal.tail({ ...options, signal });
        },
      };
    },
    "two tails are independent",
  ],
];

export const IN_READS: readonly Flawed[] = [
  [
    "ignores upTo",
    (journal) => ({ read: ({ upTo: _, ...query }) => journal.read(query) }),
    "a page begins after its offset, and ends with upTo",
  ],
  [
    "ignores upTo in a count",
    (journal) => ({ count: ({ upTo: _, ...range }, enough) => journal.count(range, enough) }),
    "a count is what reading gives",
  ],
  [
    "ignores the limit",
    (journal) => ({ read: (query) => journal.read({ ...query, limit: 1e9 }) }),
    "pages of every size",
  ],
  [
    "takes after as inclusive",
    (journal) => ({
      read: (query) => journal.read({ ...query, after: Math.max(0, query.after - 1) }),
    }),
    "pages of every size",
  ],
  [
    "compares topics without their case",
    (journal) => ({
      read: ({ topics, ...query }) =>
        journal.read({ ...query, topics: topics?.flatMap((t) => [t, t.toUpperCase()]) ?? null }),
    }),
    "a page is of exactly the topics",
  ],
  [
    "takes no topics for all",
    (journal) => ({
      read: ({ topics, ...query }) =>
        journal.read({ ...query, topics: topics?.length === 0 ? null : topics }),
    }),
    "a page is of exactly the topics",
  ],
  [
    "counts every topic",
    (journal) => ({
      count: (range, enough) => journal.count({ ...range, topics: null }, enough),
    }),
    "a count is what reading gives",
  ],
  [
    "counts more than there are",
    (journal) => ({
      count: async (range, enough) => await journal.count(range, enough) >= enough ? 1e9 : 0,
    }),
    "a count is what reading gives",
  ],
  [
    "stops counting too early",
    (journal) => ({
      count: async (range, enough) => Math.min(enough - 1, await journal.count(range, enough)),
    }),
    "a count is what reading gives",
  ],
  [
    "makes no progress over what does not match",
    (journal) => ({
      async read(query) {
        const page = await journal.read(query);
        return { ...page, through: page.entries.at(-1)?.offset ?? query.after };
      },
    }),
    "a reader of a rare topic",
  ],
  [
    "claims to have read to the end",
    (journal) => ({
      async read(query) {
        const page = await journal.read(query);
        return { ...page, through: Math.max(query.after, page.head) };
      },
    }),
    "pages of every size",
  ],
  [
    "claims to have read beyond the head",
    (journal) => ({
      async read(query) {
        const page = await journal.read(query);
        const whole = page.through === page.head;
        return whole ? { ...page, through: Math.max(page.head, query.upTo ?? 0) } : page;
      },
    }),
    "a page that ends at the head does not pass",
  ],
  [
    "goes back on a page beyond the head",
    (journal) => ({
      async read(query) {
        const page = await journal.read(query);
        return { ...page, through: Math.min(page.through, page.head) };
      },
    }),
    "a page beyond the head is empty",
  ],
  [
    "tells an older head with a page",
    (journal) => ({
      async read(query) {
        const page = await journal.read(query);
        return { ...page, head: Math.max(page.through, page.head - 1) };
      },
    }),
    "a page carries the window",
  ],
];

export const IN_WINDOWS: readonly Flawed[] = [
  [
    "has the floor 0 when it is new",
    (journal) => ({
      async window() {
        const window = await journal.window();
        return { ...window, floor: window.head === 0 ? 0 : window.floor };
      },
    }),
    "a new store has the floor 1",
  ],
  [
    "has the same epoch as any other",
    (journal) => ({
      window: async () => ({ ...await journal.window(), epoch: "0123456789abcdef" }),
    }),
    "two stores have two epochs",
  ],
  [
    "counts what it has trimmed",
    (journal) => {
      const all: Pick<JournalEntry, "offset" | "topic">[] = [];
      return {
        async append(event) {
          const appended = await journal.append(event);
          all.push({ offset: appended.offset, topic: event.topic });
          return appended;
        },
        // Right for every range that begins at the floor.
        async count({ after, upTo = Infinity, topics }, enough) {
          if (after === 0) return await journal.count({ after, upTo, topics }, enough);
          return all.filter(({ offset, topic }) =>
            offset > after && offset <= upTo && (topics === null || topics.includes(topic))
          ).length;
        },
      };
    },
    "a read and a count of what was trimmed",
  ],
  [
    "takes what is trimmed behind a tail for a gap",
    (journal) => ({
      async *tail(options) {
        for await (const batch of journal.tail(options)) {
          yield batch;
          const { floor } = await journal.window();
          if (floor > options.after + 1) throw new JournalGapError(options.after, floor);
        }
      },
    }),
    "a tail at the head goes on while retention",
  ],
  [
    "follows on into another epoch",
    (journal) => ({
      async *tail(options) {
        try {
          yield* journal.tail(options);
        } catch (error) {
          if (!(error instanceof JournalEpochError)) throw error;
          const { epoch, head } = await journal.window();
          yield* journal.tail({ ...options, epoch, after: head });
        }
      },
    }),
    "a rotation ends each tail",
  ],
  [
    "ignores upTo in some order",
    (journal) => ({ read: ({ upTo: _, ...query }) => journal.read(query) }),
    "appends, repetitions, reads, counts",
  ],
];
