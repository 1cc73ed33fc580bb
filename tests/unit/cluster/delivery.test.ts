import { assert } from "@std/assert";
import fc from "fast-check";
import type { HistoryRequest } from "../../../src/hub/types.ts";
import { type Bounds, JournalWorld, type Move, type Tally } from "../../model/journal_world.ts";
import { test } from "../../support/test.ts";

const RUNS = 600;
const SEED = 20_261_201;
const TOPICS = ["a", "b", "c"];
const pod = fc.nat({ max: 1 });
const client = fc.nat({ max: 5 });
const topic = fc.constantFrom(...TOPICS);
const sizes = fc.oneof(
  { weight: 12, arbitrary: fc.nat({ max: 100 }) },
  { weight: 1, arbitrary: fc.constantFrom(40_000, 70_000) },
);
const history: fc.Arbitrary<HistoryRequest> = fc.oneof(
  fc.constant<HistoryRequest>(true),
  fc.record({ last: fc.nat({ max: 8 }) }),
  fc.record({ sinceMs: fc.constant(3_600_000) }),
);
const connect = (reach: number): fc.Arbitrary<Move> =>
  fc.record({
    do: fc.constant("connect" as const),
    pod,
    topics: fc.option(fc.subarray(TOPICS.slice(0, 2), { minLength: 1 }), { nil: null }),
    // Below zero: ahead of everything.
    back: fc.option(fc.integer({ min: -2, max: reach }), { nil: null, freq: 5 }),
    lag: fc.boolean(),
    ready: fc.boolean(),
    history: fc.option(history, { nil: null, freq: 1 }),
  });
const step: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      ...{ pod, topic: fc.constantFrom("", ...TOPICS), size: sizes },
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("burst" as const),
      ...{ pod, topic, events: fc.integer({ min: 5, max: 60 }) },
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("trim" as const), keep: fc.nat({ max: 20 }) })
      .map((one) => ({ ...one, keep: Math.max(1, one.keep) })),
  },
  { weight: 6, arbitrary: connect(60) },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constantFrom("accept" as const, "acceptOne" as const, "refuse" as const),
      client,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), client }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("subscribe" as const),
      ...{ client, topic: fc.constantFrom("c", "d") },
      history: fc.option(
        fc.oneof(history, fc.record({ back: fc.nat({ max: 30 }) })),
        { nil: null, freq: 5 },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("unsubscribe" as const),
      client,
      topic: fc.constant("c"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("hold" as const), pod }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("release" as const), pod }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      ...{ pod, index: fc.nat({ max: 5 }) },
      how: fc.constantFrom("early" as const, "late" as const, "late" as const, "fail" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "holdTail" as const,
        "openTail" as const,
        "breakTail" as const,
        "goAway" as const,
      ),
      pod,
    }),
  },
  { weight: 6, arbitrary: fc.constant<Move>({ do: "settle" }) },
  { weight: 5, arbitrary: fc.constantFrom<Move>({ do: "wait", ms: 60 }, { do: "wait", ms: 300 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Move>({ do: "wait", ms: 1100 }, { do: "wait", ms: 76_000 }),
  },
);
const bounds: fc.Arbitrary<Bounds> = fc.record({
  maxEvents: fc.constantFrom(0, 1, 3, 10),
  ttlMs: fc.constantFrom(null, 75_000),
  replyMaxEvents: fc.constantFrom(20, 1000),
  clientBuffer: fc.constantFrom(1, 3, 20),
  slow: fc.constantFrom("lag" as const, "reset" as const),
  turns: fc.constantFrom(0, 1, 5, 60),
});

async function play(made: Bounds, script: readonly Move[], tally: Tally = {}): Promise<void> {
  const world = new JournalWorld(made, tally);
  await world.open();
  for (const one of script) await world.move(one);
  await world.finish();
}

test("under any schedule of two pods over a slow journal each client gets all once and in order, or is told", async () => {
  const tally: Tally = {};
  const scripts = fc.array(step, { minLength: 20, maxLength: 120, size: "max" });
  await fc.assert(
    fc.asyncProperty(bounds, scripts, (made, script) => play(made, script, tally)),
    { numRuns: RUNS, seed: SEED },
  );
  for (
    const what of ["resumed", "gap_floor", "gap_ahead", "gap_budget", "histories", "lags", "whole"]
  ) assert((tally[what] ?? 0) >= 10, `${what}: ${JSON.stringify(tally)}`);
});
