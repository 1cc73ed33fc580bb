import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { FakeClock } from "../../../src/testing/mod.ts";
import { test } from "../../support/test.ts";

test("time stands still until it is advanced, and both clocks go together", () => {
  const clock = new FakeClock(5000);
  assertEquals([clock.now(), clock.monotonic()], [5000, 0]);
  clock.advance(250);
  assertEquals([clock.now(), clock.monotonic()], [5250, 250]);
});

test("every timer runs once, in the order of its instant and then of its setting", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 20 }),
      fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 5 }),
      (delays, steps) => {
        const clock = new FakeClock();
        const seen: { i: number; at: number }[] = [];
        delays.forEach((ms, i) => clock.after(ms, () => seen.push({ i, at: clock.monotonic() })));
        for (const step of steps) clock.advance(step);
        clock.advance(100);
        const expected = delays.map((at, i) => ({ i, at })).sort((a, b) =>
          a.at - b.at || a.i - b.i
        );
        assertEquals(seen, expected);
        assertEquals(clock.pending, 0);
      },
    ),
    { numRuns: 200 },
  );
});

test("an interval runs at each of its instants, until it is cancelled", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  const timer = clock.every(10, () => seen.push(clock.monotonic()));
  clock.advance(35);
  timer.cancel();
  clock.advance(100);
  assertEquals(seen, [10, 20, 30]);
  assertEquals(clock.pending, 0);
});

test("what a timer sets is called too when it falls due before the end", () => {
  const clock = new FakeClock();
  const seen: number[] = [];
  clock.after(10, () => {
    clock.after(5, () => seen.push(clock.monotonic()));
    clock.after(50, () => seen.push(clock.monotonic()));
  });
  clock.advance(20);
  assertEquals(seen, [15]);
});

test("a timer that another one cancels in the same instant does not run", () => {
  const clock = new FakeClock();
  const seen: string[] = [];
  clock.after(10, () => second.cancel());
  const second = clock.after(10, () => seen.push("second"));
  clock.advance(10);
  assertEquals(seen, []);
});

test("an interval of 0 counts as 1 millisecond, so that an advance ends", () => {
  const clock = new FakeClock();
  let runs = 0;
  clock.every(0, () => runs++);
  clock.advance(5);
  assertEquals(runs, 5);
});
