import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type PodOptions,
  type RelayMove,
  RelayPods,
  type RelayTally,
} from "../../model/relay_pods.ts";
import { test } from "../../support/test.ts";

const SEED = 20_261_201;
const RUNS = 400;
const TOPICS = ["a", "b"];
const pod = fc.nat({ max: 3 });
const client = fc.nat({ max: 7 });
const topic = fc.constantFrom("", ...TOPICS);
const pair = { from: pod, to: pod };
const move = <T extends RelayMove["do"], R>(
  what: T,
  fields: { [K in keyof R]: fc.Arbitrary<R[K]> },
): fc.Arbitrary<{ readonly do: T } & R> =>
  fc.record({ do: fc.constant(what), ...fields }) as unknown as fc.Arbitrary<
    { readonly do: T } & R
  >;

const calm: fc.MaybeWeightedArbitrary<RelayMove>[] = [
  { weight: 14, arbitrary: move("publish", { pod, topic, times: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: move("flash", { pod, topic }) },
  {
    weight: 5,
    arbitrary: move("connect", {
      pod,
      topics: fc.option(fc.subarray(TOPICS, { minLength: 1 }), { nil: null }),
      lag: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.oneof(move("cut", { client }), move("back", { client })) },
  { weight: 2, arbitrary: fc.oneof(move("leave", { pod }), move("start", { pod })) },
  { weight: 4, arbitrary: move("wait", { ms: fc.integer({ min: 100, max: 9000 }) }) },
];
const wild: fc.MaybeWeightedArbitrary<RelayMove>[] = [
  ...calm,
  { weight: 4, arbitrary: move("lose", { ...pair, messages: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: move("repeat", { ...pair, messages: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 3, arbitrary: fc.oneof(move("hold", pair), move("release", pair)) },
  { weight: 4, arbitrary: fc.oneof(move("interrupt", { pod }), move("restore", { pod })) },
  { weight: 1, arbitrary: move("crash", { pod }) },
  { weight: 3, arbitrary: move("start", { pod }) },
];
const options: fc.Arbitrary<PodOptions> = fc.record({
  pods: fc.integer({ min: 2, max: 4 }),
  maxEvents: fc.constantFrom(8, 64),
  spreadMs: fc.constantFrom(0, 2000),
  named: fc.boolean(),
  late: fc.boolean(),
});

test(
  "every client has every event once and in each pod's order, or is told after the loss",
  async () => {
    const tally: RelayTally = {};
    const schedule = fc.array(fc.oneof(...wild), { minLength: 5, maxLength: 45, size: "max" });
    await fc.assert(
      fc.asyncProperty(options, schedule, async (common, moves) => {
        const pods = new RelayPods(common, tally);
        await pods.open();
        for (const one of moves) await pods.move(one);
        await pods.finish();
      }),
      { numRuns: RUNS, seed: SEED },
    );
    const seen = ["drop", "twice", "crash", "leave", "returns", "local", "told", "seen", "missed"];
    for (const what of seen) assert((tally[what] ?? 0) > 50, `${what}: ${tally[what]}`);
  },
  { timeoutMs: 120_000 },
);

test("while a relay loses nothing nobody is told of a loss, and nothing is missing", async () => {
  const tally: RelayTally = {};
  const schedule = fc.array(fc.oneof(...calm), { minLength: 5, maxLength: 45, size: "max" });
  await fc.assert(
    fc.asyncProperty(options, schedule, async (common, moves) => {
      // What a ring is too small for is told, too.
      const pods = new RelayPods({ ...common, maxEvents: 512 }, tally);
      await pods.open();
      for (const one of moves) await pods.move(one);
      assertEquals(pods.gaps, 0);
      await pods.finish();
    }),
    { numRuns: RUNS / 4, seed: SEED },
  );
  assertEquals([tally["told"] ?? 0, tally["missed"] ?? 0], [0, 0]);
  assert((tally["seen"] ?? 0) > 500, `seen: ${tally["seen"]}`);
}, { timeoutMs: 120_000 });
