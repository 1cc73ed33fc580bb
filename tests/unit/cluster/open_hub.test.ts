import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { openHub } from "../../../src/cluster/open_hub.ts";
import type { JournaledHub, JournaledHubOptions } from "../../../src/cluster/types.ts";
import {
  ConfigError,
  FrameTooLargeError,
  InvalidUtf8Error,
  TopicError,
} from "../../../src/errors.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";
import { type Frame, readFrames } from "../../../src/testing/frames.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function ask(cursor = "", query = ""): Request {
  return new Request(`http://localhost/events${query}`, {
    headers: cursor === "" ? {} : { "Last-Event-ID": cursor },
  });
}

/** The first frames of a stream, and its hello. */
async function open(
  hub: JournaledHub,
  cursor: string,
  frames: number,
  topics?: readonly string[],
): Promise<{ verdict: string; frames: readonly Frame[] }> {
  const { body } = hub.serve(ask(cursor), { ...(topics && { topics }) });
  const [, hello, ...rest] = await readFrames(body, 2 + frames);
  await body?.cancel();
  return { verdict: JSON.parse(hello?.data ?? "{}").verdict, frames: rest };
}

/** Waits until a hub has ingested what was stored: `publish` settles a moment before. */
function ingested(hub: JournaledHub, head: number): Promise<unknown> {
  return eventually(() => hub.position().head >= head, {
    what: `the hub to have ${head}`,
  });
}

function pod(options: Partial<JournaledHubOptions> & Pick<JournaledHubOptions, "journal">) {
  return openHub({ logger: silent, ...options });
}

test("what is published is stored first, and then delivered under the journal's cursor", async () => {
  const journal = createMemoryStore().open();
  const hub = await pod({ journal });
  const { body } = hub.serve(ask());
  await readFrames(body, 2);
  assertEquals(await hub.publish({ topic: "a", name: "tick", data: "1" }), 1);
  const { epoch } = await journal.window();
  const [frame] = await readFrames(body, 1);
  assertEquals([frame?.event, frame?.data, frame?.id], ["tick", "1", `${epoch}:1`]);
  await body?.cancel();
  await hub.shutdown();
});

test("a cursor holds on another pod, and after both were started anew", async () => {
  const store = createMemoryStore();
  const [one, two] = await Promise.all([
    pod({ journal: store.open() }),
    pod({ journal: store.open() }),
  ]);
  for (let i = 1; i <= 5; i++) await one.publish({ data: String(i) });
  const { epoch } = one.position();
  const there = await open(two, `${epoch}:2`, 3);
  assertEquals(there.verdict, "resumed");
  assertEquals(there.frames.map(({ data }) => data), ["3", "4", "5"]);
  await Promise.all([one.shutdown(), two.shutdown()]);

  const again = await pod({ journal: store.open() });
  assertEquals(again.position(), { epoch, floor: 1, head: 5 });
  assertEquals((await open(again, `${epoch}:4`, 1)).frames[0]?.data, "5");
  await again.shutdown();
});

test("what the ring no longer holds comes from the journal, in order, and then the stream is live", async () => {
  const hub = await pod({ journal: createMemoryStore().open(), replay: { maxEvents: 10 } });
  const total = 2000;
  for (let i = 1; i <= total; i++) {
    await hub.publish({ topic: i % 10 === 0 ? "rare" : "often", data: String(i) });
  }
  await ingested(hub, total);
  const { epoch, floor, head } = hub.position();
  assertEquals([floor, head], [1, total]);
  const all = await open(hub, `${epoch}:0`, total);
  assertEquals(all.verdict, "resumed");
  assertEquals(all.frames.map(({ data }) => Number(data)), range(1, total));

  const { body } = hub.serve(ask(`${epoch}:5`), { topics: ["rare"] });
  const frames = await readFrames(body, 2 + 200);
  assertEquals(frames.slice(2).map(({ data }) => Number(data)), range(1, 200).map((n) => 10 * n));
  await hub.publish({ topic: "rare", data: "live" });
  assertEquals((await readFrames(body, 1))[0]?.data, "live");
  await body?.cancel();
  await hub.shutdown();
});

