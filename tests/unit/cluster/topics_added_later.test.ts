import { assert } from "@std/assert";
import type { ClusterTally } from "../../model/cluster_app.ts";
import { explore } from "../../model/cluster_schedule.ts";
import { test } from "../../support/test.ts";

const SEED = 20_261_201;

function met(tally: ClusterTally, least: number, ...names: readonly string[]): void {
  for (const what of names) assert((tally[what] ?? 0) >= least, `${what}: ${tally[what]}`);
}

test(
  "over a journal a topic added later misses nothing through any reconnection: each event once, in order, and nobody is told to refetch",
  async () => {
    const tally = await explore("all", { numRuns: 100, seed: SEED });
    met(tally, 30, "confirmed", "unsubscribed", "resumed", "topic resumed", "live", "recalled");
  },
  { timeoutMs: 60_000 },
);

test(
  "of a topic added later nothing that the journal has forgotten is missing unless a revalidation names it",
  async () => {
    const tally = await explore("newest", { numRuns: 100, seed: SEED });
    met(tally, 10, "topic gap_floor", "topic_gap", "covered", "live", "recalled");
  },
  { timeoutMs: 60_000 },
);

test(
  "over a relay alone whatever a topic added later misses is told, and revalidated before what follows a new epoch is shown",
  async () => {
    const tally = await explore("nothing", { numRuns: 100, seed: SEED });
    met(tally, 10, "epoch_changed", "topic epoch_changed", "topic_gap", "covered", "live");
  },
  { timeoutMs: 60_000 },
);
