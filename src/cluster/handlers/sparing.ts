/**
 * Logging failures that every request may meet at once.
 *
 * @module
 */
import { type Clock, systemClock } from "../../hub/clock.ts";
import type { Logger } from "../../hub/options.ts";

/** The most lines in one span. */
const MOST_LINES = 20;
/** The span, in milliseconds. */
const SPAN_MS = 60_000;

/**
 * Makes a logger that cannot be flooded: while a store is away, a thousand clients that come back are a
 * thousand failures. At most 20 lines are logged a minute, and then how many were not.
 *
 * @param logger Where they are logged; `console`.
 * @param clock The clock; the system's.
 * @returns The logger.
 */
export function sparing(
  logger: Pick<Logger, "error"> = console,
  clock: Clock = systemClock,
): Pick<Logger, "error"> {
  let since = -Infinity;
  let lines = 0;
  let silenced = 0;
  return {
    error(message) {
      const now = clock.monotonic();
      if (now - since >= SPAN_MS) {
        if (silenced > 0) logger.error(`There were ${silenced} more failures of requests`);
        since = now;
        lines = 0;
        silenced = 0;
      }
      if (lines >= MOST_LINES) silenced++;
      else {
        lines++;
        logger.error(message);
      }
    },
  };
}
