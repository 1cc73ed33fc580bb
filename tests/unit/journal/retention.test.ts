import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import { readRetention, type RetentionOptions } from "../../../src/journal/retention.ts";
import { test } from "../../support/test.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
const NAMES = ["maxEntries", "maxAgeMs", "maxBytes"] as const;

test("a journal keeps seven days by default, and has no other bound", () => {
  const bounds = { maxEntries: Infinity, maxAgeMs: WEEK_MS, maxBytes: Infinity };
  assertEquals(readRetention(), bounds);
  assertEquals(readRetention({}), bounds);
});

test("0 stands for no bound", () => {
  const none = { maxEntries: Infinity, maxAgeMs: Infinity, maxBytes: Infinity };
  assertEquals(readRetention({ maxEntries: 0, maxAgeMs: 0, maxBytes: 0 }), none);
});

test("every whole number above 0 is a bound as it stands", () => {
  const bound = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  fc.assert(fc.property(bound, bound, bound, (maxEntries, maxAgeMs, maxBytes) => {
    const bounds = { maxEntries, maxAgeMs, maxBytes };
    assertEquals(readRetention(bounds), bounds);
  }));
});

test("what is no whole number from 0 is refused by the name of its option", () => {
  const wrong = [-1, 0.5, NaN, Infinity, -Infinity, 2 ** 53, "10", null];
  for (const name of NAMES) {
    for (const value of wrong) {
      // As a program without types would pass it.
      const options = { [name]: value } as RetentionOptions;
      const error = assertThrows(() => readRetention(options), ConfigError, String(value));
      assertEquals(error.option, `retention.${name}`);
    }
  }
});
