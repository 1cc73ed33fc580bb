import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { HubWorld } from "../../model/hub_world.ts";
import type { Step, Tally, WorldOptions } from "../../model/schedule.ts";
import { test } from "../../support/test.ts";

const TOPICS = ["a", "b", "c"];
const client = fc.nat({ max: 5 });
const sizes = fc.oneof(
  { weight: 12, arbitrary: fc.nat({ max: 200 }) },
  { weight: 1, arbitrary: fc.constantFrom(65_000, 70_000, 200_000) },
);
const publish = fc.record({
  do: fc.constant("publish" as const),
  topic: fc.constantFrom("", ...TOPICS),
  size: sizes,
  ephemeral: fc.constantFrom(false, false, false, true),
});
const connect = fc.record({
  do: fc.constant("connect" as const),
  topics: fc.option(fc.subarray(TOPICS, { minLength: 1 }), { nil: null }),
  lag: fc.boolean(),
  cursor: fc.oneof(
    fc.constantFrom("none" as const, "nonsense" as const),
    fc.record({ offset: fc.nat({ max: 30 }) }),
    fc.record({ of: client }),
  ),
  ready: fc.boolean(),
  hook: fc.constantFrom("none" as const, "none" as const, "quick" as const, "gated" as const),
});
const act = (what: Extract<Step, { client: number }>["do"]): fc.Arbitrary<Step> =>
  client.map((index) => ({ do: what, client: index }));
const waits = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Step>({ do: "wait", ms: 60 }, { do: "wait", ms: 300 }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: "wait", ms: 1100 }) },
  // Beyond the write timeout, and beyond the ring's age.
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>({ do: "wait", ms: 12_000 }, { do: "wait", ms: 61_000 }),
  },
);
const gap: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("gap" as const),
  spreadMs: fc.constantFrom(0, 30, 200, 1000),
});
const drain: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("drain" as const),
  lameDuckMs: fc.constantFrom(0, 200),
  spreadMs: fc.constantFrom(0, 200, 1000),
});
const turn = fc.constant<Step>({ do: "turn" });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: publish },
  { weight: 4, arbitrary: connect },
  { weight: 4, arbitrary: act("accept") },
  { weight: 6, arbitrary: act("acceptOne") },
  { weight: 4, arbitrary: act("refuse") },
  { weight: 1, arbitrary: act("leave") },
  { weight: 1, arbitrary: act("fail") },
  { weight: 3, arbitrary: act("open") },
  { weight: 1, arbitrary: act("disconnect") },
  { weight: 1, arbitrary: gap },
  { weight: 8, arbitrary: turn },
  { weight: 4, arbitrary: waits },
);
/** Clients that are slow and understand it, and come back with what they hold. */
const slowStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: publish },
  { weight: 2, arbitrary: connect.map((made) => ({ ...made, lag: true, ready: false })) },
  { weight: 10, arbitrary: act("acceptOne") },
  { weight: 1, arbitrary: act("leave") },
  { weight: 2, arbitrary: act("open") },
  { weight: 1, arbitrary: gap },
  { weight: 4, arbitrary: turn },
  { weight: 4, arbitrary: fc.constant<Step>({ do: "wait", ms: 300 }) },
);
const options: fc.Arbitrary<WorldOptions> = fc.record({
  slow: fc.constantFrom("reset" as const, "lag" as const),
  maxEvents: fc.constantFrom(0, 2, 6, 50),
  replyMaxEvents: fc.constantFrom(0, 1, 4, 50),
  clientBuffer: fc.constantFrom(1, 2, 5),
}).map((made) => ({ ...made, replyMaxEvents: Math.min(made.replyMaxEvents, made.maxEvents) }));

async function play(
  made: WorldOptions,
  script: readonly Step[],
  tally: Tally = nothing(),
): Promise<void> {
  const world = new HubWorld(made);
  for (const one of script) await world.step(one);
  await world.finish();
  world.count(tally);
}

function nothing(): Tally {
  return {
    ...{ clients: 0, events: 0, resumed: 0, lags: 0, gaps: 0, withheld: 0 },
    ...{ evicted: 0, dead: 0, hooked: 0 },
  };
}

async function everySchedule(
  made: fc.Arbitrary<WorldOptions>,
  steps: fc.Arbitrary<Step>,
  numRuns: number,
): Promise<Tally> {
  const tally = nothing();
  const some = (maxLength: number): fc.Arbitrary<Step[]> =>
    fc.array(steps, { maxLength, size: "max" });
  const leaving = fc.tuple(drain, some(40)).map(([first, rest]) => [first, ...rest]);
  const scripts = fc.tuple(some(130), fc.oneof(fc.constant<Step[]>([]), leaving))
    .map((parts) => parts.flat());
  const property = fc.asyncProperty(made, scripts, (one, script) => play(one, script, tally));
  await fc.assert(property, { numRuns });
  return tally;
}

test("under any schedule each connection gets every frame once and in order, or is told of the hole, or is ended", async () => {
  const tally = await everySchedule(options, step, 400);
  const { lags: _rarelyHere, ...often } = tally;
  for (const [what, times] of Object.entries(often)) assert(times >= 20, `${what}: ${times}`);
});

test("the same where clients are slow, declare lag, and come back with what they hold", async () => {
  const lag = options.map((made) => ({ ...made, slow: "lag" as const }));
  const tally = await everySchedule(lag, slowStep, 200);
  const { lags, gaps, resumed } = tally;
  assert(lags >= 100 && gaps >= 100 && resumed >= 20, JSON.stringify(tally));
});

test("a schedule without a client, and one without an event, end cleanly", async () => {
  const made: WorldOptions = { slow: "lag", maxEvents: 6, replyMaxEvents: 4, clientBuffer: 2 };
  await play(made, []);
  await play(made, [{ do: "publish", topic: "a", size: 1, ephemeral: false }]);
  const world = new HubWorld(made);
  await world.step({
    do: "connect",
    topics: null,
    lag: true,
    cursor: "none",
    ready: true,
    hook: "gated",
  });
  assertEquals(world.hub.clientCount, 1);
  await world.finish();
});
