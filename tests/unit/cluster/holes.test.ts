import { assertEquals } from "@std/assert";
import { openHub } from "../../../src/cluster/open_hub.ts";
import type { JournaledHub } from "../../../src/cluster/types.ts";
import { createMemoryStore, type MemoryStore } from "../../../src/journal/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { JournalClient } from "../../model/journal_client.ts";
import { HeldJournal } from "../../model/journal_held.ts";
import { ticks } from "../../model/journal_world.ts";
import { test } from "../../support/test.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface Made {
  readonly hub: JournaledHub;
  readonly store: MemoryStore;
  readonly journal: HeldJournal;
  readonly epoch: string;
}

/** A hub without a ring, over a journal that holds events of these topics. */
async function made(topics: string): Promise<Made> {
  const store = createMemoryStore();
  const journal = new HeldJournal(store.open());
  for (const topic of topics) await journal.append({ topic, name: "", data: topic, at: 0 });
  const replay = { maxEvents: 0, replyMaxEvents: 1000 };
  const clock = new FakeClock();
  const hub = await openHub({ journal, clock, logger: silent, replay, slow: "lag" });
  return { hub, store, journal, epoch: hub.position().epoch };
}

/** A client that has its hello, and whose first page is on its way. */
async function reading({ hub, journal, epoch }: Made, topics: string[]): Promise<JournalClient> {
  const client = new JournalClient(hub, { topics }, { cursor: `${epoch}:0`, lag: true }, false);
  await ticks();
  journal.held = true;
  client.sink.accept();
  await ticks();
  assertEquals(client.story, ["retry", "sse:hello"]);
  return client;
}

async function trim({ store, journal }: Made, keep: number): Promise<void> {
  await store.open({ retention: { maxEntries: keep } }).window();
  journal.release();
  await ticks(300);
}

test("a hole says how many frames it took", async () => {
  const it = await made("aaaaabaa");
  const client = await reading(it, ["a"]);
  await trim(it, 2);
  const told = { missed: 5, from: `${it.epoch}:0`, to: `${it.epoch}:6` };
  assertEquals(client.named("sse:lag"), [JSON.stringify(told)]);
  assertEquals(client.data, ["a", "a"]);
  await it.hub.shutdown();
});

test("a hole is not counted by what a topic said before it was joined", async () => {
  const it = await made("aaaaaaccc");
  const client = await reading(it, ["a"]);
  await it.hub.subscribe(client.connection, "c");
  await trim(it, 4);
  const told = { missed: null, from: `${it.epoch}:0`, to: `${it.epoch}:5` };
  assertEquals(client.named("sse:lag"), [JSON.stringify(told)]);
  assertEquals(client.data, ["a"]);
  await it.hub.shutdown();
});

test("a hole is not counted by what was owed of a topic that was left", async () => {
  const it = await made("aaaccca");
  const client = await reading(it, ["a", "c"]);
  it.hub.unsubscribe(client.connection, "c");
  await trim(it, 1);
  const told = { missed: null, from: `${it.epoch}:0`, to: `${it.epoch}:6` };
  assertEquals(client.named("sse:lag"), [JSON.stringify(told)]);
  assertEquals(client.data, ["a"]);
  await it.hub.shutdown();
});

test("a hole ends where the pod's own tail stands: what it has not seen yet still comes", async () => {
  const it = await made("aaaa");
  const client = await reading(it, ["a"]);
  it.journal.holdTail(true);
  // At once, so that its tail has read them in one batch.
  await Promise.all(["5", "6", "7", "8", "9"].map((data) => it.hub.publish({ topic: "a", data })));
  await ticks();
  await it.store.open({ retention: { maxEntries: 1 } }).window();
  it.journal.answer(0, "late");
  await ticks();
  const told = { missed: 4, from: `${it.epoch}:0`, to: `${it.epoch}:4` };
  assertEquals(client.named("sse:lag"), [JSON.stringify(told)]);
  it.journal.release();
  await ticks(300);
  assertEquals(client.data, ["5", "6", "7", "8", "9"]);
  await it.hub.shutdown();
});

test("what a topic said since a cursor is not said to be whole when it was trimmed on its way", async () => {
  const it = await made("c".repeat(40));
  const client = new JournalClient(it.hub, { topics: ["a"] });
  await ticks();
  it.journal.held = true;
  const joined = it.hub.subscribe(client.connection, "c", { after: `${it.epoch}:0` });
  for (let i = 0; i < 2; i++) {
    await ticks();
    it.journal.answer(0, "early");
  }
  assertEquals((await joined)?.verdict, "resumed");
  await ticks();
  await trim(it, 4);
  assertEquals([client.data, client.over, client.named("sse:reset").length], [[], true, 1]);
  await it.hub.shutdown();
});

test("with a new epoch the hub's floor is the new one's", async () => {
  const it = await made("aaaaa");
  assertEquals(it.hub.position().floor, 1);
  const epoch = await it.store.open().rotate(it.epoch);
  await ticks(200);
  assertEquals(it.hub.position(), { epoch, floor: 0, head: 5 });
  await it.hub.shutdown();
});
