/**
 * One request to one stream: refuse, or register, judge and open it. In one synchronous step, unless a
 * journal must be asked: then `retry:` goes out at once, and the hello when the journal has answered.
 *
 * @module
 */
import { TopicError } from "../errors.ts";
import { encodeRetry } from "../wire/frame.ts";
import { checkTopics } from "../wire/topic.ts";
import { Connection } from "./connection.ts";
import type { Identity } from "./connection_home.ts";
import { checkExpiry } from "./expirations.ts";
import { greet } from "./greeting.ts";
import { judgeCursor, scopeOf } from "./judge.ts";
import { checkHistory } from "./late_joiner.ts";
import { randomHex } from "./log.ts";
import { refusal } from "./refusal.ts";
import type { Roster } from "./roster.ts";
import { hostOf, streamBody } from "./sink.ts";
import {
  alreadyAborted,
  checkedTag,
  declaresLag,
  presentedCursor,
  STREAM_HEADERS,
  whenAborted,
} from "./stream_request.ts";
import { topicsSince } from "./topics.ts";
import type { ServeOptions } from "./types.ts";
import type { Judgement } from "./verdict.ts";

/** A keepalive sooner than this has been seen to keep Bun from cutting a stream. */
const BUN_IDLE_MS = 8001;

/**
 * Answers a request for a stream.
 *
 * @param roster The hub's connections.
 * @param request The request.
 * @param options What the connection listens to, and its hooks.
 * @returns The stream, or a refusal. A refusal and a HEAD consume nothing.
 */
export function respond(roster: Roster, request: Request, options: ServeOptions): Response {
  const response = answer(roster, request, options);
  if (request.method !== "HEAD" || response.body === null) return response;
  return new Response(null, response);
}

function answer(roster: Roster, request: Request, options: ServeOptions): Response {
  const { settings } = roster;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refusal(405, "sse_method", "A stream is a GET", { Allow: "GET, HEAD" });
  }
  let topics: readonly string[] | null;
  try {
    topics = checkTopics(options.topics);
  } catch (error) {
    if (error instanceof TopicError) return refusal(400, "sse_topics", error.message);
    throw error;
  }
  checkHistory(options.history);
  const expiresAt = checkExpiry(options.expiresAt);
  const why = unavailable(roster);
  if (why !== null) {
    roster.metrics.refused();
    // Whoever was sent to a pod that leaves is to find another at once.
    const ms = roster.state === "draining" ? 1000 : settings.reconnectDelayMs;
    const seconds = String(Math.max(1, Math.ceil(ms / 1000)));
    return refusal(503, "sse_unavailable", why, { "Retry-After": seconds });
  }
  if (expiresAt <= settings.clock.now()) {
    return refusal(403, "sse_expired", "The authority of this stream has ended");
  }
  if (request.method === "HEAD" || alreadyAborted(request)) {
    return new Response(null, { headers: STREAM_HEADERS });
  }
  const host = hostOf(request, options.host);
  const connection = open(roster, request, options, {
    id: randomHex(16),
    tag: checkedTag(options.clientTag, settings.logger),
    topics: topicsSince(topics),
    declaresLag: declaresLag(request),
    user: options.user ?? "",
  });
  roster.expirations.set(connection, expiresAt);
  whenAborted(request, () => connection.left());
  if (options.host === undefined) warnOfBun(roster);
  return new Response(streamBody(connection, host), { headers: STREAM_HEADERS });
}

function unavailable({ state, full }: Roster): string | null {
  if (state === "stopped") return "The hub is shutting down";
  if (state === "draining") return "The hub is leaving";
  return full ? "The hub has no place left" : null;
}

/**
 * Bun cuts a stream that is silent for about 10 s, and only its server can turn that off. Warned of
 * once a hub, and only where the keepalive would come too late.
 */
function warnOfBun(roster: Roster): void {
  const { keepaliveMs, logger } = roster.settings;
  if (!("Bun" in globalThis) || keepaliveMs < BUN_IDLE_MS || roster.warned) return;
  roster.warned = true;
  logger.warn(
    `Bun may cut streams after 10 s of silence, before the keepalive of ${keepaliveMs} ms: pass its ` +
      "server as the option host, set idleTimeout, or lower keepaliveMs",
  );
}

function open(
  roster: Roster,
  request: Request,
  options: ServeOptions,
  identity: Identity,
): Connection {
  const { log, settings } = roster;
  const jitter = Math.floor(Math.random() * (settings.reconnectJitterMs + 1));
  const retry = encodeRetry(settings.reconnectDelayMs + jitter);
  const connection = new Connection(roster, identity, retry);
  roster.admit(connection);
  const begin = (judgement: Judgement | null): void => {
    // It may have left, or been sent away, while the journal was asked.
    if (connection.over) return;
    if (judgement !== null) return greet(roster, connection, judgement, options);
    roster.metrics.turnedAway();
    connection.turnAway();
  };
  const scope = scopeOf(log, identity.topics, connection.feed);
  const judged = judgeCursor(roster, presentedCursor(request), scope);
  if (judged instanceof Promise) judged.then((judge) => begin(judge()));
  else begin(judged);
  return connection;
}
