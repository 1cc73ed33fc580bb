import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Beating, Beats } from "../../../src/hub/beats.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { test } from "../../support/test.ts";

/** A member that writes down when it was beaten. */
class Heard implements Beating {
  readonly at: number[] = [];
  checks = 0;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  beat(): void {
    this.at.push(this.#clock.monotonic());
  }

  check(now: number): void {
    assertEquals(now, this.#clock.monotonic());
    this.checks++;
  }
}

test("the first beat comes within one interval, each later one exactly an interval after it", () => {
  const cases = fc.tuple(
    fc.integer({ min: 1, max: 60_000 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
  );
  fc.assert(
    fc.property(cases, ([intervalMs, part]) => {
      const clock = new FakeClock();
      const beats = new Beats(clock, intervalMs);
      // Somebody else has kept the wheel turning for a while.
      beats.add(new Heard(clock));
      clock.advance(intervalMs * part * 3);
      const joined = clock.monotonic();
      const heard = new Heard(clock);
      beats.add(heard);
      clock.advance(intervalMs * 4.5);
      const close = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6 * intervalMs + 1e-6;
      const first = heard.at[0] ?? Infinity;
      assert(first - joined <= intervalMs + 1e-6 * intervalMs, `first after ${first - joined}`);
      assert(heard.at.length >= 4, `${heard.at.length} beats`);
      for (const [i, at] of heard.at.entries()) assert(close(at, first + i * intervalMs));
    }),
    { numRuns: 100 },
  );
});

test("a first beat does not come so early that it doubles the traffic of short streams", () => {
  const clock = new FakeClock();
  const beats = new Beats(clock, 15_000);
  const heard = new Heard(clock);
  beats.add(heard);
  clock.advance(14_000);
  assertEquals(heard.at, []);
  clock.advance(1000);
  assertEquals(heard.at.length, 1);
});

test("10 000 members that join in one instant are not beaten in one tick", () => {
  const clock = new FakeClock();
  const beats = new Beats(clock, 15_000);
  const members = Array.from({ length: 10_000 }, () => new Heard(clock));
  for (const one of members) beats.add(one);
  clock.advance(15_000);
  const perInstant = new Map<number, number>();
  for (const { at } of members) {
    assertEquals(at.length, 1, "each was beaten once within the interval");
    const first = at[0] ?? -1;
    perInstant.set(first, (perInstant.get(first) ?? 0) + 1);
  }
  const most = Math.max(...perInstant.values());
  assert(most <= 500, `${most} in one tick`);
  assert(perInstant.size >= 20, `${perInstant.size} ticks`);
});

test("members that join over time stay spread after many have left", () => {
  const clock = new FakeClock();
  const beats = new Beats(clock, 15_000);
  const members: Heard[] = [];
  for (let i = 0; i < 3000; i++) {
    const one = new Heard(clock);
    members.push(one);
    beats.add(one);
    clock.advance(3);
  }
  for (const one of members.splice(0, 1500)) beats.delete(one);
  const before = members.map(({ at }) => at.length);
  const from = clock.monotonic();
  clock.advance(15_000);
  assert(members.every(({ at }, i) => at.length - (before[i] ?? 0) === 1));
  const perInstant = new Map<number, number>();
  for (const { at } of members) {
    const last = at[at.length - 1] ?? 0;
    assert(last > from);
    perInstant.set(last, (perInstant.get(last) ?? 0) + 1);
  }
  assert(Math.max(...perInstant.values()) <= 300);
});

test("one timer serves all members, and none is left when the last has gone", () => {
  const clock = new FakeClock();
  const beats = new Beats(clock, 15_000);
  assertEquals(clock.pending, 0, "inert until somebody joins");
  const members = Array.from({ length: 100 }, () => new Heard(clock));
  for (const one of members) beats.add(one);
  assertEquals(clock.pending, 1);
  for (const one of members) {
    beats.delete(one);
    beats.delete(one);
  }
  assertEquals(clock.pending, 0);
  const again = new Heard(clock);
  beats.add(again);
  clock.advance(15_000);
  assertEquals([clock.pending, again.at.length], [1, 1]);
});

test("every member is checked at every tick, much more often than it is beaten", () => {
  const clock = new FakeClock();
  const beats = new Beats(clock, 15_000);
  const heard = new Heard(clock);
  beats.add(heard);
  clock.advance(15_000);
  assert(heard.checks >= 15, `${heard.checks} checks`);
});

test("a member may leave, or make others leave, while it is beaten or checked", () => {
  const clock = new FakeClock();
  const beats = new Beats(clock, 100);
  const calls: string[] = [];
  const other: Beating = { beat: () => calls.push("other"), check: () => {} };
  const first: Beating = {
    beat: () => {
      calls.push("first");
      beats.delete(first);
      beats.delete(other);
    },
    check: () => {},
  };
  beats.add(first);
  beats.add(other);
  clock.advance(100);
  assertEquals([calls, clock.pending], [["first"], 0]);
});
