/** The client's clock: it never goes back, and does not stop while the machine sleeps. */
import { assertEquals, assertGreaterOrEqual, assertLess, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { platformClock, sleeplessNow } from "../../../src/client/clock.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

/** A machine with two clocks: one stops while it sleeps, the other may be set. */
class Machine {
  steady = 5000;
  wall = 1_700_000_000_000;
  readonly now: () => number = sleeplessNow(() => this.steady, () => this.wall);

  run(ms: number): void {
    this.steady += ms;
    this.wall += ms;
  }
}

test("while both clocks go the time is what passed since it was made", () => {
  const machine = new Machine();
  assertEquals(machine.now(), 0);
  for (const ms of [1, 250, 60_000]) machine.run(ms);
  assertEquals(machine.now(), 60_251);
  assertEquals(machine.now(), 60_251);
});

test("a sleep that stops one clock counts in full", () => {
  const machine = new Machine();
  machine.run(1000);
  assertEquals(machine.now(), 1000);
  // The lid is closed for eight hours.
  machine.wall += 28_800_000;
  assertEquals(machine.now(), 28_801_000);
  machine.run(1000);
  assertEquals(machine.now(), 28_802_000);
});

test("a wall clock that is set back takes nothing back, and what passed meanwhile counts", () => {
  const machine = new Machine();
  machine.run(1000);
  machine.now();
  machine.wall -= 3_600_000;
  assertEquals(machine.now(), 1000);
  machine.run(500);
  machine.wall -= 3_600_000;
  assertEquals(machine.now(), 1500);
  machine.run(500);
  assertEquals(machine.now(), 2000);
});

test("a wall clock that is set forward looks like a sleep: it counts once", () => {
  const machine = new Machine();
  machine.now();
  machine.wall += 3_600_000;
  assertEquals(machine.now(), 3_600_000);
  machine.run(10);
  machine.wall -= 3_600_000;
  assertEquals(machine.now(), 3_600_010);
});

test("whatever happens to the wall clock, the time never goes slower than the steady one, nor faster than both", () => {
  const step = fc.record({
    runs: fc.nat(100_000),
    set: fc.oneof(fc.constant(0), fc.integer({ min: -10_000_000, max: 10_000_000 })),
  });
  fc.assert(fc.property(fc.array(step), (steps) => {
    const machine = new Machine();
    let before = machine.now();
    for (const { runs, set } of steps) {
      machine.run(runs);
      machine.wall += set;
      const now = machine.now();
      assertGreaterOrEqual(now - before, runs);
      assertLessOrEqual(now - before, runs + Math.max(set, 0));
      before = now;
    }
  }));
});

test("each caller has a clock of its own, which starts at nothing", () => {
  const first = platformClock();
  const second = platformClock();
  for (const clock of [first, second]) {
    const now = clock.now();
    assertGreaterOrEqual(now, 0);
    assertLess(now, 1000);
  }
  for (let i = 0; i < 100; i++) {
    const chance = first.random();
    assertEquals([chance >= 0, chance < 1], [true, true]);
  }
});

test("a wait calls back once, unless it was cancelled; one of no time or of ages is no error", async () => {
  const clock = platformClock();
  const called: string[] = [];
  const cancel = [
    clock.after(0, () => called.push("cancelled")),
    // A timer that long would overflow, and call back at once.
    clock.after(2 ** 40, () => called.push("ages")),
    clock.after(Infinity, () => called.push("never")),
  ];
  cancel[0]?.();
  const over = [-5, 0, 1].map((ms) => clock.after(ms, () => called.push(`${ms}`)));
  await eventually(() => called.length === 3, { what: "three calls", everyMs: 1 });
  // Over or not, a second cancellation is nothing.
  for (const stop of [...cancel, ...over]) stop();
  assertEquals(called.sort(), ["-5", "0", "1"]);
});
