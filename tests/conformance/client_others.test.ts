/**
 * The client against the other ways to run a server, and against servers that are not ours.
 *
 * @module
 */
import { chooseRuntimes, CLIENT_RUNTIMES } from "../support/runtimes.ts";
import { otherServers } from "../suites/client/seed.ts";
import { clientBasics } from "../suites/client/suite.ts";

const OTHERS = ["node-web", "workerd-2026-04", "workerd-2026-04-signal", "workerd-2026-11-signal"];

for (const runtime of chooseRuntimes(OTHERS.join(","))) {
  clientBasics(runtime, CLIENT_RUNTIMES.slice(0, 1));
}
for (const runtime of CLIENT_RUNTIMES) otherServers(runtime);
