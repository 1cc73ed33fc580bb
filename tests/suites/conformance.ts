/**
 * The conformance suite: one function of a runtime.
 *
 * @module
 */
import type { Runtime } from "../support/runtimes.ts";
import { digestTests } from "./digest.ts";
import { hello } from "./hello.ts";
import { keepalive } from "./keepalive.ts";
import { lateJoiners } from "./late_joiners.ts";
import { group } from "./lib/group.ts";
import { limitTests } from "./limits.ts";
import { load } from "./load.ts";
import { peers } from "./peers.ts";
import { presence } from "./presence.ts";
import { refusals, refusalTests } from "./refusals.ts";
import { replayTests } from "./replay.ts";
import { seam } from "./seam.ts";
import { restartTests, shutdown } from "./shutdown.ts";
import { slow } from "./slow.ts";
import { topics, topicTests } from "./topics.ts";
import { verdicts } from "./verdicts.ts";

/**
 * Registers every test of the suite.
 *
 * @param runtime Where the server runs. What it cannot do stands in the table of runtimes.
 */
export function conformance(runtime: Runtime): void {
  hello(runtime);
  verdicts(runtime);
  // One server for all that asks for no special settings: to start one takes seconds on workerd.
  group(
    runtime,
    "replay, topics, limits, refusals, digest, restart",
    {},
    replayTests,
    topicTests,
    limitTests,
    refusalTests,
    digestTests,
    restartTests,
  );
  topics(runtime);
  refusals(runtime);
  presence(runtime);
  keepalive(runtime);
  slow(runtime);
  peers(runtime);
  shutdown(runtime);
  seam(runtime);
  lateJoiners(runtime);
  load(runtime);
}
