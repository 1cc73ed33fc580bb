/**
 * What only a store's owner can bring about: restarts, losses, older copies, purges.
 *
 * @module
 */
import {
  AppendUnknownError,
  JournalEpochError,
  JournalError,
  JournalGapError,
} from "../../errors/journal.ts";
import type { Appended, Journal, JournalEntry, JournalEvent } from "../journal.ts";
import { type Bench, type Draft, fill, makeEvent, plain, readAll, TELLS_MS } from "./bench.ts";
import { ensure, equal, sameEntries } from "./expect.ts";
import type { Follower } from "./follower.ts";
import { empty } from "./retention.ts";

/** How long a tail that broke off rests before it is followed again, in milliseconds. */
const AGAIN_MS = 20;

export const lossCases: readonly Draft[] = [
  {
    name: "a broker's restart keeps epoch and entries; appends and tails come through it whole",
    hooks: ["restart"],
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const seen: JournalEntry[] = [];
      const following = followTo(bench, journal, { epoch, after: 0 }, seen, 45);
      // Seen to reject while they are not yet awaited.
      following.catch(() => {});
      for (const event of plain(10)) await journal.append(event);
      const restarting = bench.store.restart?.() ?? Promise.resolve();
      restarting.catch(() => {});
      for (let n = 10; n < 35; n++) await persist(bench, journal, makeEvent(n, { id: `id-${n}` }));
      await restarting;
      for (let n = 35; n < 45; n++) await persist(bench, journal, makeEvent(n, { id: `id-${n}` }));
      await following;
      const entries = await readAll(journal);
      const data = plain(45).map((event) => event.data);
      equal(entries.map((entry) => entry.data), data, "what is stored around a restart");
      sameEntries(seen, entries, "what was followed through a restart");
      equal((await journal.window()).epoch, epoch, "the epoch after a restart");
    },
  },
  {
    name: "a store that came back empty has another epoch, and a running tail is told",
    hooks: ["empty"],
    async body(bench) {
      const journal = await bench.open();
      const old = (await journal.window()).epoch;
      await fill(journal, plain(5));
      const follower = bench.follow(journal, { epoch: old, after: 0 });
      await follower.take(5);
      await bench.store.empty?.();
      await toldOfEpoch(bench, journal, follower, old);
      const window = await patiently(bench, () => journal.window(), "the window to be there");
      ensure(window.epoch !== old, `another epoch than ${old}`);
      const appended = await persist(bench, journal, makeEvent(9, { id: "id-9" }));
      equal(appended.epoch, window.epoch, "the epoch of an append after the loss");
      equal((await readAll(journal)).map(({ data }) => data), ["event 9"], "what is held now");
    },
  },
  {
    name: "the first append after a loss of the counter is not told the old epoch",
    hooks: ["empty"],
    async body(bench) {
      const journal = await bench.open();
      const old = (await journal.window()).epoch;
      await fill(journal, plain(5));
      await bench.store.empty?.();
      const appended = await persist(bench, journal, makeEvent(9, { id: "id-9" }));
      ensure(appended.epoch !== old, `another epoch than ${old} for an append after the loss`);
    },
  },
  {
    name: "a store that was emptied while nobody had it open has another epoch",
    hooks: ["empty"],
    async body(bench) {
      const journal = await bench.open();
      const old = (await journal.window()).epoch;
      await fill(journal, plain(5));
      await journal.close();
      await bench.store.empty?.();
      const again = await bench.open();
      const { epoch } = await again.window();
      ensure(epoch !== old, `another epoch than ${old}`);
      await empty(again, epoch, 0);
    },
  },
  {
    name: "an older copy that is put back is told to a running tail; a rotation makes it usable",
    hooks: ["copy"],
    async body(bench) {
      const journal = await bench.open();
      const old = (await journal.window()).epoch;
      const used = new Set<string>();
      const append = async (events: readonly JournalEvent[]): Promise<void> => {
        for (const event of events) {
          const { epoch, offset } = await persist(bench, journal, event);
          ensure(!used.has(`${epoch}:${offset}`), `${epoch}:${offset} to be given once`);
          used.add(`${epoch}:${offset}`);
        }
      };
      await append(plain(10));
      const copy = await bench.store.copy?.();
      await append(plain(10, 10));
      const follower = bench.follow(journal, { epoch: old, after: 0 });
      await follower.take(20);
      await copy?.restore();
      await toldOfEpoch(bench, journal, follower, old);
      const epoch = await patiently(bench, () => journal.rotate(old), "a rotation");
      ensure(epoch !== old, `another epoch than ${old} after a rotation`);
      const { head } = await journal.window();
      const fresh = bench.follow(journal, { epoch, after: head });
      await append(plain(15, 20));
      const seen = (await fresh.take(15)).map(({ data }) => data);
      equal(seen, plain(15, 20).map(({ data }) => data), "what is followed after the rotation");
    },
  },
  {
    name: "a purge keeps epoch and head; a tail at the head goes on, one behind is told of the gap",
    hooks: ["purge"],
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const entries = await fill(journal, plain(6));
      const head = entries.at(-1)?.offset ?? 0;
      const follower = bench.follow(journal, { epoch, after: 0 });
      await follower.take(6);
      await bench.store.purge?.();
      await empty(journal, epoch, head);
      await bench.follow(journal, { epoch, after: 0 }).fails(JournalGapError, TELLS_MS);
      const again = await bench.reopen(journal);
      await empty(again, epoch, head);
      const later = bench.follow(again, { epoch, after: head });
      const fresh = await fill(again, plain(2, 6));
      ensure((fresh[0]?.offset ?? 0) > head, `an offset above ${head}, not ${fresh[0]?.offset}`);
      sameEntries(await later.take(2), fresh, "a tail that began at the head after a purge");
      sameEntries(await readAll(again), fresh, "what is held after a purge");
    },
  },
];

