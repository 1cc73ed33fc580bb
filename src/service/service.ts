/**
 * One Hono app that mounts all of it.
 *
 * @module
 */
import { Hono } from "hono";
import { cors } from "hono/cors";
import { healthHandler, readyHandler } from "../cluster/handlers/health.ts";
import { metricsHandler, presenceHandler } from "../cluster/handlers/inspect.ts";
import { aliveHandler, knownDigestHandler } from "../cluster/handlers/known.ts";
import { mintHandler } from "../cluster/handlers/mint.ts";
import { ownStreamHandler } from "../cluster/handlers/own_stream.ts";
import { publishHandler } from "../cluster/handlers/publish.ts";
import { failureForLog } from "../cluster/handlers/refuse.ts";
import { sparing } from "../cluster/handlers/sparing.ts";
import { subscribeHandler, unsubscribeHandler } from "../cluster/handlers/subscribe.ts";
import { invalidTicket, ticketStreamHandler } from "../cluster/handlers/ticket_stream.ts";
import type { Handler } from "../cluster/handlers/types.ts";
import { createSubscriptions } from "../cluster/subscriptions.ts";
import { refusal } from "../hub/refusal.ts";
import { queryOf } from "../hub/stream_request.ts";
import { checkServiceOptions, type CorsOptions, type ServiceOptions } from "./options.ts";

/** A service. */
export interface Service {
  /**
   * Answers requests. Bound, and what every runtime calls: `serveDeno(service.fetch)`,
   * `serveBun(service.fetch)`, `serveNode(service.fetch)`; in a Hono app of yours
   * `app.all("/sse/*", (c) => service.fetch(c.req.raw, c.env))`, with the `basePath` `/sse`.
   *
   * @param request The request, as the runtime gave it: not a copy.
   * @param host What the runtime says of it: Bun's server, Deno's info.
   * @param context A Worker's execution context. A hub cannot live in a Worker's module scope: 500
   * `streaming_unsupported`. It can in a Durable Object.
   */
  readonly fetch: (
    request: Request,
    host?: unknown,
    context?: unknown,
  ) => Response | Promise<Response>;
}

/** What a page of another origin may send beside what every page may. */
const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "Last-Event-ID",
  "SSE-Client",
  "SSE-Lag",
  "SSE-Wire",
];
/** How long a browser may remember the answer, in seconds. */
const PREFLIGHT_MAX_AGE = 600;

/**
 * Makes a service: streams and all that belongs to them, behind the application's authentication.
 *
 * | route | for | does |
 * | --- | --- | --- |
 * | `GET /events` | clients | a stream: by `?ticket=…`, or else for whom `identify` knows, with `?topic=…` |
 * | `POST /ticket` | clients | `{ topics }` → `{ ticket }` |
 * | `POST /subscribe`, `POST /unsubscribe` | clients | a topic on a live stream, on whichever pod |
 * | `POST /alive`, `POST /digest` | clients | acknowledges; asks which versions are out of date |
 * | `POST /publish` | whoever has a key | `{ topic, name, data }` → `{ offset }` |
 * | `GET /presence`, `GET /metrics` | operators | who is connected; counters |
 * | `GET /health`, `GET /ready` | probes | does it live; does it take clients |
 *
 * No request receives everything by leaving something out: a stream carries the topics that were bound
 * or allowed to whoever opens it. A refusal is `{ error, code }`; what went wrong inside stands in the
 * log, and in no answer.
 *
 * @param options The hub, the application's answers, and what is to be offered.
 * @returns The service.
 * @throws {ConfigError} For an option that could not be honoured.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { createService } from "@tidemark/sse/service";
 *
 * const hub = createHub();
 * const service = createService({
 *   hub,
 *   identify: (request) => request.headers.has("Cookie") ? { user: "ada", account: "7" } : null,
 *   authorize: ({ topic }) => topic.startsWith("call:"),
 *   boundTopics: ({ user, account }) => [`user:${user}`, `account:${account}`],
 * });
 *
 * const get = (path: string, headers = {}) =>
 *   service.fetch(new Request(`http://localhost${path}`, { headers }));
 * assertEquals((await get("/events")).status, 401);
 * const stream = await get("/events?topic=call:3", { Cookie: "session=5e55" });
 * assertEquals(stream.headers.get("content-type"), "text/event-stream");
 * await stream.body?.cancel();
 * await hub.shutdown();
 * ```
 */
export function createService(options: ServiceOptions): Service {
  checkServiceOptions(options);
  const { hub } = options;
  const logger = sparing(options.logger);
  const app = new Hono().basePath(options.basePath ?? "/");
  if (options.cors !== undefined) app.use("*", crossOrigin(options.cors));
  for (const [path, handler] of Object.entries(routes(options))) {
    app.all(path, (c) => handler(c.req.raw, c.env));
  }
  app.notFound(() => refusal(404, "not_found", "There is nothing here"));
  app.onError((error) => {
    logger.error(`A request could not be answered: ${failureForLog(error)}`);
    return refusal(500, "internal", "Internal error");
  });
  return {
    fetch: (request, host, context) =>
      isModuleScope(context)
        ? hub.handler(request, host, context)
        : app.fetch(request, host as object | undefined),
  };
}

/** What is mounted, each handler with its own methods. */
function routes(options: ServiceOptions): Readonly<Record<string, Handler>> {
  const { hub, membership, publish, presence, metrics, digest } = options;
  const logger = options.logger ?? console;
  const subscriptions = createSubscriptions({ hub, ...(membership && { membership }) });
  const topics = { ...options, logger, subscriptions };
  return {
    "/events": events(options),
    ...(options.tickets && {
      "/ticket": mintHandler({ ...options, logger, tickets: options.tickets }),
    }),
    "/subscribe": subscribeHandler(topics),
    "/unsubscribe": unsubscribeHandler(topics),
    "/alive": aliveHandler({ ...options, logger }),
    ...(digest && {
      "/digest": knownDigestHandler({
        ...options,
        logger,
        resolve: digest,
        ...(options.digestBounds && { bounds: options.digestBounds }),
      }),
    }),
    ...(publish && { "/publish": publishHandler({ hub, access: publish, logger }) }),
    ...(presence && { "/presence": presenceHandler({ hub, access: presence, logger }) }),
    ...(metrics && { "/metrics": metricsHandler({ hub, membership, access: metrics, logger }) }),
    "/health": healthHandler(),
    "/ready": readyHandler({ hub, logger, ...(membership && { membership }) }),
  };
}

/** A ticket that is presented decides alone, also when the request would say who sends it. */
function events(options: ServiceOptions): Handler {
  const { tickets, logger = console } = options;
  const byTicket = tickets === undefined
    ? () => invalidTicket().toResponse()
    : ticketStreamHandler({ ...options, logger, tickets });
  const byRequest = ownStreamHandler({ ...options, logger });
  return (request, host) =>
    queryOf(request).has("ticket") ? byTicket(request, host) : byRequest(request, host);
}

function crossOrigin({ origins, credentials = false }: CorsOptions): ReturnType<typeof cors> {
  return cors({
    origin: [...origins],
    credentials,
    allowMethods: ["GET", "HEAD", "POST"],
    allowHeaders: ALLOWED_HEADERS,
    exposeHeaders: ["Retry-After"],
    maxAge: PREFLIGHT_MAX_AGE,
  });
}

/** The context of a plain Worker. A Durable Object's looks like it, but for its storage. */
function isModuleScope(context: unknown): boolean {
  return typeof context === "object" && context !== null && "waitUntil" in context &&
    !("storage" in context);
}
