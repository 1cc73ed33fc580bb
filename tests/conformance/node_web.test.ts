/**
 * The conformance suite on Node, through the body of a Web response.
 *
 * @module
 */
import { chooseRuntimes } from "../support/runtimes.ts";
import { conformance } from "../suites/conformance.ts";

for (const runtime of chooseRuntimes("node-web")) conformance(runtime);
