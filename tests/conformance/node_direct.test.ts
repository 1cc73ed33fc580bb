/**
 * The conformance suite on Node, with the hub driving the server's response itself.
 *
 * @module
 */
import { chooseRuntimes } from "../support/runtimes.ts";
import { conformance } from "../suites/conformance.ts";

for (const runtime of chooseRuntimes("node-direct")) conformance(runtime);
