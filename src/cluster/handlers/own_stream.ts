/**
 * `GET /events?topic=…`: a stream without a ticket, for whoever shows who they are by the request
 * itself, by a cookie or a header.
 *
 * @module
 */
import type { Logger } from "../../hub/options.ts";
import { queryOf } from "../../hub/stream_request.ts";
import { needsAuthorize, topicsFor } from "./allowed.ts";
import { answering, checkMethod } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import { openStream, type StreamOpening } from "./stream.ts";
import type { Handler, Identity } from "./types.ts";
import { checkIdentity, claimsOf, type Questions } from "./who.ts";

/** Options of {@linkcode ownStreamHandler}. */
export interface OwnStreamOptions extends StreamOpening, Questions {
  /** Where failures are logged; `console`. */
  readonly logger?: Pick<Logger, "error">;
}

/**
 * Makes the handler of `GET /events?topic=…`: the stream of a client that needs no ticket, for its
 * requests say who sends them. A browser's `EventSource` sends cookies; our client sends headers too.
 *
 * The stream carries the topics that are bound to who asks, and those of the parameter `topic`,
 * repeatable, that the application allows them.
 *
 * @param options The hub, and the application.
 * @returns The handler. Its refusals: 405 `sse_method`; 401 `unauthenticated`; 403 `forbidden`; 400
 * `sse_topics`, also when there is no topic: it never carries everything; 503 `sse_unavailable`.
 */
export function ownStreamHandler(options: OwnStreamOptions): Handler {
  const { identify, clock } = options;
  const logger = sparing(options.logger, clock);
  return answering((request, host) => {
    checkMethod(request, ["GET", "HEAD"], "sse_method");
    const open = (identity: Identity, topics: readonly string[]): Response =>
      openStream(options, request, claimsOf(identity, topics), host);
    const allow = (said: Identity | null): Response | Promise<Response> => {
      const identity = checkIdentity(said, clock);
      needsAuthorize(options.authorize);
      const asked = queryOf(request).getAll("topic");
      const topics = topicsFor(identity, asked, request, options);
      return topics instanceof Promise
        ? topics.then((late) => open(identity, late))
        : open(identity, topics);
    };
    const said = identify(request);
    // At once where possible: on Bun a response that comes later may miss that its client has left.
    return said && "then" in said ? said.then(allow) : allow(said);
  }, logger);
}
