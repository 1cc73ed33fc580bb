import * as assertions from "../offline/assert.ts";
import * as timers from "../offline/async.ts";
import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { test } from "../support/test.ts";
import { read } from "./project.ts";

test("the offline import map restates every import of deno.json", () => {
  const { imports } = JSON.parse(read("deno.json"));
  const offline = JSON.parse(read("tests/offline/import_map.json")).imports;
  assertEquals(Object.keys(offline).sort(), Object.keys(imports).sort());
  for (const [name, target] of Object.entries(imports)) {
    if (!String(target).startsWith("jsr:")) assertEquals(offline[name], target, name);
  }
});

test("every stand-in has a name that the real package has too", async () => {
  // Where JSR cannot be reached this compares the stand-ins with themselves.
  const pairs = [[assertions, await import("@std/assert")], [timers, await import("@std/async")]];
  for (const [ours, real] of pairs) {
    const names: string[] = Object.keys(real ?? {});
    assertEquals(Object.keys(ours ?? {}).filter((name) => !names.includes(name)), []);
  }
});

test("each stand-in of an assertion fails when it should, and only then", () => {
  const error = new TypeError("a reason");
  const cases: readonly [name: string, good: () => void, bad: () => void][] = [
    ["assert", () => assertions.assert(1), () => assertions.assert(0)],
    ["assertFalse", () => assertions.assertFalse(0), () => assertions.assertFalse(1)],
    [
      "assertEquals",
      () => assertions.assertEquals({ a: [1, new Map([[1, 2]])] }, { a: [1, new Map([[1, 2]])] }),
      () => assertions.assertEquals<unknown>({ a: undefined }, {}),
    ],
    [
      "assertEquals of URLs",
      () => assertions.assertEquals(new URL("http://a/"), new URL("http://a/")),
      () => assertions.assertEquals(new URL("http://a/"), new URL("http://b/")),
    ],
    [
      "assertNotEquals",
      () => assertions.assertNotEquals([1], [2]),
      () => assertions.assertNotEquals([1], [1]),
    ],
    [
      "assertStrictEquals",
      () => assertions.assertStrictEquals(NaN, NaN),
      () => assertions.assertStrictEquals<unknown>([], []),
    ],
    [
      "assertNotStrictEquals",
      () => assertions.assertNotStrictEquals<unknown>([], []),
      () => assertions.assertNotStrictEquals(1, 1),
    ],
    ["assertExists", () => assertions.assertExists(0), () => assertions.assertExists(null)],
    ["assertMatch", () => assertions.assertMatch("a", /a/), () => assertions.assertMatch("b", /a/)],
    [
      "assertNotMatch",
      () => assertions.assertNotMatch("b", /a/),
      () => assertions.assertNotMatch("a", /a/),
    ],
    [
      "assertStringIncludes",
      () => assertions.assertStringIncludes("abc", "b"),
      () => assertions.assertStringIncludes("abc", "d"),
    ],
    [
      "assertArrayIncludes",
      () => assertions.assertArrayIncludes([[1], [2]], [[2]]),
      () => assertions.assertArrayIncludes([[1], [2]], [[3]]),
    ],
    ["assertGreater", () => assertions.assertGreater(2, 1), () => assertions.assertGreater(1, 1)],
    [
      "assertGreaterOrEqual",
      () => assertions.assertGreaterOrEqual(1, 1),
      () => assertions.assertGreaterOrEqual(0, 1),
    ],
    ["assertLess", () => assertions.assertLess(1, 2), () => assertions.assertLess(1, 1)],
    [
      "assertLessOrEqual",
      () => assertions.assertLessOrEqual(1, 1),
      () => assertions.assertLessOrEqual(2, 1),
    ],
    [
      "assertInstanceOf",
      () => assertions.assertInstanceOf(error, TypeError),
      () => assertions.assertInstanceOf(error, RangeError),
    ],
    [
      "assertIsError",
      () => assertions.assertIsError(error, TypeError, /reason/),
      () => assertions.assertIsError(error, TypeError, "another"),
    ],
    [
      "assertThrows of a class",
      () => assertStrictEquals(assertions.assertThrows(() => raise(error), TypeError), error),
      () => assertions.assertThrows(() => raise(error), RangeError),
    ],
    [
      "assertThrows of anything",
      () => assertStrictEquals(assertions.assertThrows(() => raise(error)), error),
      () => assertions.assertThrows(() => {}),
    ],
    [
      "assertThrows of no error",
      () => assertStrictEquals(assertions.assertThrows(() => raise("text")), "text"),
      () => assertions.assertThrows(() => raise("text"), Error),
    ],
    ["fail", () => {}, () => assertions.fail()],
    ["unreachable", () => {}, () => assertions.unreachable()],
  ];
  for (const [name, good, bad] of cases) {
    good();
    const thrown = assertThrows(bad, assertions.AssertionError, undefined, name);
    assertStrictEquals(thrown.name, "AssertionError");
  }
});

test("the stand-in of assertRejects wants a promise that rejects", async () => {
  const error = new TypeError("a reason");
  const rejecting = () => Promise.reject(error);
  assertStrictEquals(await assertions.assertRejects(rejecting, TypeError, "reason"), error);
  assertStrictEquals(await assertions.assertRejects(rejecting), error);
  const refused: readonly (() => Promise<unknown>)[] = [
    () => assertions.assertRejects(rejecting, RangeError),
    () => assertions.assertRejects(rejecting, TypeError, "another"),
    () => assertions.assertRejects(() => Promise.resolve()),
    () => assertions.assertRejects(() => raise(error)),
  ];
  for (const run of refused) await assertRejects(run, assertions.AssertionError);
});

test("the stand-ins of delay and deadline keep time, and end with their signal", async () => {
  const aborted = AbortSignal.abort(new Error("enough"));
  await timers.delay(1);
  await assertRejects(() => timers.delay(60_000, { signal: aborted }), Error, "enough");
  assertEquals(await timers.deadline(Promise.resolve(1), 60_000), 1);
  const never = new Promise<never>(() => {});
  const late = await assertRejects(() => timers.deadline(never, 1), DOMException);
  assertEquals(late.name, "TimeoutError");
  const controller = new AbortController();
  const waiting = timers.deadline(never, 60_000, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
});

function raise(error: unknown): never {
  throw error;
}
