import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Frame, Ring, type RingBounds } from "../../../src/hub/ring.ts";
import { ListRing } from "../../model/list_ring.ts";
import { test } from "../../support/test.ts";

const frame = (offset: number, size: number, born: number, topic = ""): Frame => ({
  offset,
  topic,
  bytes: new Uint8Array(size),
  at: 0,
  born,
});
const ROOMY: RingBounds = { maxEvents: 1_000_000, ttlMs: Infinity, maxBytes: Infinity };

function ringOf(bounds: Partial<RingBounds>): { ring: Ring; evicted: number[] } {
  const evicted: number[] = [];
  return { ring: new Ring({ ...ROOMY, ...bounds }, (gone) => evicted.push(gone.offset)), evicted };
}

const held = (ring: Ring): number[] => [...ring.after(0)].map(({ offset }) => offset);

test("an empty ring has floor 0, holds nothing and replays nothing", () => {
  const { ring } = ringOf({});
  assertEquals([ring.length, ring.bytes, ring.floor], [0, 0, 0]);
  assertEquals(held(ring), []);
  ring.evict(1e9);
});

test("above the count the oldest leaves first", () => {
  const { ring, evicted } = ringOf({ maxEvents: 3 });
  for (let offset = 1; offset <= 5; offset++) ring.push(frame(offset, 10, 0));
  assertEquals(held(ring), [3, 4, 5]);
  assertEquals(evicted, [1, 2]);
  assertEquals([ring.length, ring.bytes, ring.floor], [3, 30, 3]);
});

test("above the bytes as many of the oldest leave as need be", () => {
  const { ring, evicted } = ringOf({ maxBytes: 100 });
  for (let offset = 1; offset <= 4; offset++) ring.push(frame(offset, 25, 0));
  assertEquals(evicted, []);
  ring.push(frame(5, 60, 0));
  assertEquals(evicted, [1, 2, 3]);
  assertEquals([held(ring), ring.bytes], [[4, 5], 85]);
});

test("a frame is held for its whole age and evicted after it", () => {
  const { ring, evicted } = ringOf({ ttlMs: 1000 });
  ring.push(frame(1, 1, 0));
  ring.push(frame(2, 1, 500));
  ring.evict(1000);
  assertEquals(evicted, []);
  ring.evict(1001);
  assertEquals(evicted, [1]);
  ring.push(frame(3, 1, 1501));
  assertEquals(evicted, [1, 2]);
});

test("a ring of no events holds nothing, and says of each frame that it left", () => {
  const { ring, evicted } = ringOf({ maxEvents: 0 });
  ring.push(frame(1, 10, 0));
  ring.push(frame(2, 10, 0));
  assertEquals([held(ring), evicted, ring.bytes], [[], [1, 2], 0]);
});

type Step =
  | { readonly do: "push"; readonly size: number; readonly skip: number; readonly wait: number }
  | { readonly do: "evict"; readonly wait: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("push" as const),
        size: fc.nat({ max: 40 }),
        skip: fc.constantFrom(0, 0, 0, 1, 5),
        wait: fc.nat({ max: 20 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("evict" as const), wait: fc.nat({ max: 120 }) }),
    },
  ),
  { maxLength: 80 },
);
const bounds: fc.Arbitrary<RingBounds> = fc.record({
  maxEvents: fc.nat({ max: 12 }),
  ttlMs: fc.oneof(fc.integer({ min: 1, max: 150 }), fc.constant(Infinity)),
  maxBytes: fc.integer({ min: 0, max: 200 }),
});

test("under any pushes and waits the ring is a list that is trimmed from its front", () => {
  fc.assert(
    fc.property(bounds, steps, fc.array(fc.nat({ max: 120 })), (limits, script, questions) => {
      const evicted: Frame[] = [];
      const ring = new Ring(limits, (gone) => evicted.push(gone));
      const list = new ListRing(limits);
      let now = 0;
      let offset = 0;
      for (const step of script) {
        now += step.wait;
        if (step.do === "push") {
          offset += 1 + step.skip;
          const pushed = frame(offset, step.size, now);
          ring.push(pushed);
          list.push(pushed);
        } else {
          ring.evict(now);
          list.evict(now);
        }
        assertEquals(held(ring), list.held.map((one) => one.offset));
        assertEquals(evicted, list.evicted);
        assertEquals([ring.length, ring.bytes, ring.floor], [
          list.held.length,
          list.held.reduce((sum, one) => sum + one.bytes.length, 0),
          list.held[0]?.offset ?? 0,
        ]);
      }
      for (const after of questions) {
        const expected = list.held.filter((one) => one.offset > after);
        assertEquals([...ring.after(after)], expected);
      }
    }),
    { numRuns: 200 },
  );
});

test("after an offset comes exactly what is above it, also where offsets skip numbers", () => {
  const { ring } = ringOf({});
  for (const offset of [2, 3, 7, 8, 20]) ring.push(frame(offset, 1, 0));
  const after = (offset: number): number[] => [...ring.after(offset)].map((one) => one.offset);
  assertEquals(after(0), [2, 3, 7, 8, 20]);
  assertEquals(after(2), [3, 7, 8, 20]);
  assertEquals(after(5), [7, 8, 20]);
  assertEquals(after(7), [8, 20]);
  assertEquals(after(19), [20]);
  assertEquals(after(20), []);
  assertEquals(after(Number.MAX_SAFE_INTEGER), []);
});

test("a reader that stops early reads no further", () => {
  const { ring } = ringOf({});
  for (let offset = 1; offset <= 10; offset++) ring.push(frame(offset, 1, 0));
  for (const { offset } of ring.after(3)) {
    assertEquals(offset, 4);
    break;
  }
  assertEquals(held(ring).length, 10);
});

test("a ring that has turned over many times still holds exactly its newest", () => {
  const { ring, evicted } = ringOf({ maxEvents: 100 });
  for (let offset = 1; offset <= 10_000; offset++) {
    ring.push(frame(offset, 3, 0));
    if (offset % 997 === 0) assertEquals(held(ring).length, Math.min(offset, 100));
  }
  assertEquals([ring.floor, ring.length, ring.bytes], [9901, 100, 300]);
  assertEquals([...ring.after(9995)].map(({ offset }) => offset), [9996, 9997, 9998, 9999, 10_000]);
  assertEquals(evicted.length, 9900);
  assert(evicted.every((offset, i) => offset === i + 1));
});
