import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { heard, isSilent, type Pulse } from "../../../../src/client/worker/pulse.ts";
import { test } from "../../../support/test.ts";

const BEAT_MS = 5000;

/** Asks at each tick, as both ends do, until the other end is given up. Returns when. */
function ticks(instants: readonly number[], answersUntil: number): number | null {
  const pulse: Pulse = { heardAt: 0, asks: 0 };
  for (const now of instants) {
    if (isSilent(pulse, now, BEAT_MS)) return now;
    pulse.asks++;
    if (now < answersUntil) heard(pulse, now);
  }
  return null;
}

test("an end that answers no more is silent after three beats, and not before", () => {
  assertEquals(ticks([5000, 10_000, 15_000, 20_000, 25_000], 6000), 20_000);
  assertEquals(ticks([5000, 10_000, 14_999], 0), null);
  assertEquals(ticks([5000, 10_000, 15_000], 0), 15_000);
});

test("a page that slept for an hour asks again before it judges", () => {
  // Asked, then slept; its first turn comes before the answer that waits for it.
  const pulse: Pulse = { heardAt: 0, asks: 1 };
  const hour = 3_600_000;
  assertEquals(isSilent(pulse, hour, BEAT_MS), false);
  pulse.asks++;
  heard(pulse, hour);
  assertEquals(isSilent(pulse, hour + BEAT_MS, BEAT_MS), false);
});

test("a page whose timers run once a minute never gives up an end that answers within it", () => {
  const minutes = Array.from({ length: 60 }, (_, i) => (i + 1) * 60_000);
  assertEquals(ticks(minutes, Infinity), null);
});

test("whatever the ticks, an end that answers each question is never silent", () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 600_000 })), (waits) => {
    let now = 0;
    assertEquals(ticks(waits.map((wait) => now += wait), Infinity), null);
  }));
});

test("whatever the ticks, no end is silent before three beats have passed and two questions failed", () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 20_000 })), (waits) => {
    let now = 0;
    const instants = waits.map((wait) => now += wait);
    const at = ticks(instants, 0);
    const first = instants.find((instant, index) => index >= 2 && instant >= 3 * BEAT_MS);
    assertEquals(at, first ?? null);
  }));
});
