/**
 * The conformance suite on Node: through the body of a Web response, and with the hub driving the
 * server's response itself.
 *
 * @module
 */
import { chooseRuntimes } from "../support/runtimes.ts";
import { conformance } from "../suites/conformance.ts";

for (const runtime of chooseRuntimes("node-web,node-direct")) conformance(runtime);
