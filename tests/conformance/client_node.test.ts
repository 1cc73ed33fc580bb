/**
 * The client on Deno, Bun and Node, against the fixture on Node.
 *
 * @module
 */
import { chooseRuntimes, CLIENT_RUNTIMES } from "../support/runtimes.ts";
import { clientConformance } from "../suites/client/suite.ts";

for (const runtime of chooseRuntimes("node-direct")) clientConformance(runtime, CLIENT_RUNTIMES);
