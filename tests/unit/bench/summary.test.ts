import { assertEquals } from "@std/assert";
import type { Round } from "../../../bench/load/round.ts";
import { ratio } from "../../../bench/load/summary.ts";
import { test } from "../../support/test.ts";

const round = (microsPerFrame: number): Round => ({
  microsPerFrame,
  utilisation: 0.1,
  delayP99Ms: 1,
  rssBytes: 1,
});

test("a ratio is taken within each round, so that a slow spell of the machine cancels out", () => {
  // The second round was disturbed: everything took three times as long.
  const ours = [round(10), round(30), round(10)];
  const raw = [round(5), round(15), round(5)];
  assertEquals(ratio(ours, raw), 2);
});

test("a round that counted for only one of the two is left out", () => {
  assertEquals(ratio([round(10), null, round(8)], [null, round(2), round(4)]), 2);
  assertEquals(ratio([round(10)], []), null);
  assertEquals(ratio([null], [round(1)]), null);
});
