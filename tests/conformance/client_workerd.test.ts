/**
 * The client on Deno, Bun and Node, against the fixture in a Durable Object.
 *
 * @module
 */
import { chooseRuntimes, CLIENT_RUNTIMES } from "../support/runtimes.ts";
import { clientConformance } from "../suites/client/suite.ts";

for (const runtime of chooseRuntimes("workerd-2026-11")) {
  clientConformance(runtime, CLIENT_RUNTIMES);
}
