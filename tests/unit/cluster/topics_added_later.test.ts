import { assert } from "@std/assert";
import type { ClusterTally } from "../../model/cluster_app.ts";
import type { ClusterMove, ClusterOptions } from "../../model/cluster_world.ts";
import { explore, play } from "../../model/cluster_schedule.ts";
import { test } from "../../support/test.ts";

const SEED = 20_261_201;

function met(tally: ClusterTally, least: number, ...names: readonly string[]): void {
  for (const what of names) assert((tally[what] ?? 0) >= least, `${what}: ${tally[what]}`);
}

test(
  "over a journal a topic added later misses nothing through any reconnection: each event once, in order, and nobody is told to refetch",
  async () => {
    const tally = await explore("all", { numRuns: 140, seed: SEED });
    met(tally, 30, "confirmed", "unsubscribed", "resumed", "topic resumed", "live", "recalled");
  },
  { timeoutMs: 60_000 },
);

test(
  "of a topic added later nothing that the journal has forgotten is missing unless a revalidation names it",
  async () => {
    const tally = await explore("newest", { numRuns: 140, seed: SEED });
    met(tally, 5, "topic gap_floor", "topic_gap", "covered", "live", "recalled");
  },
  { timeoutMs: 60_000 },
);

test(
  "over a relay alone whatever a topic added later misses is told, and revalidated before what follows a new epoch is shown",
  async () => {
    const tally = await explore("nothing", { numRuns: 140, seed: SEED });
    met(tally, 10, "epoch_changed", "topic epoch_changed", "topic_gap", "covered", "live");
  },
  { timeoutMs: 60_000 },
);

const PLAIN: ClusterOptions = {
  ...{ pods: 2, journal: true, trimmed: false, maxEvents: 3 },
  ...{ seed: 5, turns: 40, runMs: 0 },
};
const says = (topic: string, times = 1): ClusterMove => ({ do: "publish", pod: 0, topic, times });
const adds: ClusterMove = { do: "subscribe", topic: "a", history: null };
const late: ClusterMove = { do: "fate", fate: "late" };
const first: ClusterMove = { do: "release", index: 0 };
const away: readonly ClusterMove[] = [{ do: "cut" }, says("a", 2), { do: "wait", ms: 1500 }];

test("a past that was answered for, and broke off on its way behind other frames, is asked for again", async () => {
  const meets: ClusterTally = {};
  const broken: readonly ClusterMove[] = [{ do: "stall" }, first, { do: "cut" }, { do: "resume" }];
  await play(PLAIN, [adds, says("base"), late, ...away, says("base", 2), ...broken], meets);
  met(meets, 2, "topic resumed", "recalled");
});

test("what a topic said after it was added comes even with a short history that broke off", async () => {
  for (const history of [{ last: 0 }, { sinceMs: 0 }]) {
    for (const maxEvents of [0, 1, 200]) {
      const joins: readonly ClusterMove[] = [{ do: "stall" }, { ...adds, history }];
      await play({ ...PLAIN, maxEvents }, [says("base"), ...joins, ...away, { do: "resume" }]);
    }
  }
});

test("a whole history that comes again after the journal was trimmed says what is missing", async () => {
  const meets: ClusterTally = {};
  const joins: readonly ClusterMove[] = [{ do: "stall" }, { ...adds, history: true }];
  const lost: readonly ClusterMove[] = [{ do: "cut" }, says("a", 5), { do: "trim", keep: 1 }];
  const trimmed = { ...PLAIN, trimmed: true };
  await play(trimmed, [says("base"), ...joins, ...lost, { do: "resume" }], meets);
  met(meets, 1, "topic gap_floor", "topic_gap", "covered");
});

test("a short history of a trimmed journal comes to its end when the ring holds all that was missed", async () => {
  const joins: readonly ClusterMove[] = [{ do: "stall" }, { ...adds, history: { last: 9 } }];
  const lost: readonly ClusterMove[] = [says("other", 3), { do: "trim", keep: 1 }, { do: "cut" }];
  const script = [says("a", 5), says("base"), ...joins, ...lost, { do: "resume" } as const];
  await play({ ...PLAIN, trimmed: true }, script);
});

test("a topic that is given up and wanted again is listened to, however late the first request is served", async () => {
  const gone: ClusterMove = { do: "unsubscribe", topic: "a" };
  await play(PLAIN, [adds, says("a"), late, gone, adds, says("a"), first, says("a", 2)]);
});
