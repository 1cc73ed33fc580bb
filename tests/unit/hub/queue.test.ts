import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { FrameQueue } from "../../../src/hub/queue.ts";
import type { Frame } from "../../../src/hub/ring.ts";
import { test } from "../../support/test.ts";

let label = 0;
/** A frame; offset 0 makes it ephemeral. */
const frame = (offset: number, size = 1): Frame => ({
  offset,
  topic: "",
  bytes: new Uint8Array(size),
  at: label++,
  born: 0,
});
const offsets = (frames: readonly Frame[]): number[] => frames.map((one) => one.offset);
const drain = (queue: FrameQueue): number[] => offsets(queue.take(Infinity, true));

test("frames leave in the order in which they came", () => {
  const queue = new FrameQueue(10, 1000);
  for (const offset of [1, 2, 0, 3]) assertEquals(queue.push(frame(offset), false), "queued");
  assertEquals([queue.length, drain(queue), queue.length], [4, [1, 2, 0, 3], 0]);
});

test("a durable frame beyond the number of frames is refused, and nothing changes", () => {
  const queue = new FrameQueue(2, 1000);
  queue.push(frame(1), false);
  queue.push(frame(2), false);
  assertEquals(queue.push(frame(3), false), "full");
  assertEquals(drain(queue), [1, 2]);
});

test("a durable frame beyond the bytes is refused, in a burst too", () => {
  const queue = new FrameQueue(10, 100);
  queue.push(frame(1, 60), true);
  assertEquals(queue.push(frame(2, 41), true), "full");
  assertEquals(queue.push(frame(2, 40), true), "queued");
  assertEquals(queue.push(frame(3, 1), true), "full");
  assertEquals(drain(queue), [1, 2]);
});

test("in a burst the number of frames may pass its bound, and the queue says that it is over", () => {
  const queue = new FrameQueue(2, 1000);
  for (const offset of [1, 2]) queue.push(frame(offset), true);
  assertEquals(queue.over, false);
  assertEquals(queue.push(frame(3), true), "queued");
  assertEquals([queue.over, queue.length], [true, 3]);
  queue.take(1, true);
  assertEquals(queue.over, false);
});

test("an ephemeral frame is dropped when there is no place, in a burst too", () => {
  const queue = new FrameQueue(1, 1000);
  queue.push(frame(1), false);
  assertEquals(queue.push(frame(0), false), "dropped");
  assertEquals(queue.push(frame(0), true), "dropped");
  assertEquals(drain(queue), [1]);
});

test("ephemeral frames give way to a durable one", () => {
  const queue = new FrameQueue(3, 1000);
  for (const offset of [1, 0, 0]) queue.push(frame(offset), false);
  assertEquals(queue.push(frame(2), false), "queued");
  assertEquals(drain(queue), [1, 2]);
  // Their bytes were given back too.
  for (let i = 0; i < 3; i++) assertEquals(queue.push(frame(i + 3, 300), false), "queued");
});

test("a take keeps within its room, but for a first frame that is taken whatever its size", () => {
  const queue = new FrameQueue(10, 1000);
  for (const [i, size] of [50, 50, 300, 10].entries()) queue.push(frame(i + 1, size), false);
  assertEquals(offsets(queue.take(40, false)), []);
  assertEquals(offsets(queue.take(120, false)), [1, 2]);
  assertEquals(offsets(queue.take(120, false)), []);
  assertEquals(offsets(queue.take(120, true)), [3]);
  assertEquals(offsets(queue.take(120, true)), [4]);
  assertEquals(offsets(queue.take(120, true)), []);
});

test("what was taken never changes by what is pushed later", () => {
  const queue = new FrameQueue(10, 1000);
  queue.push(frame(1), false);
  const taken = queue.take(100, true);
  queue.push(frame(2), false);
  assertEquals(offsets(taken), [1]);
});

test("clearing gives all places back", () => {
  const queue = new FrameQueue(2, 20);
  queue.push(frame(1, 10), false);
  queue.push(frame(0, 10), false);
  queue.clear();
  assertEquals([queue.length, queue.over], [0, false]);
  assertEquals(queue.push(frame(2, 20), false), "queued");
  assertEquals(drain(queue), [2]);
});

test("under any pushes and takes nothing durable is lost, doubled, reordered, or over a bound", () => {
  const step = fc.oneof(
    fc.record({
      push: fc.constantFrom(true, true, true, false),
      size: fc.integer({ min: 1, max: 30 }),
      burst: fc.boolean(),
    }),
    fc.record({ take: fc.integer({ min: 0, max: 80 }), first: fc.boolean() }),
  );
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 30, max: 120 }),
      (script, maxFrames, maxBytes) => {
        const queue = new FrameQueue(maxFrames, maxBytes);
        let waiting: Frame[] = [];
        let next = 1;
        const bytes = (frames: readonly Frame[]): number =>
          frames.reduce((sum, one) => sum + one.bytes.length, 0);
        for (const one of script) {
          if ("push" in one) {
            const pushed = frame(one.push ? next++ : 0, one.size);
            const outcome = queue.push(pushed, one.burst);
            if (outcome === "queued") {
              const place = waiting.length < maxFrames && bytes(waiting) + one.size <= maxBytes;
              if (!place) waiting = waiting.filter(({ offset }) => offset !== 0);
              waiting.push(pushed);
              if (pushed.offset === 0) assert(place, "an ephemeral frame has no right to a burst");
            } else if (outcome === "full") {
              assert(pushed.offset !== 0);
              waiting = waiting.filter(({ offset }) => offset !== 0);
              const noPlace = !one.burst && waiting.length >= maxFrames;
              assert(noPlace || bytes(waiting) + one.size > maxBytes, "refused without need");
            }
            if (!one.burst && outcome === "queued") assert(queue.length <= maxFrames);
          } else {
            const taken = queue.take(one.take, one.first);
            assertEquals(taken, waiting.slice(0, taken.length));
            const only = taken.length === 1 && one.first;
            assert(only || bytes(taken) <= one.take, "within its room");
            const following = waiting[taken.length];
            const more = following !== undefined &&
              (bytes(taken) + following.bytes.length <= one.take ||
                (one.first && taken.length === 0));
            assert(!more, "as many as there is room for");
            waiting = waiting.slice(taken.length);
          }
          assertEquals(queue.length, waiting.length);
          assert(bytes(waiting) <= maxBytes, "the bytes never pass their bound");
          assertEquals(queue.over, waiting.length > maxFrames);
        }
        assertEquals(queue.take(Infinity, true), waiting);
      },
    ),
    { numRuns: 500 },
  );
});
