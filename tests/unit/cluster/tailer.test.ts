import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { openHub } from "../../../src/cluster/open_hub.ts";
import type { JournaledHub } from "../../../src/cluster/types.ts";
import { JournalEpochError } from "../../../src/errors/journal.ts";
import type { Journal, TailOptions } from "../../../src/journal/journal.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { JournalClient } from "../../model/journal_client.ts";
import { HeldJournal } from "../../model/journal_held.ts";
import { ticks } from "../../model/journal_world.ts";
import { test } from "../../support/test.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function pod(journal: Journal, clock: FakeClock, maxEvents = 4): Promise<JournaledHub> {
  const replay = { maxEvents, replyMaxEvents: 1000 };
  return openHub({ journal, clock, logger: silent, replay });
}

async function end(hub: JournaledHub, clock: FakeClock): Promise<void> {
  const ended = hub.shutdown();
  for (let i = 0; i < 120; i++) {
    clock.advance(100);
    await ticks(10);
  }
  await ended;
  assertEquals(clock.pending, 0);
}

/** Counts the tails, and the listeners on the signal that they are given. */
class Counted extends HeldJournal {
  tails = 0;
  listeners = 0;
  /** Whether a tail ends at once, without an error. */
  ends = false;
  #signal: AbortSignal | null = null;

  override async *tail(options: TailOptions): ReturnType<HeldJournal["tail"]> {
    this.tails++;
    const { signal } = options;
    if (this.#signal === null) {
      this.#signal = signal;
      const { addEventListener, removeEventListener } = signal;
      const known = new Set<unknown>();
      signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
        known.add(args[1]);
        this.listeners = known.size;
        addEventListener.apply(signal, args);
      };
      signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
        known.delete(args[1]);
        this.listeners = known.size;
        removeEventListener.apply(signal, args);
      };
    }
    if (this.ends) return;
    yield* super.tail(options);
  }
}

test("a journal that stays away costs one timer and one listener, however long it lasts", async () => {
  const clock = new FakeClock();
  const journal = new Counted(createMemoryStore().open());
  const hub = await pod(journal, clock);
  await ticks();
  const quiet = clock.pending;
  journal.away = true;
  journal.breakTails();
  await ticks();
  for (let i = 0; i < 100; i++) {
    clock.advance(5000);
    await ticks(20);
    assert(journal.listeners <= 1, `${journal.listeners} listeners`);
    assert(clock.pending <= quiet + 1, `${clock.pending} timers`);
  }
  // Not oftener than it should: 500 s at one attempt in 2.5 to 5 s.
  assert(journal.tails < 230, `${journal.tails} attempts`);
  await end(hub, clock);
  assertEquals(journal.listeners, 0);
});

test("a tail that ends at once is not begun again without a pause", async () => {
  const clock = new FakeClock();
  const journal = new Counted(createMemoryStore().open());
  const hub = await pod(journal, clock);
  await ticks();
  const before = journal.tails;
  journal.ends = true;
  journal.breakTails();
  await ticks(500);
  assert(journal.tails - before <= 2, `${journal.tails - before} tails`);
  await end(hub, clock);
});

test("a hub opens although everything was trimmed between its look and its tail", async () => {
  const store = createMemoryStore();
  const journal = new HeldJournal(store.open());
  for (let i = 1; i <= 5; i++) await journal.append({ topic: "", name: "", data: "x", at: 0 });
  const { epoch } = await journal.window();
  journal.held = true;
  const clock = new FakeClock();
  let hub: JournaledHub | null = null;
  pod(journal, clock, 5).then((opened) => hub = opened);
  await ticks();
  store.open({ retention: { maxAgeMs: 1 } });
  const until = performance.now() + 3;
  while (performance.now() < until);
  assertEquals((await store.open().window()).floor, 6);
  journal.answer(0, "early");
  await ticks(200);
  assert(hub !== null, "it waits for an event that may never come");
  assertEquals((hub as JournaledHub).position(), { epoch, floor: 0, head: 5 });
  await end(hub, clock);
});

/** A store that was put back as an older copy: the same epoch, until it is rotated. */
class Copy extends HeldJournal {
  epoch: string | null;

  constructor(inner: Journal, epoch: string) {
    super(inner);
    this.epoch = epoch;
  }

  override async window(): ReturnType<Journal["window"]> {
    return this.#shown(await super.window());
  }

  override async read(query: Parameters<Journal["read"]>[0]): ReturnType<Journal["read"]> {
    return this.#shown(await super.read(query));
  }

  override async *tail(options: TailOptions): ReturnType<HeldJournal["tail"]> {
    let position = options.after;
    while (!options.signal.aborted) {
      const page = await this.read({ after: position, topics: null, limit: 512 });
      if (page.epoch !== options.epoch || page.head < position) {
        const expected = { epoch: options.epoch, offset: position };
        throw new JournalEpochError(expected, { epoch: page.epoch, offset: page.head });
      }
      position = page.through;
      if (page.entries.length > 0) yield page.entries;
      else {
        await new Promise((resolve) =>
          options.signal.addEventListener("abort", resolve, { once: true })
        );
      }
    }
  }

