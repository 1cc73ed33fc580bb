/**
 * The client on Deno, Bun and Node, against the fixture on Bun.
 *
 * @module
 */
import { chooseRuntimes, CLIENT_RUNTIMES } from "../support/runtimes.ts";
import { clientConformance } from "../suites/client/suite.ts";

for (const runtime of chooseRuntimes("bun")) clientConformance(runtime, CLIENT_RUNTIMES);