test("a client ahead of its pod is not told of a gap that is none", async () => {
  const store = createMemoryStore();
  const journal = store.open();
  let held = true;
  let release = (): void => {};
  const slow: typeof journal = Object.create(journal, {
    tail: {
      value: async function* (options: Parameters<typeof journal.tail>[0]) {
        for await (const batch of journal.tail(options)) {
          if (held) await new Promise<void>((resolve) => release = resolve);
          yield batch;
        }
      },
    },
  });
  for (const name of ["window", "append", "read", "count", "rotate", "close"] as const) {
    Object.defineProperty(slow, name, { value: journal[name].bind(journal) });
  }
  const [fast, behind] = await Promise.all([
    pod({ journal: store.open() }),
    pod({ journal: slow }),
  ]);
  const offset = await fast.publish({ data: "1" });
  const { epoch } = fast.position();
  const answer = open(behind, `${epoch}:${offset}`, 0);
  held = false;
  release();
  assertEquals((await answer).verdict, "resumed");
  assertEquals((await open(behind, `${epoch}:99`, 0)).verdict, "gap_ahead");
  await Promise.all([fast.shutdown(), behind.shutdown()]);
});

test("a late joiner is given the topic's past, without ids, and then its present, each once", async () => {
  const hub = await pod({ journal: createMemoryStore().open(), replay: { maxEvents: 5 } });
  for (let i = 1; i <= 50; i++) await hub.publish({ topic: i % 2 ? "a" : "b", data: String(i) });
  await ingested(hub, 50);
  const { body } = hub.serve(ask(), { topics: ["b"] });
  const hello = JSON.parse((await readFrames(body, 2))[1]?.data ?? "{}");
  const answer = await hub.subscribe(hello.connection, "a", { history: true });
  assertEquals(answer, { verdict: "fresh", head: 50 });
  await hub.publish({ topic: "a", data: "51" });
  await ingested(hub, 51);
  const frames = await readFrames(body, 2 + 25 + 1);
  assertEquals(frames[0]?.data, '{"phase":"begin","topic":"a"}');
  assertEquals(frames[26]?.data, '{"phase":"end","topic":"a"}');
  const past = frames.slice(1, 26);
  assertEquals(past.map(({ data }) => Number(data)), range(0, 24).map((n) => 2 * n + 1));
  assert(past.every(({ id }) => id === undefined || id === ""));
  assertEquals(frames[27]?.data, "51");

  const { history } = { history: { last: 2 } };
  assertEquals((await hub.subscribe(hello.connection, "c", { history }))?.head, 51);
  assertEquals(await hub.subscribe("nobody", "c"), null);
  assertEquals(hub.unsubscribe(hello.connection, "a"), true);
  assertEquals(hub.unsubscribe(hello.connection, "a"), false);
  await body?.cancel();
  await hub.shutdown();
});

test("the last few and the latest of a topic are found in the journal", async () => {
  const hub = await pod({ journal: createMemoryStore().open(), replay: { maxEvents: 3 } });
  for (let i = 1; i <= 60; i++) await hub.publish({ topic: i % 3 ? "x" : "a", data: String(i) });
  await ingested(hub, 60);
  const { body } = hub.serve(ask(), { topics: ["b"] });
  const { connection } = JSON.parse((await readFrames(body, 2))[1]?.data ?? "{}");
  await hub.subscribe(connection, "a", { history: { last: 7 } });
  const seven = (await readFrames(body, 9)).slice(1, 8).map(({ data }) => Number(data));
  assertEquals(seven, [42, 45, 48, 51, 54, 57, 60]);
  await hub.subscribe(connection, "a", { history: { sinceMs: 600_000 } });
  assertEquals((await readFrames(body, 22)).length, 22);
  const { epoch } = hub.position();
  const after = await hub.subscribe(connection, "a", { after: `${epoch}:54` });
  assertEquals(after, { verdict: "resumed", head: 60 });
  const two = (await readFrames(body, 4)).slice(1, 3).map(({ data }) => Number(data));
  assertEquals(two, [57, 60]);
  await body?.cancel();
  await hub.shutdown();
});

