/** The times and bounds of a client: where they come from, and what an application may set. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import { DEFAULT_TIMING, resolveTiming, type TimingConfig } from "../../../src/client/timing.ts";
import { test } from "../../support/test.ts";
import written from "../../../timing.json" with { type: "json" };

const NAMES = Object.keys(DEFAULT_TIMING) as (keyof TimingConfig)[];
/** The longest that a timer takes. */
const LONGEST = 2_147_483_647;
/** What 0 switches off; each of the others is at least 1. */
const ZERO: readonly string[] = ["hiddenCloseAfterMs", "wakeThrottleMs", "stableMs"];

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

test("every default is the number in timing.json, under its name in camelCase", () => {
  const numbers: Readonly<Record<string, unknown>> = written;
  for (const name of NAMES) {
    const expected = name === "heldMaxBytes"
      ? written.held_max_bytes_frames * written.max_frame_bytes
      : numbers[snake(name)];
    assertEquals<unknown>(DEFAULT_TIMING[name], expected, name);
  }
  // These are the client's half; one that is taken away must be missed here.
  assertEquals(NAMES, [
    "connectTimeoutMs",
    "helloTimeoutMs",
    "revalidateTimeoutMs",
    "digestTimeoutMs",
    "heldMaxFrames",
    "heldMaxBytes",
    "baseMs",
    "capMs",
    "stableMs",
    "hiddenCloseAfterMs",
    "wakeThrottleMs",
    "heartbeatMs",
    "aliveEveryBeats",
    "watchdogBeats",
    "watchdogFloorMs",
    "maxBufferBytes",
  ]);
});

test("what is not given is the default, and what is given is kept", () => {
  assertEquals(resolveTiming(), DEFAULT_TIMING);
  assertEquals(resolveTiming({}), DEFAULT_TIMING);
  for (const name of NAMES) {
    assertEquals(resolveTiming({ [name]: 7 }), { ...DEFAULT_TIMING, [name]: 7 });
  }
  assertEquals(DEFAULT_TIMING.baseMs, 500);
});

test("each time and bound is a whole number from 1, or where it switches something off from 0", () => {
  for (const name of NAMES) {
    const least = ZERO.includes(name) ? 0 : 1;
    assertEquals(resolveTiming({ [name]: least })[name], least);
    const bad = [least - 1, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 53, "1", null, true];
    for (const value of bad) {
      const error = assertThrows(() => resolveTiming({ [name]: value }), ConfigError);
      assertEquals([error.option, error.code], [`timing.${name}`, "config"], `${value}`);
    }
  }
});

test("a time is no longer than a timer takes, and a bound may be", () => {
  for (const name of NAMES) {
    assertEquals(resolveTiming({ [name]: LONGEST })[name], LONGEST);
    if (!name.endsWith("Ms")) assertEquals(resolveTiming({ [name]: 2 ** 31 })[name], 2 ** 31);
    else assertThrows(() => resolveTiming({ [name]: 2 ** 31 }), ConfigError, `timing.${name}`);
  }
});

test("a name that there is not is refused, so that a slip does not pass for an option", () => {
  const given = fc.string().filter((name) => !(name in DEFAULT_TIMING));
  fc.assert(fc.property(given, (name) => {
    const error = assertThrows(() => resolveTiming(Object.fromEntries([[name, 1]])), ConfigError);
    assertEquals(error.option, `timing.${name}`);
  }));
  for (const name of ["baseMS", "base_ms", "keepaliveMs", "maxAttempts"]) {
    assertThrows(() => resolveTiming({ [name]: 1 }), ConfigError, `timing.${name}`);
  }
});