  override async rotate(from: string): Promise<string> {
    if (from !== this.epoch) return this.epoch ?? (await super.window()).epoch;
    this.epoch = null;
    const { epoch } = await super.window();
    return await super.rotate(epoch);
  }

  #shown<T extends { readonly epoch: string }>(what: T): T {
    return this.epoch === null ? what : { ...what, epoch: this.epoch };
  }
}

test("an older copy of the store, shorter or grown on, ends the epoch, and nobody sees its frames under the old one", async () => {
  for (const grown of [0, 3, 5, 9]) {
    const clock = new FakeClock();
    const journal = new HeldJournal(createMemoryStore().open());
    const hub = await pod(journal, clock);
    const before = hub.position().epoch;
    for (let i = 1; i <= 10; i++) await hub.publish({ data: `old ${i}` });
    await ticks();
    const [all, behind] = [true, false].map((ready) => new JournalClient(hub, {}, {}, ready));
    assert(all && behind);
    const copy = new Copy(createMemoryStore().open(), before);
    for (let i = 1; i <= 5; i++) await copy.append(event(`old ${i}`));
    for (let i = 1; i <= grown; i++) await copy.append(event(`new ${i}`));
    journal.inner = copy;
    journal.breakTails();
    for (let i = 0; i < 20; i++) {
      clock.advance(50);
      await ticks(100);
    }
    behind.sink.accept();
    const { epoch } = hub.position();
    // A copy that has grown beyond the pod's head with another entry there is seen by that entry.
    assert(epoch !== before, `grown by ${grown}: the epoch holds`);
    for (const client of [all, behind]) {
      assert(client.over, "a client was not sent away");
      assert(!client.data.some((data) => data.startsWith("new")));
    }
    const back = new JournalClient(hub, {}, { cursor: `${before}:7` });
    assertEquals(back.hello?.verdict, "epoch_changed");
    await end(hub, clock);
  }
});

function event(data: string): { topic: string; name: string; data: string; at: number } {
  return { topic: "", name: "", data, at: 0 };
}

test("under any order of events, new epochs, broken and held tails nobody is shown two epochs, and all are sent away", async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.constant("publish" as const) },
    { weight: 3, arbitrary: fc.constant("connect" as const) },
    { weight: 1, arbitrary: fc.constant("rotate" as const) },
    { weight: 1, arbitrary: fc.constant("hold" as const) },
    { weight: 1, arbitrary: fc.constant("open" as const) },
    { weight: 1, arbitrary: fc.constant("break" as const) },
    { weight: 3, arbitrary: fc.constant("settle" as const) },
    { weight: 2, arbitrary: fc.constant("time" as const) },
  );
  let rotations = 0;
  let changed = 0;
  const play = async (script: readonly string[]): Promise<void> => {
    const clock = new FakeClock();
    const store = createMemoryStore();
    const journal = new HeldJournal(store.open());
    const hub = await pod(journal, clock);
    const stored = new Map<string, string>();
    const clients: { client: JournalClient; cursor: string; retired: boolean }[] = [];
    const retired = new Set<string>();
    let epoch = hub.position().epoch;
    let count = 0;
    for (const one of script) {
      if (one === "publish") {
        const data = String(++count);
        const { offset, epoch: under } = await store.open().append(event(data));
        stored.set(`${under}:${offset}`, data);
      } else if (one === "connect") {
        const last = [...stored.keys()].slice(-3)[0] ?? "";
        const cursor = clients.length % 2 === 0 ? "" : last;
        const client = new JournalClient(hub, {}, cursor === "" ? {} : { cursor });
        clients.push({ client, cursor, retired: retired.has(cursor.split(":")[0] ?? "") });
      } else if (one === "rotate") {
        retired.add(epoch);
        epoch = await store.open().rotate(epoch);
        rotations++;
      } else if (one === "hold" || one === "open") journal.holdTail(one === "hold");
      else if (one === "break") journal.breakTails();
      else if (one === "time") clock.advance(100);
      if (one !== "publish") await ticks(40);
    }
    journal.release();
    for (let i = 0; i < 30; i++) {
      clock.advance(200);
      await ticks(30);
    }
    assertEquals(hub.position().epoch, epoch);
    for (const { client, cursor, retired: wasRetired } of clients) {
      const { hello } = client;
      if (hello === null) continue;
      for (const one of client.reports) {
        const id = one.kind === "id" || one.kind === "event" ? one.id : null;
        if (id === null) continue;
        assertEquals(id.split(":")[0], hello.epoch);
        if (one.kind === "event") assertEquals(stored.get(id), one.data);
      }
      if (hello.epoch !== epoch) assert(client.over, "one of an ended epoch was not sent away");
      else assert(!client.over);
      if (hello.verdict === "epoch_changed") {
        changed++;
        assert(retired.size > 0 && cursor !== "");
      }
      if (wasRetired && hello.epoch === epoch) assertEquals(hello.verdict, "epoch_changed");
    }
    await end(hub, clock);
  };
  const scripts = fc.array(step, { maxLength: 60, size: "max" });
  await fc.assert(fc.asyncProperty(scripts, play), { numRuns: 60, seed: 7 });
  assert(rotations >= 20 && changed >= 10, JSON.stringify({ rotations, changed }));
});
