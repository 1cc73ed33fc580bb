import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { EvictedOffsets, MAX_EVICTED_TOPICS } from "../../../src/hub/evicted.ts";
import { topicsSince } from "../../../src/hub/topics.ts";
import { test } from "../../support/test.ts";

const TOPICS = ["", "a", "b", "c", "d", "e", "f"];

interface Eviction {
  readonly topic: string;
  readonly offset: number;
}

/** The truth, from the whole history: the newest eviction that these topics would have received. */
function newest(history: readonly Eviction[], topics: readonly string[] | null): number {
  return history
    .filter(({ topic }) => topics === null || topic === "" || topics.includes(topic))
    .reduce((max, { offset }) => Math.max(max, offset), 0);
}

const histories: fc.Arbitrary<Eviction[]> = fc.array(
  fc.tuple(fc.constantFrom(...TOPICS), fc.constantFrom(1, 1, 1, 2, 7)),
  { maxLength: 60 },
).map((steps) => {
  let offset = 0;
  return steps.map(([topic, step]) => ({ topic, offset: offset += step }));
});
const topicSets = fc.option(fc.subarray(TOPICS.slice(1), { minLength: 1 }), { nil: null });

function noted(history: readonly Eviction[], limit?: number): EvictedOffsets {
  const evicted = new EvictedOffsets(limit);
  for (const { topic, offset } of history) evicted.note(topic, offset);
  return evicted;
}

test("before any eviction nothing is missing for anybody", () => {
  const evicted = new EvictedOffsets();
  assertEquals([evicted.newestFor(null), evicted.newestFor(topicsSince(["a"]))], [0, 0]);
});

test("a quiet topic is not told of what another one lost", () => {
  const evicted = noted([{ topic: "a", offset: 1 }, { topic: "b", offset: 2 }]);
  assertEquals(evicted.newestFor(topicsSince(["a"])), 1);
  assertEquals(evicted.newestFor(topicsSince(["b"])), 2);
  assertEquals(evicted.newestFor(topicsSince(["c"])), 0);
  assertEquals(evicted.newestFor(topicsSince(["a", "b"])), 2);
  assertEquals(evicted.newestFor(null), 2);
});

test("a broadcast is lost for everybody", () => {
  const evicted = noted([{ topic: "", offset: 3 }, { topic: "b", offset: 4 }]);
  assertEquals(evicted.newestFor(topicsSince(["a"])), 3);
  assertEquals(evicted.newestFor(topicsSince(["b"])), 4);
});

test("as long as all topics are remembered, every answer is exact", () => {
  fc.assert(fc.property(histories, topicSets, (history, topics) => {
    assertEquals(noted(history).newestFor(topicsSince(topics)), newest(history, topics));
  }));
});

test("a forgotten topic can only make an answer err upwards, towards gap_floor", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 1, max: 4 }), topicSets, (history, limit, topics) => {
      const answer = noted(history, limit).newestFor(topicsSince(topics));
      assert(answer >= newest(history, topics), "never below the truth");
      assert(answer <= newest(history, null), "never above what was evicted at all");
    }),
    { numRuns: 500 },
  );
});

test("the answer for everything is exact whatever was forgotten", () => {
  fc.assert(fc.property(histories, fc.integer({ min: 1, max: 4 }), (history, limit) => {
    assertEquals(noted(history, limit).newestFor(null), newest(history, null));
  }));
});

test("the topics evicted last are remembered exactly: the ones longest quiet are forgotten", () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 1, max: 4 }), (history, limit) => {
      const evicted = noted(history, limit);
      const latest = [...new Set(history.map(({ topic }) => topic).reverse())].slice(0, limit);
      for (const topic of latest) {
        if (topic === "") continue;
        assertEquals(evicted.newestFor(topicsSince([topic])), newest(history, [topic]));
      }
    }),
  );
});

test("what is forgotten raises the common floor for topics that were never heard of too", () => {
  const evicted = noted([
    { topic: "a", offset: 1 },
    { topic: "b", offset: 2 },
    { topic: "c", offset: 3 },
  ], 2);
  assertEquals(evicted.newestFor(topicsSince(["never"])), 1);
  assertEquals(evicted.newestFor(topicsSince(["a"])), 1);
  assertEquals(evicted.newestFor(topicsSince(["b"])), 2);
});

test("a raised floor holds for every topic, and never falls again", () => {
  const evicted = noted([{ topic: "a", offset: 1 }, { topic: "b", offset: 9 }]);
  evicted.raise(5);
  evicted.raise(3);
  assertEquals(evicted.newestFor(topicsSince(["never"])), 5);
  assertEquals(evicted.newestFor(topicsSince(["a"])), 5);
  assertEquals(evicted.newestFor(topicsSince(["b"])), 9);
  assertEquals(evicted.newestFor(null), 9);
  evicted.raise(12);
  assertEquals([evicted.newestFor(topicsSince(["b"])), evicted.newestFor(null)], [12, 12]);
});

test("65 536 topics are remembered by default, one more forgets the one longest quiet", () => {
  assertEquals(MAX_EVICTED_TOPICS, 65_536);
  const evicted = new EvictedOffsets();
  for (let i = 1; i <= MAX_EVICTED_TOPICS; i++) evicted.note(`t${i}`, i);
  assertEquals(evicted.newestFor(topicsSince(["never"])), 0);
  evicted.note("t1", MAX_EVICTED_TOPICS + 1);
  assertEquals(evicted.newestFor(topicsSince(["never"])), 0);
  evicted.note("one more", MAX_EVICTED_TOPICS + 2);
  // t1 was heard of again, so t2 is the one that went.
  assertEquals(evicted.newestFor(topicsSince(["never"])), 2);
});
