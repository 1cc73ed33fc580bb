/**
 * How a tail ends: quietly, or with the reason why it cannot go on.
 *
 * @module
 */
import { JournalEpochError, JournalError, JournalGapError } from "../../errors/journal.ts";
import type { JournalEntry } from "../journal.ts";
import { type Draft, ENDS_MS, fill, plain, TELLS_MS } from "./bench.ts";
import { ensure, equal, faults, sameEntries, within } from "./expect.ts";

export const tailEndCases: readonly Draft[] = [
  {
    name: "a tail that waits ends quietly within a second when its signal aborts",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const waiting = bench.follow(journal, { epoch, after: 0 });
      await fill(journal, plain(1));
      await waiting.take(1);
      await waiting.stop(ENDS_MS);
      // One that has not begun to wait, too.
      await bench.follow(journal, { epoch, after: 1 }).stop(ENDS_MS);
    },
  },
  {
    name: "a tail whose signal has aborted gives nothing, whatever it believes in",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      await fill(journal, plain(3));
      for (const from of [{ epoch, after: 0 }, { epoch: otherThan(epoch), after: 0 }]) {
        const tail = journal.tail({ ...from, signal: AbortSignal.abort() });
        const first = tail[Symbol.asyncIterator]().next();
        const { done } = await within(first, ENDS_MS, "an aborted tail to end");
        ensure(done === true, "no batch of an aborted tail");
      }
    },
  },
  {
    name: "a tail gives nothing more once its signal has aborted between two batches",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      await fill(journal, plain(3));
      const abort = new AbortController();
      const tail = journal.tail({ epoch, after: 0, signal: abort.signal });
      const reader = tail[Symbol.asyncIterator]();
      await within(reader.next(), bench.patienceMs, "a first batch");
      await fill(journal, plain(3, 3));
      abort.abort();
      const { done } = await within(reader.next(), ENDS_MS, "an aborted tail to end");
      ensure(done === true, "no batch after the signal has aborted");
    },
  },
  {
    name: "a reader may leave the loop over a tail, and the journal goes on",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const [entry] = await fill(journal, plain(1));
      const { signal } = new AbortController();
      const leave = async (): Promise<readonly JournalEntry[]> => {
        for await (const batch of journal.tail({ epoch, after: 0, signal })) return batch;
        return [];
      };
      const seen = await within(leave(), bench.patienceMs, "a reader to leave");
      sameEntries(seen, entry === undefined ? [] : [entry], "the batch of a reader that leaves");
      await fill(journal, plain(1, 1));
      equal(await journal.count({ after: 0, topics: null }, 9), 2, "the count afterwards");
    },
  },
  {
    name: "a tail of another epoch is refused, with both epochs and the head",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const [, second] = await fill(journal, plain(2));
      const wrong = otherThan(epoch);
      const error = await bench.follow(journal, { epoch: wrong, after: 1 })
        .fails(JournalEpochError, TELLS_MS);
      equal(error.expected, { epoch: wrong, offset: 1 }, "where the reader stood");
      equal(error.found, { epoch, offset: second?.offset ?? 0 }, "what was found");
    },
  },
  {
    name: "a tail from beyond the head is refused: that offset belongs to a lost part",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const entries = await fill(journal, plain(2));
      const head = entries.at(-1)?.offset ?? 0;
      for (const after of [head + 1, head + 1000]) {
        const error = await bench.follow(journal, { epoch, after })
          .fails(JournalEpochError, TELLS_MS);
        equal(error.expected, { epoch, offset: after }, "where the reader stood");
        equal(error.found, { epoch, offset: head }, "what was found");
      }
    },
  },
  {
    name: "a tail from before the floor is told of the gap; one from the floor goes on",
    async body(bench) {
      const journal = await bench.open({ maxEntries: 5 });
      const { epoch } = await journal.window();
      const entries = await fill(journal, plain(20));
      const held = entries.slice(-5);
      const wanted = held[0]?.offset ?? 0;
      const { floor } = await bench.trimmed(
        journal,
        async () => await journal.count({ after: 0, topics: null }, 100) === 5,
        "retention to keep 5 entries",
      );
      ensure(floor <= wanted, `a floor of at most ${wanted}, not ${floor}`);
      for (const after of [0, floor - 2]) {
        const error = await bench.follow(journal, { epoch, after })
          .fails(JournalGapError, TELLS_MS);
        equal([error.after, error.floor], [after, floor], "after and floor of the gap");
      }
      const follower = bench.follow(journal, { epoch, after: floor - 1 });
      sameEntries(await follower.take(5), held, "a tail from the floor");
    },
  },
  {
    name: "a reader that retention has passed is told of the gap and is given nothing beyond it",
    async body(bench) {
      const journal = await bench.open({ maxEntries: 5 });
      const { epoch } = await journal.window();
      const entries = await fill(journal, plain(3));
      const { signal } = new AbortController();
      const reader = journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]();
      const seen: JournalEntry[] = [];
      const next = async (): Promise<void> => {
        const { value } = await within(reader.next(), bench.patienceMs, "a slow tail to go on");
        ensure(value !== undefined, "a tail that was passed not to end quietly");
        seen.push(...value);
        // What it is given is a beginning of what was stored: nothing is left out.
        sameEntries(seen, entries.slice(0, seen.length), "what a slow reader is given");
      };
      await next();
      for (let n = 0; n < 60; n += 20) entries.push(...await fill(journal, plain(20, 3 + n)));
      await bench.trimmed(journal, ({ floor }) => floor > 50, "retention to trim");
      try {
        while (seen.length < entries.length) await next();
      } catch (error) {
        if (!(error instanceof JournalGapError)) throw error;
      }
      await reader.return?.();
    },
  },
  {
    name: "closing does not wait for a slow reader, and ends every tail with the fault closed",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const waiting = bench.follow(journal, { epoch, after: 0 });
      await fill(journal, plain(2));
      await waiting.take(2);
      const { signal } = new AbortController();
      const slow = journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]();
      await within(slow.next(), bench.patienceMs, "a batch");
      await within(journal.close(), bench.patienceMs, "the journal to close beside a slow reader");
      const error = await waiting.fails(JournalError, TELLS_MS);
      equal(error.fault, "closed", "the fault that a waiting tail ends with");
      const end = within(slow.next(), TELLS_MS, "a slow tail to end");
      await faults(end, "closed", "the tail of a slow reader");
    },
  },
];

/** An epoch that is not this one. */
function otherThan(epoch: string): string {
  return (epoch.startsWith("0") ? "1" : "0") + epoch.slice(1);
}
