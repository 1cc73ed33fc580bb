/**
 * The conformance suite in a Durable Object: on the workerd of 2026-04, with and without the flag that
 * makes a request's signal fire.
 *
 * @module
 */
import { chooseRuntimes } from "../support/runtimes.ts";
import { conformance } from "../suites/conformance.ts";

const NAMES = "workerd-2026-04,workerd-2026-04-signal";

for (const runtime of chooseRuntimes(NAMES)) conformance(runtime);
