/**
 * The hub's handler without an adapter, at default options.
 *
 * @module
 */
import { BARE_RUNTIMES } from "../support/runtimes.ts";
import { bare } from "../suites/bare.ts";

bare(BARE_RUNTIMES);
