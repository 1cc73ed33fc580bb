/** What the demo's hub gives to a reader that takes its time, and what a restart leaves of it. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { Feed, turn } from "../../examples/demo/feed.ts";
import { makeStore } from "../../examples/demo/store.ts";
import { test } from "../support/test.ts";

const PAD = "~".repeat(10_240);

async function withFeed(kind: string, work: (feed: Feed) => Promise<void>): Promise<void> {
  const store = makeStore(kind);
  const feed = await Feed.open(store);
  try {
    await work(feed);
  } finally {
    await feed.shutdown();
    store.discard();
  }
}

/** In batches, like the demo's: the hub must read each before retention takes it away. */
async function burst(feed: Feed, count: number): Promise<void> {
  for (let i = 1; i <= count; i++) {
    const stored = feed.publish("burst", { pad: PAD });
    if (i % 100 !== 0 && i !== count) continue;
    await stored;
    await turn();
  }
}

interface Reader {
  readonly verdict: string | undefined;
  /** The numbers of all events up to one, and what was told of holes. */
  upTo(last: number): Promise<{ ns: number[]; told: number[] }>;
  close(): Promise<void>;
}

/** A reader of the bursts that takes nothing until it is asked. */
async function open(feed: Feed, cursor = ""): Promise<Reader> {
  const headers = { "SSE-Lag": "1", ...(cursor !== "" && { "Last-Event-ID": cursor }) };
  const request = new Request("http://localhost/", { headers });
  const { body } = feed.hub.serve(request, { topics: ["burst"] });
  assert(body !== null);
  const pieces = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (word: string): Promise<void> => {
    while (!text.includes(word)) {
      const { done, value } = await pieces.read();
      if (done) throw new Error(`It has ended: ${text.slice(-300)}`);
      text += value;
    }
  };
  await until("event: sse:hello\n");
  return {
    verdict: /"verdict":"(\w+)"/.exec(text)?.[1],
    async upTo(last) {
      await until(`"n":${last},`);
      const numbers = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, n]) => Number(n));
      return { ns: numbers(/"n":(\d+),/g), told: numbers(/event: sse:lag\n.*"missed":(\d+)/g) };
    },
    close: () => pieces.cancel(),
  };
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

for (const kind of ["sqlite", "memory"]) {
  test(`a reader that stalls for less than ${kind} keeps misses nothing`, () =>
    withFeed(kind, async (feed) => {
      const reader = await open(feed);
      // 3 MB: three times the buffer of one client, and the ring; less than the journal keeps.
      await burst(feed, 300);
      assertEquals(await reader.upTo(300), { ns: upTo(300), told: [] });
      await reader.close();
    }));

  test(`a reader that stalls for more than ${kind} keeps is told exactly how much it missed`, () =>
    withFeed(kind, async (feed) => {
      const reader = await open(feed);
      await burst(feed, 1000);
      const { ns, told } = await reader.upTo(1000);
      assertGreater(told.length, 0);
      assertEquals(told.reduce((sum, n) => sum + n, 0), 1000 - ns.length);
      await reader.close();
    }));

  test(`a restart over ${kind} keeps the epoch and every event, also of those that came meanwhile`, () =>
    withFeed(kind, async (feed) => {
      await burst(feed, 3);
      const { epoch, head } = feed.hub.position();
      const restarting = feed.restart();
      const during = burst(feed, 5);
      assertEquals(await restarting, { epoch, hub: 2 });
      await during;
      await turn();
      const { cursor, published } = JSON.parse(feed.status());
      assertEquals([cursor, published.burst], [`${epoch}:${head + 5}`, 8]);
      const reader = await open(feed, `${epoch}:${head}`);
      assertEquals(reader.verdict, "resumed");
      assertEquals(await reader.upTo(8), { ns: [4, 5, 6, 7, 8], told: [] });
      await reader.close();
    }));
}

test("a restart without a journal is another epoch, and its counters go on", () =>
  withFeed("none", async (feed) => {
    await burst(feed, 3);
    const { epoch } = feed.hub.position();
    assert((await feed.restart()).epoch !== epoch);
    await burst(feed, 1);
    await turn();
    const { cursor, published } = JSON.parse(feed.status());
    assertEquals([cursor, published.burst], [`${feed.hub.position().epoch}:1`, 4]);
    const reader = await open(feed, `${epoch}:1`);
    assertEquals(reader.verdict, "epoch_changed");
    await reader.close();
  }));

test("two restarts at once are one", () =>
  withFeed("sqlite", async (feed) => {
    const [one, two] = await Promise.all([feed.restart(), feed.restart()]);
    assertEquals([one.hub, two], [2, one]);
  }));