test("a new epoch sends every client away, and their cursors are void", async () => {
  const journal = createMemoryStore().open();
  const hub = await pod({ journal });
  await hub.publish({ data: "1" });
  await ingested(hub, 1);
  const before = hub.position();
  const { body } = hub.serve(ask());
  await readFrames(body, 2);
  await journal.rotate(before.epoch);
  const [goodbye] = await readFrames(body, 1);
  assertEquals([goodbye?.event, goodbye?.data], ["sse:reset", '{"reason":"shutdown"}']);
  assertEquals((await open(hub, `${before.epoch}:1`, 0)).verdict, "epoch_changed");
  assertEquals(await hub.publish({ data: "2" }), 2);
  await hub.shutdown();
});

test("what may not be sent is refused before it is stored", async () => {
  const journal = createMemoryStore().open();
  const hub = await pod({ journal });
  await assertRejects(() => hub.publish({ name: "sse:x", data: "" }), TypeError);
  await assertRejects(() => hub.publish({ data: "\ud800" }), InvalidUtf8Error);
  await assertRejects(() => hub.publish({ data: "x".repeat(1_048_576) }), FrameTooLargeError);
  assertEquals((await journal.window()).head, 0);
  assertEquals(await hub.publish({ data: "e", ephemeral: true }), 0);
  assertEquals(await hub.publish({ data: "later", ack: false }), 0);
  assertEquals(await hub.publish({ data: "after" }), 2);
  await hub.shutdown();
  assertEquals(await hub.publish({ data: "too late" }), 0);
  await assertRejects(() => openHub({} as never), ConfigError);
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

test("what was published before a shutdown is delivered before the goodbye", async () => {
  const hub = await pod({ journal: createMemoryStore().open() });
  const { body } = hub.serve(ask());
  await readFrames(body, 2);
  for (let i = 1; i <= 10; i++) await hub.publish({ data: String(i) });
  const stopped = hub.shutdown();
  const frames = await readFrames(body, 11);
  assertEquals(frames.slice(0, 10).map(({ data }) => Number(data)), range(1, 10));
  assertEquals(frames[10]?.event, "sse:reset");
  await stopped;
});

test("what is no journal, and a journal where there is no use for one, are refused by name", async () => {
  const journal = createMemoryStore().open();
  await assertRejects(() => openHub({ journal: Promise.resolve(journal) } as never), ConfigError);
  assertThrows(() => createHub({ journal } as never), ConfigError, "openHub");
  await journal.close();
});

test("a subscription of strange shape is refused before the topic is subscribed", async () => {
  const hub = await pod({ journal: createMemoryStore().open() });
  const { body } = hub.serve(ask(), { topics: ["b"] });
  const { connection } = JSON.parse((await readFrames(body, 2))[1]?.data ?? "{}");
  const strange = [{ after: 5 }, { history: false }, { history: { last: 1, sinceMs: 1 } }];
  for (const options of strange) {
    await assertRejects(() => hub.subscribe(connection, "a", options as never), TypeError);
  }
  assertEquals(hub.unsubscribe(connection, "a"), false);
  await body?.cancel();
  await hub.shutdown();
});

test("a reader that stops does not pile up histories", async () => {
  const hub = await pod({ journal: createMemoryStore().open() });
  await hub.publish({ topic: "a", data: "x".repeat(100_000) });
  await ingested(hub, 1);
  const { body } = hub.serve(ask(), { topics: ["b"] });
  const { connection } = JSON.parse((await readFrames(body, 2))[1]?.data ?? "{}");
  const refused = await assertRejects(async () => {
    for (let i = 0; i < 2000; i++) await hub.subscribe(connection, "a", { history: true });
  }, TopicError);
  assert(refused.message.includes("256"));
  await body?.cancel();
  await hub.shutdown();
});
