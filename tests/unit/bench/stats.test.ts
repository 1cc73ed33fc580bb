import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { judge, median, quantile } from "../../../bench/lib/stats.ts";
import { test } from "../../support/test.ts";

test("the median stands in the middle, whatever the order", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([4, 1, 3, 2]), 2.5);
  assertEquals(median([7]), 7);
});

test("every quantile lies within the samples and never falls as the share grows", () => {
  const samples = fc.array(fc.integer({ min: -1_000, max: 1_000 }), {
    minLength: 1,
    maxLength: 30,
  });
  const shares = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(fc.property(samples, shares, shares, (list, a, b) => {
    const [low, high] = [quantile(list, Math.min(a, b)), quantile(list, Math.max(a, b))];
    assertEquals(low <= high, true);
    assertEquals(low >= Math.min(...list) && high <= Math.max(...list), true);
  }));
});

test("there is no median of nothing", () => {
  assertThrows(() => median([]), RangeError);
});

test("a target is kept on its own side of the bound, and not run without a value", () => {
  const target = { what: "it", bound: 2 };
  assertEquals(judge({ ...target, side: "at most", value: 2 }), "pass");
  assertEquals(judge({ ...target, side: "at most", value: 2.01 }), "miss");
  assertEquals(judge({ ...target, side: "at least", value: 2 }), "pass");
  assertEquals(judge({ ...target, side: "at least", value: 1.99 }), "miss");
  assertEquals(judge({ ...target, side: "at most", value: null }), "not run");
});
