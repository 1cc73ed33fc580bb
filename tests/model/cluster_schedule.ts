/**
 * Schedules for a page that adds topics to its stream.
 *
 * @module
 */
import fc from "fast-check";
import type { ClusterTally } from "./cluster_app.ts";
import { ADDED, type ClusterMove, type ClusterOptions, ClusterWorld } from "./cluster_world.ts";

const pod = fc.nat({ max: 2 });
const index = fc.nat({ max: 3 });
const topic = fc.constantFrom(...ADDED);
const move = <T extends ClusterMove["do"], R>(
  what: T,
  fields: { [K in keyof R]: fc.Arbitrary<R[K]> },
): fc.Arbitrary<{ readonly do: T } & R> =>
  fc.record({ do: fc.constant(what), ...fields }) as unknown as fc.Arbitrary<
    { readonly do: T } & R
  >;
const of = (
  ...names: readonly ("cut" | "stall" | "resume" | "clog" | "unclog" | "sip" | "calm")[]
) => fc.constantFrom(...names.map((name): ClusterMove => ({ do: name })));

/** What an outage of the relay's can do to a request, and what a network can. */
const fate = fc.constantFrom(
  ...["served", "late", "late_answer", "lost", "lost_answer", "refused"] as const,
);
const late = fc.constantFrom(...["late", "late", "late_answer", "lost_answer", "served"] as const);
const history = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.constant(true as const),
  fc.record({ last: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ sinceMs: fc.constantFrom(100, 2000) }),
);

const common: fc.MaybeWeightedArbitrary<ClusterMove>[] = [
  {
    weight: 12,
    arbitrary: move("publish", {
      pod,
      topic: fc.constantFrom("", "base", "base", "other", ...ADDED, ...ADDED),
      times: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 6, arbitrary: move("subscribe", { topic, history }) },
  { weight: 2, arbitrary: move("unsubscribe", { topic }) },
  { weight: 4, arbitrary: move("fate", { fate }) },
  { weight: 3, arbitrary: move("release", { index }) },
  { weight: 6, arbitrary: of("cut") },
  { weight: 3, arbitrary: of("stall", "clog") },
  { weight: 3, arbitrary: of("resume", "unclog", "sip") },
  { weight: 4, arbitrary: move("flow", { bytes: fc.integer({ min: 1, max: 900 }) }) },
  { weight: 2, arbitrary: fc.oneof(move("interrupt", { pod }), move("restore", { pod })) },
  { weight: 2, arbitrary: move("replace", { pod }) },
  { weight: 2, arbitrary: move("stranger", { pod, topic, ends: fc.boolean() }) },
  { weight: 6, arbitrary: move("wait", { ms: fc.constantFrom(250, 500, 2500) }) },
  { weight: 4, arbitrary: move("turn", { ticks: fc.nat({ max: 20 }) }) },
];
const journaled: fc.MaybeWeightedArbitrary<ClusterMove>[] = [
  ...common,
  { weight: 2, arbitrary: fc.oneof(move("holdTail", { pod }), move("openTail", { pod })) },
  { weight: 1, arbitrary: move("breakTail", { pod }) },
];
const trimmed: fc.MaybeWeightedArbitrary<ClusterMove>[] = [
  ...journaled,
  { weight: 12, arbitrary: move("trim", { keep: fc.nat({ max: 3 }) }) },
];

const said = move("publish", {
  pod,
  topic: fc.constantFrom("base", ...ADDED, ...ADDED),
  times: fc.integer({ min: 1, max: 5 }),
});
const nothing = move("turn", { ticks: fc.nat({ max: 20 }) });
const calm = of("calm");
const maybe = (one: fc.Arbitrary<ClusterMove>): fc.Arbitrary<ClusterMove> => fc.oneof(one, nothing);
/** A reconnection, on which the topics are asked for late, and which may break itself. */
const comeback = fc.tuple(
  ...[calm, move("fate", { fate: late }), move("fate", { fate: late }), of("cut")],
  ...[said, move("wait", { ms: fc.constantFrom(250, 1500) }), said],
  ...[maybe(of("stall", "clog")), maybe(move("release", { index }))],
  ...[nothing, fc.oneof(of("cut"), said), said, calm],
);
/** A topic is added, and the connection breaks before all that it said has come. */
const join = fc.tuple(
  ...[calm, maybe(of("stall", "clog")), move("subscribe", { topic, history }), said],
  ...[nothing, maybe(of("cut")), said, maybe(said), calm],
);
/** The page gives a topic up and wants it again, while the requests are slow. */
const change = topic.chain((each) =>
  fc.tuple(
    ...[calm, move("fate", { fate: late }), move("unsubscribe", { topic: fc.constant(each) })],
    ...[said, maybe(move("fate", { fate: late }))],
    ...[move("subscribe", { topic: fc.constant(each), history }), nothing, said],
    ...[move("release", { index }), maybe(of("cut")), move("release", { index }), said],
  )
);
const phrases = (
  moves: fc.MaybeWeightedArbitrary<ClusterMove>[],
): fc.Arbitrary<ClusterMove[]> => {
  const one = fc.oneof(...moves).map((each) => [each]);
  const phrase = fc.oneof(
    { weight: 9, arbitrary: one },
    ...[{ weight: 3, arbitrary: comeback }, { weight: 2, arbitrary: join }],
    { weight: 1, arbitrary: change },
  );
  const all = fc.array(phrase, { minLength: 4, maxLength: 20, size: "max" });
  return fc.tuple(move("subscribe", { topic, history }), all).map(([first, rest]) => [
    first,
    ...rest.flat(),
  ]);
};

/** What is kept: by a journal everything, by one that is trimmed the newest, by a relay nothing. */
export type Kept = "all" | "newest" | "nothing";

const KINDS: Readonly<
  Record<Kept, {
    readonly moves: fc.MaybeWeightedArbitrary<ClusterMove>[];
    readonly options: Pick<ClusterOptions, "journal" | "trimmed">;
  }>
> = {
  all: { moves: journaled, options: { journal: true, trimmed: false } },
  newest: { moves: trimmed, options: { journal: true, trimmed: true } },
  nothing: { moves: common, options: { journal: false, trimmed: false } },
};

/**
 * Plays one schedule: opens, does each move, and lets all come to rest.
 *
 * @param options What it varies.
 * @param script The moves.
 * @param tally Where it counts.
 * @throws {Error} When a rule is broken; it says which.
 */
export async function play(
  options: ClusterOptions,
  script: readonly ClusterMove[],
  tally?: ClusterTally,
): Promise<void> {
  const world = new ClusterWorld(options, tally);
  await world.open();
  for (const one of script) await world.move(one);
  await world.finish();
}

/**
 * Plays many.
 *
 * @param kept What is kept.
 * @param runs How many, and from which seed.
 * @returns How often things were seen.
 * @throws {Error} When a rule is broken in one of them.
 */
export async function explore(
  kept: Kept,
  runs: { readonly numRuns: number; readonly seed: number },
): Promise<ClusterTally> {
  const kind = KINDS[kept];
  const tally: ClusterTally = {};
  const options = fc.record({
    pods: fc.integer({ min: 2, max: 3 }),
    maxEvents: fc.constantFrom(3, 200),
    seed: fc.nat(),
    turns: fc.constantFrom(0, 1, 2, 5, 8),
    runMs: fc.constantFrom(0, 400),
  });
  await fc.assert(
    fc.asyncProperty(options, phrases(kind.moves), async (varied, script) => {
      await play({ ...varied, ...kind.options }, script, tally);
    }),
    runs,
  );
  return tally;
}
