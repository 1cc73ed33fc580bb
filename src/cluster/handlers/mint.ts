/**
 * `POST /ticket`: mints a ticket for somebody whom the application knows.
 *
 * @module
 */
import { TicketError } from "../../errors/ticket.ts";
import type { Logger } from "../../hub/options.ts";
import { json } from "../../hub/refusal.ts";
import type { StreamHub } from "../../hub/types.ts";
import type { Tickets } from "../../tickets/types.ts";
import { needsAuthorize, topicsFor } from "./allowed.ts";
import { Fields, MAX_BODY_BYTES } from "./body.ts";
import { answering, checkMethod, failureForLog, HttpRefusal } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import type { Handler } from "./types.ts";
import { claimsOf, type Questions, whoAsks } from "./who.ts";

/** Options of {@linkcode mintHandler}. */
export interface MintOptions extends Questions {
  /** The hub whose streams the tickets open: while it sends its clients away, it mints none. */
  readonly hub: Pick<StreamHub, "state">;
  /** The tickets. */
  readonly tickets: Pick<Tickets, "mint">;
  /** The largest body, in bytes; 65,536. */
  readonly maxBodyBytes?: number;
  /** Where failures are logged; `console`. Never a ticket. */
  readonly logger?: Pick<Logger, "error">;
}

/**
 * Makes the handler of `POST /ticket`: `{ topics }` → `{ ticket }`.
 *
 * The ticket stands for who asked, for the topics that are bound to them, and for those of `topics`
 * that the application allows them. Unknown fields are ignored: nobody can ask for another user.
 *
 * @param options The hub, the tickets, and the application.
 * @returns The handler. Its refusals: 405 `ticket_method`; 503 `sse_unavailable` with `Retry-After`
 * while the hub is draining or stopped; 401 `unauthenticated`; 403 `forbidden`; 415
 * `ticket_content_type`; 413 `ticket_too_large`; 408 `ticket_timeout`; 400 `ticket_body`; 400 `sse_topics`; 503
 * `ticket_unavailable` with `Retry-After` when the store is away.
 */
export function mintHandler(options: MintOptions): Handler {
  const { hub, tickets, maxBodyBytes = MAX_BODY_BYTES } = options;
  const logger = sparing(options.logger, options.clock);
  const { clock } = options;
  const rules = { route: "ticket", maxBytes: maxBodyBytes, optional: true, clock };
  return answering(async (request) => {
    checkMethod(request, ["POST"], "ticket_method");
    if (hub.state === "draining" || hub.state === "stopped") throw unavailable(1);
    const identity = await whoAsks(request, options);
    needsAuthorize(options.authorize);
    const fields = await Fields.read(request, rules);
    const topics = await topicsFor(identity, fields.texts("topics"), request, options);
    try {
      return json({ ticket: await tickets.mint(claimsOf(identity, topics)) });
    } catch (error) {
      throw storeAway(error, logger);
    }
  }, logger);
}

/**
 * The refusal of a hub that takes nobody now.
 *
 * @param seconds When to come back.
 */
export function unavailable(seconds: number | string): HttpRefusal {
  return new HttpRefusal(503, "sse_unavailable", "The hub takes nobody now", {
    "Retry-After": String(seconds),
  });
}

/**
 * What to do with a failure of the tickets' store: it is logged, and passes by waiting.
 *
 * @param error What was thrown.
 * @param logger Where it is logged.
 * @returns What to throw instead: 503 `ticket_unavailable`; the same for any other error.
 */
export function storeAway(error: unknown, logger: Pick<Logger, "error">): unknown {
  if (!(error instanceof TicketError && error.fault === "unavailable")) return error;
  logger.error(`The tickets' store does not answer: ${failureForLog(error)}`);
  return new HttpRefusal(503, "ticket_unavailable", "The tickets are not available now", {
    "Retry-After": "1",
  });
}
