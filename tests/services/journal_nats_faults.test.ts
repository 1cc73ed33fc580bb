import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { AppendUnknownError, JournalEpochError, JournalError } from "../../src/errors/journal.ts";
import type { Appended, Journal, JournalEntry, JournalEvent } from "../../src/journal/journal.ts";
import { askJetStream, NATS } from "../support/nats.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { dataOf, event, readAll, withNats } from "./journal_nats_world.ts";

const OPTIONS = { needs: [NATS], foreignTimers: true };

test(
  "JetStream: a server that stands still leaves appends unknown in time; repeated, each is there once",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "still", appendTimeoutMs: 700 });
      await journal.append(event(0));
      await server.pause();
      const from = performance.now();
      const events = Array.from({ length: 5 }, (_, n) => event(n + 1));
      const outcomes = await Promise.allSettled(events.map((each) => journal.append(each)));
      const took = performance.now() - from;
      assert(took >= 690 && took < 2500, `unknown after 700 ms, not ${took}`);
      const ids = outcomes.map((outcome) => {
        assert(outcome.status === "rejected" && outcome.reason instanceof AppendUnknownError);
        return outcome.reason.id;
      });
      assertEquals(new Set(ids).size, 5);
      server.resume();
      // The first ones may be there by now, or not: under their ids they are stored once.
      for (const [n, each] of events.entries()) {
        await persist(journal, { ...each, id: ids[n] ?? "" });
      }
      await journal.append(event(6));
      assertEquals(dataOf(await readAll(journal)).toSorted(), numbered(0, 7));
    }),
  OPTIONS,
);

test(
  "JetStream: a tail of a server that stands still ends as unavailable, or quietly at once when aborted",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({
        name: "stillness",
        requestTimeoutMs: 1500,
        appendTimeoutMs: 200,
      });
      const { epoch } = await journal.append(event(0));
      const abort = new AbortController();
      const { signal } = new AbortController();
      const follow = (after: number, signal: AbortSignal): AsyncIterator<readonly JournalEntry[]> =>
        journal.tail({ epoch, after, signal })[Symbol.asyncIterator]();
      const [left, kept] = [follow(0, abort.signal), follow(0, signal)];
      await Promise.all([left.next(), kept.next()]);
      const ending = assertRejects(() => kept.next(), JournalError);
      const quiet = left.next();
      await server.pause();
      // Now both look, and wait for an answer.
      await assertRejects(() => journal.append(event(1)), AppendUnknownError);
      const from = performance.now();
      abort.abort();
      assertEquals((await quiet).done, true);
      assertLess(performance.now() - from, 500);
      assertEquals((await ending).fault, "unavailable");
      server.resume();
      // What was unknown may come yet: here it does.
      const again = follow(1, signal);
      assertEquals(dataOf((await again.next()).value ?? []), ["event 1"]);
      await again.return?.();
    }),
  OPTIONS,
);

test(
  "JetStream: while the server is away everything is unavailable at once, and works when it is back",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "away" });
      const { epoch } = await journal.append(event(0));
      await server.down();
      await eventually(
        () => journal.append(event(9)).then(() => false, (error) => error instanceof JournalError),
        { what: "the journal to see that the server is away" },
      );
      const from = performance.now();
      const { signal } = new AbortController();
      const asked: readonly (() => Promise<unknown>)[] = [
        () => journal.window(),
        () => journal.append(event(9)),
        () => journal.read({ after: 0, topics: null, limit: 1 }),
        () => journal.count({ after: 0, topics: ["t"] }, 1),
        () => journal.rotate(epoch),
        () => journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]().next(),
      ];
      for (const ask of asked) {
        assertEquals((await assertRejects(ask, JournalError)).fault, "unavailable");
      }
      assertLess(performance.now() - from, 500);
      await server.up();
      await persist(journal, event(1, "", { id: "later" }));
      assertEquals(dataOf(await readAll(journal)), numbered(0, 2));
      assertEquals((await journal.window()).epoch, epoch);
    }),
  OPTIONS,
);

test(
  "JetStream: a server that is killed loses nothing that it confirmed, and keeps the epoch",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "killed" });
      const other = await open({ name: "killed" });
      const { epoch } = await journal.window();
      const abort = new AbortController();
      const seen: JournalEntry[] = [];
      const following = followOn(other, epoch, seen, abort.signal);
      const stored: Appended[] = [];
      let next = 0;
      for (let round = 0; round < 3; round++) {
        const killed = performance.now() + 150;
        const restarting = (async () => {
          await eventually(() => performance.now() > killed, { what: "some appends" });
          await server.restart("SIGKILL");
        })();
        let up = false;
        restarting.then(() => up = true, () => {});
        while (!up) {
          const burst = Array.from({ length: 20 }, () => {
            const n = next++;
            return persist(journal, event(n, "", { id: `id-${n}` }));
          });
          stored.push(...await Promise.all(burst));
        }
        await restarting;
      }
      const entries = await readAll(journal, null, 1000);
      assertEquals(dataOf(entries).toSorted(), numbered(0, next));
      const byOffset = new Map(entries.map(({ offset, data }) => [offset, data]));
      for (const [n, { offset }] of stored.entries()) {
        assertEquals(byOffset.get(offset), `event ${n}`);
      }
      assertEquals(new Set(stored.map((each) => each.epoch)), new Set([epoch]));
      await eventually(() => seen.length >= next, { what: "the tail to see all" });
      assertEquals(seen, entries);
      abort.abort();
      await following;
    }),
  { ...OPTIONS, timeoutMs: 90_000 },
);