/** Does what may fail while a store is away, until it succeeds. */
async function patiently<T>(bench: Bench, act: () => Promise<T>, what: string): Promise<T> {
  const attempt = async (): Promise<{ readonly value: T } | undefined> => {
    try {
      return { value: await act() };
    } catch (error) {
      // An unknown outcome, or a store that is away, is tried again; the rest is a failure.
      const away = error instanceof JournalError && error.fault !== "closed";
      if (away || error instanceof AppendUnknownError) return undefined;
      throw error;
    }
  };
  return (await bench.eventually(attempt, what)).value;
}

/** Appends an event, under its id, until it is known to be stored. */
async function persist(bench: Bench, journal: Journal, event: JournalEvent): Promise<Appended> {
  const append = async (): Promise<Appended> => {
    try {
      return await journal.append(event);
    } catch (error) {
      if (error instanceof AppendUnknownError && event.id !== undefined) {
        equal(error.id, event.id, "the id that an unknown outcome names");
      }
      throw error;
    }
  };
  return await patiently(bench, append, `the append of ${event.data} to succeed`);
}

/** Follows, anew from where it stood whenever the store was away, until it has seen enough. */
async function followTo(
  bench: Bench,
  journal: Journal,
  from: { readonly epoch: string; readonly after: number },
  seen: JournalEntry[],
  count: number,
): Promise<void> {
  while (seen.length < count) {
    const after = seen.at(-1)?.offset ?? from.after;
    const follower = bench.follow(journal, { epoch: from.epoch, after });
    const wanted = count - seen.length;
    const enough = (): boolean => follower.entries.length >= wanted || away(follower);
    await follower.until(enough, `a tail to give ${wanted} entries`);
    seen.push(...follower.entries);
    await follower.discard();
    // An adapter that refuses at once while its store is away must not be asked in a circle.
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Expects the reader of a tail, that may break off with the store, to be told of another epoch. */
async function toldOfEpoch(
  bench: Bench,
  journal: Journal,
  first: Follower,
  epoch: string,
): Promise<void> {
  const after = first.entries.at(-1)?.offset ?? 0;
  let follower = first;
  await bench.eventually(async () => {
    await follower.until(() => follower.end !== undefined, "a tail to end when its past is lost");
    if (!away(follower)) return true;
    follower = bench.follow(journal, { epoch, after });
    return undefined;
  }, "a tail to be told that its past is lost");
  const error = await follower.fails(JournalEpochError, TELLS_MS);
  equal(error.expected, { epoch, offset: after }, "where the reader stood");
}

/** Whether a tail ended because its store is away. */
function away({ end }: Follower): boolean {
  return typeof end === "object" && end.error instanceof JournalError &&
    end.error.fault !== "closed";
}
