import { assert, assertEquals } from "@std/assert";
import { openHub } from "../../../src/cluster/open_hub.ts";
import type { JournaledHub, JournaledHubOptions } from "../../../src/cluster/types.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { JournalClient } from "../../model/journal_client.ts";
import { HeldJournal } from "../../model/journal_held.ts";
import { ticks } from "../../model/journal_world.ts";
import { test } from "../../support/test.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

interface Made {
  readonly hub: JournaledHub;
  readonly journal: HeldJournal;
  readonly clock: FakeClock;
  readonly epoch: string;
}

/** A hub over a journal that holds these topics' events already. */
async function made(
  topics: readonly string[],
  options: Partial<JournaledHubOptions> = {},
): Promise<Made> {
  const journal = new HeldJournal(createMemoryStore().open());
  const clock = new FakeClock();
  for (const [i, topic] of topics.entries()) {
    await journal.append({ topic, name: "", data: String(i + 1), at: clock.now() });
  }
  const replay = { maxEvents: 2, replyMaxEvents: 1000 };
  const hub = await openHub({ journal, clock, logger: silent, replay, ...options });
  return { hub, journal, clock, epoch: hub.position().epoch };
}

async function end({ hub, journal, clock }: Made): Promise<void> {
  journal.release();
  const ended = hub.shutdown();
  for (let i = 0; i < 120; i++) {
    clock.advance(100);
    await ticks(20);
  }
  await ended;
  assertEquals(clock.pending, 0);
}

const many = (count: number): string[] => Array.from({ length: count }, () => "a");

test("a shutdown while a cursor is judged says goodbye and shows nothing else: no frame, no id", async () => {
  // Behind the ring, and ahead of the pod while the ring holds everything.
  for (const [maxEvents, offset] of [[2, 3], [50, 99]] as const) {
    const it = await made(many(10), { replay: { maxEvents, replyMaxEvents: 1000 } });
    it.journal.held = true;
    const client = new JournalClient(it.hub, {}, { cursor: `${it.epoch}:${offset}` });
    await ticks();
    assertEquals(client.story, ["retry"]);
    await it.hub.shutdown();
    assertEquals(client.story, ["retry", "sse:reset"]);
    await end(it);
  }
});

test("what is published while the journal is asked is owed, though the ring has dropped it by then", async () => {
  const replay = { maxEvents: 0, replyMaxEvents: 1000 };
  const it = await made(["a", ...Array.from({ length: 9 }, () => "b")], { replay });
  it.journal.held = true;
  const client = new JournalClient(it.hub, { topics: ["a"] }, { cursor: `${it.epoch}:5` });
  await ticks();
  await it.hub.publish({ topic: "a", data: "meanwhile" });
  for (let i = 0; i < 4; i++) {
    it.journal.answer(0, "early");
    await ticks();
  }
  assertEquals(client.hello?.verdict, "resumed");
  assertEquals(client.data, ["meanwhile"]);
  await end(it);
});

test("a journal that never answers is waited for 2 s, by 16 at once, and nobody is asked for in vain later", async () => {
  const it = await made(many(50), { maxClients: 100 });
  it.journal.held = true;
  const clients = Array.from(
    { length: 100 },
    () => new JournalClient(it.hub, {}, { cursor: `${it.epoch}:3` }),
  );
  await ticks();
  assertEquals(it.journal.waiting.length, 16);
  // They have their places while they are judged.
  assertEquals(it.hub.clientCount, 100);
  assertEquals(it.hub.serve(new Request("http://localhost/")).status, 503);
  it.clock.advance(1999);
  await ticks();
  assert(clients.every(({ story }) => story.length === 1));
  it.clock.advance(1);
  await ticks();
  for (const { story, over } of clients) {
    assertEquals([story, over], [["retry", "sse:reset"], true]);
  }
  assertEquals(it.hub.clientCount, 0);
  it.journal.held = false;
  const { asked } = it.journal;
  it.journal.release();
  await ticks(400);
  // The 16 go on to their second question; those whose turn never came ask nothing.
  assert(it.journal.asked - asked <= 32, `${it.journal.asked - asked} more`);
  const client = new JournalClient(it.hub, {}, { cursor: `${it.epoch}:3` });
  await ticks(400);
  assertEquals(client.data.length, 47);
  await end(it);
});

test("a client that left while it was judged is not counted as judged", async () => {
  const it = await made(many(10));
  it.journal.held = true;
  const client = new JournalClient(it.hub, {}, { cursor: `${it.epoch}:3` });
  await ticks();
  client.sink.leave();
  it.journal.release();
  await ticks();
  const { verdicts } = it.hub.metrics();
  assertEquals(Object.values(verdicts).reduce((sum, count) => sum + count, 0), 0);
  await end(it);
});

/** A client that was given the hello, and whose first page does not come. */
async function awaitingAPage(): Promise<
  { readonly it: Awaited<ReturnType<typeof made>>; readonly client: JournalClient }
> {
  const it = await made(many(100));
  const client = new JournalClient(it.hub, {}, { cursor: `${it.epoch}:0` }, false);
  await ticks();
  it.journal.held = true;
  client.sink.accept();
  await ticks();
  return { it, client };
}

test("while a page is awaited keepalives go on, and no write timeout ends the connection", async () => {
  const { it, client } = await awaitingAPage();
  for (let i = 0; i < 10; i++) {
    it.clock.advance(15_000);
    await ticks();
  }
  assert(client.named("sse:keepalive").length >= 8, JSON.stringify(client.story.slice(0, 30)));
  assert(!client.over);
  assert(!client.story.some((one) => one.startsWith("#")), "an id stood before what was owed");
  it.journal.release();
  await ticks(400);
  assertEquals(client.data.length, 100);
  await end(it);
});

test("a shutdown does not wait for a page that never comes, and shows no id beyond what was given", async () => {
  const { it, client } = await awaitingAPage();
  await it.hub.shutdown();
  assertEquals(client.story.slice(-1), ["sse:reset"]);
  assert(!client.story.some((one) => one.startsWith("#")));
  await end(it);
});

test("a history by age on a journal that does not answer rejects within its patience, and nothing is stuck", async () => {
  const it = await made(["c", ...many(9)], { replay: { maxEvents: 0, replyMaxEvents: 1000 } });
  const client = new JournalClient(it.hub, { topics: ["a"] });
  await ticks();
  it.journal.held = true;
  let failure = "";
  const { connection } = client;
  it.hub.subscribe(connection, "c", { history: { sinceMs: 60_000 } }).catch((error) => {
    failure = String(error.code);
  });
  await ticks();
  it.clock.advance(2000);
  await ticks();
  assertEquals(failure, "journal");
  await it.hub.publish({ topic: "c", data: "live" });
  await ticks();
  assertEquals(client.data, ["live"]);
  await end(it);
});

test("a history that is given up once begun is ended, so that no other stands within it", async () => {
  const it = await made(["c", "c", ...many(9)], { replay: { maxEvents: 0, replyMaxEvents: 1000 } });
  const client = new JournalClient(it.hub, { topics: ["a"] });
  await ticks();
  it.journal.held = true;
  await it.hub.subscribe(client.connection, "c", { history: true });
  await ticks();
  assertEquals(client.named("sse:history"), ['{"phase":"begin","topic":"c"}']);
  it.hub.unsubscribe(client.connection, "c");
  await ticks();
  assertEquals(client.named("sse:history").slice(1), ['{"phase":"end","topic":"c"}']);
  await end(it);
});
