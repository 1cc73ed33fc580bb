import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Joiner } from "../../../src/hub/joiner.ts";
import type { Frame } from "../../../src/hub/ring.ts";
import { test } from "../../support/test.ts";

const frame = (offset: number): Frame => ({
  offset,
  topic: "",
  bytes: Uint8Array.of(offset, offset),
  at: 0,
  born: 0,
});
const frames: readonly Frame[] = Array.from({ length: 8 }, (_, i) => frame(i + 1));

test("one frame leaves as its own bytes, without a copy", () => {
  const one = frame(1);
  assert(new Joiner().join([one]) === one.bytes);
});

test("connections with the same frames waiting share one chunk", () => {
  const joiner = new Joiner();
  const waiting = frames.slice(2, 5);
  const chunk = joiner.join(waiting);
  assertEquals([...chunk], [3, 3, 4, 4, 5, 5]);
  assert(joiner.join(waiting.slice()) === chunk);
});

test("the caller may change its array: what was joined is remembered as it was", () => {
  const joiner = new Joiner();
  const waiting = frames.slice(0, 3);
  joiner.join(waiting);
  waiting.shift();
  assertEquals([...joiner.join(waiting)], [2, 2, 3, 3]);
});

test("whatever waits and whatever was joined before, a chunk is exactly its frames", async () => {
  const lists = fc.array(fc.subarray([...frames], { minLength: 1 }), { maxLength: 20 });
  const turns = fc.array(fc.nat({ max: 19 }));
  await fc.assert(fc.asyncProperty(lists, turns, async (waiting, turnsBefore) => {
    const joiner = new Joiner();
    for (const [i, list] of waiting.entries()) {
      if (turnsBefore.includes(i)) await Promise.resolve();
      const expected = list.flatMap(({ offset }) => [offset, offset]);
      assertEquals([...joiner.join(list)], expected);
    }
  }));
});

test("what was joined is forgotten when the turn is over", async () => {
  const joiner = new Joiner();
  const chunk = joiner.join(frames);
  await Promise.resolve();
  assert(joiner.join(frames) !== chunk);
});

test("nothing waits, nothing leaves", () => {
  assertEquals(new Joiner().join([]).length, 0);
});
