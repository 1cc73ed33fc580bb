/**
 * The client on Deno, Bun and Node, against the fixture on Deno.
 *
 * @module
 */
import { chooseRuntimes, CLIENT_RUNTIMES } from "../support/runtimes.ts";
import { clientConformance } from "../suites/client/suite.ts";

for (const runtime of chooseRuntimes("deno")) clientConformance(runtime, CLIENT_RUNTIMES);
