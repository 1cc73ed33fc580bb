/**
 * Topics: who receives what, live and in a replay, and what a quiet topic's cursor is worth.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Runtime } from "../support/runtimes.ts";
import { type Ground, group, type Tests } from "./lib/group.ts";
import { hears } from "./lib/model.ts";

const RING = 16;

/** Topics that a careless router, broker or parser would read as something else. */
const LITERAL = [
  "a.*",
  "a.>",
  "*",
  ">",
  "#",
  "+",
  "a+b",
  "a b",
  "a&b=c",
  "a/b",
  "%41",
  "ä",
  "名",
  "😀",
];

/** At the default settings. */
export const topicTests: Tests = {
  "an event reaches those that listen to its topic, a broadcast everybody, live and replayed":
    async (ground) => {
      const epoch = await ground.epoch();
      const listening = [[], ["a"], ["b"], ["a", "b"], ["c"], ["a", "a"]];
      const published: { offset: number; topic: string }[] = [];
      const live = await Promise.all(listening.map((topics) => ground.open(query(topics))));
      await Promise.all(live.map((stream) => stream.hello()));
      for (let i = 0; i < 60; i++) {
        const topic = ["a", "b", "", "c", "a", "d"][i % 6] ?? "";
        const [offset = NaN] = await ground.publish({ topic, data: topic });
        published.push({ offset, topic });
      }
      await ground.settle(...live);
      const replayed = await Promise.all(listening.map((topics) => {
        return ground.open(query(topics), { cursor: `${epoch}:0` });
      }));
      const end = await ground.settle(...replayed);
      for (const [i, topics] of listening.entries()) {
        const mine = published.filter(({ topic }) => hears(topics, topic)).map(({ offset }) =>
          offset
        );
        const seen = live[i]?.offsets.filter((offset) => offset < end - 1);
        assertEquals(seen, mine, `live ${topics}`);
        assertEquals(replayed[i]?.offsets, [...mine, end - 1, end], `replayed ${topics}`);
      }
    },

  "a topic means itself, whatever characters it is made of": async (ground) => {
    const streams = await Promise.all(LITERAL.map((topic) => ground.open(query([topic]))));
    await Promise.all(streams.map((stream) => stream.hello()));
    for (const topic of LITERAL) await ground.publish({ topic, data: topic });
    await ground.settle(...streams);
    const seen = streams.map((stream) => stream.durable.map(({ data }) => data));
    assertEquals(seen, LITERAL.map((topic) => [topic, "settle"]));
  },

  "of 1,000 topics each client receives its own, once": async (ground) => {
    const topics = Array.from({ length: 1000 }, (_, i) => `topic:${i}`);
    const streams = await Promise.all(Array.from({ length: 100 }, (_, i) => {
      return ground.open(query(topics.slice(i * 10, i * 10 + 10)));
    }));
    await Promise.all(streams.map((stream) => stream.hello()));
    await inTurn(topics, 4, (topic) => ground.publish({ topic, data: topic }));
    await ground.settle(...streams);
    for (const [i, stream] of streams.entries()) {
      const mine = topics.slice(i * 10, i * 10 + 10);
      const seen = stream.durable.map(({ data }) => data);
      assertEquals(seen.toSorted(), [...mine, "settle"].toSorted());
    }
  },
};

/** Registers the tests that need a server of their own. */
export function topics(runtime: Runtime): void {
  group(runtime, "quiet topics", { replayEvents: RING, replyMax: RING, keepaliveMs: 200 }, {
    "a client on a quiet topic resumes after the ring has turned over 100 times": async (
      ground,
    ) => {
      const first = await ground.open("?topic=quiet");
      await first.hello();
      await ground.publish({ topic: "quiet", data: "seen" });
      await first.events(1);
      await first.close();
      for (let i = 0; i < 4; i++) await turnOver(ground, 25);
      const second = await ground.open("?topic=quiet", { cursor: first.audit.cursor });
      assertEquals((await second.hello()).verdict, "resumed");
      const [offset = NaN] = await ground.publish({ topic: "quiet", data: "new" });
      await second.reached(offset);
      assertEquals(second.offsets, [offset]);
    },

    "one whose topic was not quiet is told gap_floor": async (ground) => {
      const epoch = await ground.epoch();
      const [mine = NaN] = await ground.publish({ topic: "mine", data: "lost" });
      await turnOver(ground, 2);
      const missed = await ground.open("?topic=mine", { cursor: `${epoch}:${mine - 1}` });
      assertEquals((await missed.hello()).verdict, "gap_floor");
      const seen = await ground.open("?topic=mine", { cursor: `${epoch}:${mine}` });
      assertEquals((await seen.hello()).verdict, "resumed");
      const both = await ground.open("?topic=mine&topic=busy", { cursor: `${epoch}:${mine}` });
      assertEquals((await both.hello()).verdict, "gap_floor");
    },

    "a broadcast that was evicted is missed on every topic": async (ground) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "broadcast" });
      await turnOver(ground, 2);
      const stream = await ground.open("?topic=quiet", { cursor: `${epoch}:0` });
      assertEquals((await stream.hello()).verdict, "gap_floor");
    },

    "the cursor of a silent stream moves with the head, at each keepalive": async (ground) => {
      const stream = await ground.open("?topic=quiet");
      await stream.hello();
      await turnOver(ground, 3);
      await stream.reached(3 * RING);
      assertEquals(stream.durable, []);
      await stream.close();
      const again = await ground.open("?topic=quiet", { cursor: stream.audit.cursor });
      assertEquals((await again.hello()).verdict, "resumed");
    },
  });
}

function query(topics: readonly string[]): string {
  if (topics.length === 0) return "";
  return `?${topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join("&")}`;
}

/** Publishes so many ringfuls on a topic nobody in the test listens to alone. */
async function turnOver(ground: Ground, times: number): Promise<void> {
  await ground.publish({ topic: "busy", data: "x", count: RING * times });
}

/** Works through a list, so many at a time. */
async function inTurn<T>(
  list: readonly T[],
  width: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => {
    for (let item = list[next++]; item !== undefined; item = list[next++]) await work(item);
  }));
}
