/**
 * The conformance suite on Deno.
 *
 * @module
 */
import { chooseRuntimes } from "../support/runtimes.ts";
import { conformance } from "../suites/conformance.ts";

for (const runtime of chooseRuntimes("deno")) conformance(runtime);
