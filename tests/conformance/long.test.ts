/**
 * The tests that take more than a minute, on all runtimes at once.
 *
 * @module
 */
import { RUNTIMES } from "../support/runtimes.ts";
import { long } from "../suites/long.ts";

long(RUNTIMES);
