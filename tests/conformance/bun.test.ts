/**
 * The conformance suite on Bun.
 *
 * @module
 */
import { chooseRuntimes } from "../support/runtimes.ts";
import { conformance } from "../suites/conformance.ts";

for (const runtime of chooseRuntimes("bun")) conformance(runtime);
