/**
 * Journals that are wrong on purpose, each in one way, over one that is right.
 *
 * @module
 */
import { JournalError } from "../../../src/errors/journal.ts";
import type { JournalSubject } from "../../../src/journal/conformance.ts";
import type { Journal, JournalEntry, TailOptions } from "../../../src/journal/journal.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";

/** What one flaw changes of a journal. */
export type Change = (journal: Journal) => Partial<Journal>;

/** What is wrong, how, and the case that must say so, by the beginning of its name. */
export type Flawed = readonly [what: string, change: Change, caughtBy: string];

const encoder = new TextEncoder();

/** The journal in memory with a flaw, as the conformance suite takes it. */
export function flawedSubject(change: Change): JournalSubject {
  return {
    openers: "many",
    patienceMs: 250,
    schedules: 5,
    makeStore() {
      const store = createMemoryStore();
      return Promise.resolve({
        open(options) {
          const journal = store.open(options);
          return Promise.resolve({ ...plain(journal), ...change(journal) });
        },
        dispose: () => Promise.resolve(),
      });
    },
  };
}

/** A journal as an object whose methods can be replaced. */
export function plain(journal: Journal): Journal {
  return {
    maxBytes: journal.maxBytes,
    window: () => journal.window(),
    append: (event) => journal.append(event),
    read: (query) => journal.read(query),
    count: (range, enough) => journal.count(range, enough),
    tail: (options) => journal.tail(options),
    rotate: (from) => journal.rotate(from),
    close: () => journal.close(),
  };
}

/** A tail whose batches are changed on their way. */
export function tailing(
  change: (
    batch: readonly JournalEntry[],
    index: number,
  ) => readonly (readonly JournalEntry[])[] | Promise<readonly (readonly JournalEntry[])[]>,
): Change {
  return (journal) => ({
    async *tail(options) {
      let index = 0;
      for await (const batch of journal.tail(options)) yield* await change(batch, index++);
    },
  });
}

/** A tail that is asked for something else than what it was asked. */
export function retold(change: (options: TailOptions, journal: Journal) => TailOptions): Change {
  return (journal) => ({ tail: (options) => journal.tail(change(options, journal)) });
}

/** Data, topic or name that are changed before they are stored. */
export function storing(change: (text: string) => string): Change {
  return (journal) => ({
    append: ({ data, ...event }) => journal.append({ ...event, data: change(data) }),
  });
}

/** A bound for events, and how the size is measured; `null` does not refuse what is above it. */
export function bounded(measure: ((text: string) => number) | null): Change {
  const maxBytes = 4000;
  return (journal) => ({
    maxBytes,
    append(event) {
      const { topic, name, data } = event;
      const above = measure !== null && measure(topic + name + data) > maxBytes;
      return above
        ? Promise.reject(new JournalError("too_large", `above ${maxBytes} bytes`))
        : journal.append(event);
    },
  });
}

/** The right measure. */
export function inBytes(text: string): number {
  return encoder.encode(text).length;
}

/** Lets whatever else is ready go first, so many times. */
export async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.resolve();
}
