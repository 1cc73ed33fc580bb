/**
 * `GET /events?ticket=…`: a stream for whoever presents a ticket first.
 *
 * @module
 */
import type { Logger } from "../../hub/options.ts";
import { alreadyAborted, queryOf, STREAM_HEADERS } from "../../hub/stream_request.ts";
import type { Tickets } from "../../tickets/types.ts";
import { storeAway, unavailable } from "./mint.ts";
import { answering, checkMethod, HttpRefusal } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import { openStream, type StreamOpening } from "./stream.ts";
import type { Handler } from "./types.ts";

/** Options of {@linkcode ticketStreamHandler}. */
export interface TicketStreamOptions extends StreamOpening {
  /** The tickets. */
  readonly tickets: Pick<Tickets, "redeem">;
  /** Where failures are logged; `console`. Never a ticket. */
  readonly logger?: Pick<Logger, "error">;
}

/** Any topic will do: a HEAD listens to nothing. */
const PROBE_TOPIC = "probe";

/**
 * Makes the handler of `GET /events?ticket=…`.
 *
 * The stream is what the ticket's claims say. Of the URL it takes `last_event_id` and `lag`, which a
 * native `EventSource` cannot send as headers, and nothing else. A ticket is used when a stream came
 * of it: no HEAD and no 503 uses one.
 *
 * @param options The hub and the tickets.
 * @returns The handler. Its refusals: 405 `sse_method`; 503 `sse_unavailable` with `Retry-After` while
 * the hub is full or takes nobody; 401 `ticket_invalid`, which is one and the same for no ticket, a
 * used one, one that has expired, and one that never was; 503 `ticket_unavailable` with `Retry-After`
 * when the store is away.
 */
export function ticketStreamHandler(options: TicketStreamOptions): Handler {
  const { hub, tickets } = options;
  const logger = sparing(options.logger);
  return answering(async (request, host) => {
    checkMethod(request, ["GET", "HEAD"], "sse_method");
    // Asked before the ticket is: a hub answers a HEAD like a GET, and opens nothing.
    const probe = new Request("http://localhost/", { method: "HEAD" });
    const { status, headers } = hub.serve(probe, { topics: [PROBE_TOPIC] });
    if (status !== 200) throw unavailable(headers.get("Retry-After") ?? 1);
    if (request.method === "HEAD") return new Response(null, { headers: STREAM_HEADERS });
    const ticket = queryOf(request).get("ticket") ?? "";
    // Whatever was presented is looked up in the same way, so that it takes the same time.
    const redeemed = await tickets.redeem(ticket).catch((error: unknown) => {
      throw storeAway(error, logger);
    });
    if (redeemed === null) throw invalidTicket();
    let opened = false;
    try {
      // On Bun nobody would tell the hub that a client has left which left by now.
      if (alreadyAborted(request)) return new Response(null, { headers: STREAM_HEADERS });
      const response = openStream(options, request, redeemed.claims, host);
      // The authority that it stands for has ended: it has expired like any other, if by another clock.
      if (response.status === 403) throw invalidTicket();
      opened = response.status === 200;
      return response;
    } finally {
      if (!opened) await redeemed.giveBack();
    }
  }, logger);
}

/** The refusal of every ticket that opens nothing. */
export function invalidTicket(): HttpRefusal {
  return new HttpRefusal(401, "ticket_invalid", "The ticket opens nothing");
}