test(
  "JetStream: data that vanished under a running tail are another epoch, for every pod the same",
  () =>
    withNats(async ({ server, open }) => {
      const journals = await Promise.all([1, 2, 3].map(() => open({ name: "vanished" })));
      const [journal] = journals;
      if (journal === undefined) throw new Error("no journal");
      const { epoch } = await journal.window();
      for (let n = 0; n < 5; n++) await journal.append(event(n));
      const tails = journals.map((each) => lossOf(each, epoch, 5));
      await server.replace();
      const found = await Promise.all(tails);
      assertEquals(found.filter((each) => each === epoch), []);
      const windows = await Promise.all(journals.map((each) => patiently(() => each.window())));
      assertEquals(new Set(windows.map((window) => window.epoch)).size, 1);
      const { epoch: later, offset } = await persist(journal, event(9, "", { id: "first" }));
      assertEquals([later, offset], [windows[0]?.epoch, 1]);
    }),
  OPTIONS,
);

test(
  "JetStream: an older copy that has grown beyond what was seen is found out by its other entries",
  () =>
    withNats(async ({ server, open }) => {
      // It comes back two seconds later than the server.
      const journal = await open({ name: "grown" }, { reconnectTimeWait: 2000 });
      const { epoch } = await journal.window();
      for (let n = 0; n < 5; n++) await journal.append(event(n));
      const copy = await server.copy();
      for (let n = 5; n < 10; n++) await persist(journal, event(n, "", { id: `old-${n}` }));
      assertEquals((await journal.window()).head, 10);
      // Another pod, that knows nothing of the first five that were lost, is quicker.
      await server.replace(copy);
      const newcomer = await open({ name: "grown" });
      for (let n = 5; n < 15; n++) await newcomer.append(event(n, "other"));
      const window = await patiently(() => journal.window());
      assert(window.epoch !== epoch, "another epoch for other entries");
      assertEquals((await newcomer.window()).epoch, window.epoch);
      assertEquals([window.floor, window.head], [16, 15]);
    }),
  OPTIONS,
);

test(
  "JetStream: an epoch that has ended does not come back with an older copy",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "back" });
      const old = (await journal.window()).epoch;
      await journal.append(event(0));
      const copy = await server.copy();
      const second = await patiently(() => journal.rotate(old));
      await server.replace(copy);
      const { epoch } = await patiently(() => journal.window());
      assert(epoch !== old && epoch !== second, `a third epoch, not ${epoch}`);
    }),
  OPTIONS,
);

test(
  "JetStream: a stream that takes nothing more refuses as full, and what is held stays",
  () =>
    withNats(async ({ server, open }) => {
      const operator = await server.connect();
      await askJetStream(operator, "STREAM.CREATE.full", {
        name: "full",
        subjects: ["full.*"],
        storage: "file",
        discard: "new",
        max_msgs: 3,
      });
      const journal = await open({ name: "full" });
      for (let n = 0; n < 3; n++) await journal.append(event(n));
      assertEquals(
        (await assertRejects(() => journal.append(event(3)), JournalError)).fault,
        "full",
      );
      assertEquals(dataOf(await readAll(journal)), numbered(0, 3));
    }),
  OPTIONS,
);

test(
  "JetStream: an account that has no room for the stream is refused as full",
  () =>
    withNats(async ({ open }) => {
      const error = await assertRejects(() => open({ name: "wide", replicas: 3 }), JournalError);
      assert(["failed", "full"].includes(error.fault), error.message);
      assert(/replicas/i.test(error.message), error.message);
    }),
  OPTIONS,
);

function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, n) => `event ${from + n}`).toSorted();
}

/** Does what may fail while the server is away. */
async function patiently<T>(act: () => Promise<T>): Promise<T> {
  return (await eventually(async () => ({ value: await act() }), { what: "it to succeed" })).value;
}

/** Appends under an id until the outcome is known. */
function persist(journal: Journal, stored: JournalEvent): Promise<Appended> {
  return patiently(() => journal.append(stored));
}

/** Follows to the end, anew whenever the server was away. */
async function followOn(
  journal: Journal,
  epoch: string,
  seen: JournalEntry[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const after = seen.at(-1)?.offset ?? 0;
    try {
      for await (const batch of journal.tail({ epoch, after, signal })) seen.push(...batch);
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      await new Promise<void>((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Follows until the past is lost, and tells the epoch that was found. */
async function lossOf(journal: Journal, epoch: string, after: number): Promise<string> {
  const { signal } = new AbortController();
  return await eventually(async () => {
    try {
      for await (const _batch of journal.tail({ epoch, after, signal })) return "";
    } catch (error) {
      if (error instanceof JournalEpochError) return error.found.epoch;
      throw error;
    }
    return "";
  }, { what: "a tail to be told", timeoutMs: 20_000 });
}
