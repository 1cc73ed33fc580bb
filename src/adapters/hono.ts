/**
 * Handlers for a Hono app. Hono itself is not imported: a few lines of its context are enough.
 *
 * @module
 */
import type { DigestOptions, Resolver } from "../hub/digest.ts";
import type { Hub, ServeOptions } from "../hub/types.ts";

/** What is read of Hono's request. */
export interface HonoRequest {
  /** The Web's request. */
  readonly raw: Request;
  /** A parameter of the route's path. */
  param(key: string): string | undefined;
  /** A parameter of the query. */
  query(key: string): string | undefined;
  /** A header. */
  header(name: string): string | undefined;
}

/** What is read of Hono's context, and what options are usually made from. */
export interface HonoContext {
  /** The request. */
  readonly req: HonoRequest;
  /** What the runtime handed to `app.fetch`: Bun's server, Deno's info, a Worker's bindings. */
  readonly env: unknown;
  /** A Worker's execution context; reading it throws where there is none. */
  readonly executionCtx: unknown;
}

/**
 * Serves a hub's stream.
 *
 * On Bun and Deno, `c.env` is what the runtime said of the request, and the hub is given it. On Node,
 * mount the app with `toNodeHandler(app.fetch)` from `@tidemark/sse/node`, and the stream is written
 * straight to the socket; under `@hono/node-server` it works too, through a web stream, at about
 * twice the work per frame.
 *
 * @param hub The hub.
 * @param options What the connection listens to, or what tells it from the context: after `await`ing
 * a session, say. Annotate the context with Hono's `Context` to see all of it. A `host` of yours is
 * kept.
 * @returns The handler.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { Hono } from "hono";
 * import { createHub } from "@tidemark/sse";
 * import { stream } from "@tidemark/sse/hono";
 *
 * const hub = createHub();
 * const app = new Hono();
 * app.get("/rooms/:room", stream(hub, (c) => ({ topics: [c.req.param("room") || "lobby"] })));
 *
 * const response = await app.request("/rooms/lobby");
 * assertEquals(response.headers.get("content-type"), "text/event-stream");
 * await response.body?.cancel();
 * await hub.shutdown();
 * ```
 */
export function stream<C extends HonoContext>(
  hub: Pick<Hub, "serve" | "handler">,
  options: ServeOptions | ((c: C) => ServeOptions | Promise<ServeOptions>) = {},
): (c: C) => Response | Promise<Response> {
  const serve = (c: C, chosen: ServeOptions): Response =>
    hub.serve(c.req.raw, { host: c.env, ...chosen });
  return (c) => {
    const context = moduleScope(c);
    // The hub says itself why not: this context is what it tells a Worker's module scope by.
    if (context !== undefined) return hub.handler(c.req.raw, c.env, context);
    if (typeof options !== "function") return serve(c, options);
    const chosen = options(c);
    // At once where possible: on Bun a response that comes later may miss that its client has left.
    return "then" in chosen ? chosen.then((late) => serve(c, late)) : serve(c, chosen);
  };
}

/** The context of a plain Worker. A Durable Object's looks like it, but for its storage. */
function moduleScope(c: HonoContext): object | undefined {
  try {
    const context = c.executionCtx;
    if (typeof context !== "object" || context === null) return undefined;
    return "waitUntil" in context && !("storage" in context) ? context : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Takes the acknowledgements of clients: a POST with `SSE-Client`.
 *
 * @param hub The hub.
 * @returns The handler: {@linkcode Hub.aliveHandler} for Hono.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { Hono } from "hono";
 * import { createHub } from "@tidemark/sse";
 * import { alive } from "@tidemark/sse/hono";
 *
 * const app = new Hono().post("/alive", alive(createHub()));
 * const headers = { "SSE-Client": "tab-1" };
 * assertEquals((await app.request("/alive", { method: "POST", headers })).status, 204);
 * ```
 */
export function alive(
  hub: Pick<Hub, "aliveHandler">,
): (c: { readonly req: Pick<HonoRequest, "raw"> }) => Response {
  return (c) => hub.aliveHandler(c.req.raw);
}

/**
 * Tells clients which of the versions they hold are out of date.
 *
 * @param hub The hub.
 * @param resolve Answers one state for each subject that was asked.
 * @param options The bounds of a request.
 * @returns The handler: {@linkcode Hub.digestHandler} for Hono.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { Hono } from "hono";
 * import { createHub } from "@tidemark/sse";
 * import { digest } from "@tidemark/sse/hono";
 *
 * const app = new Hono().post(
 *   "/digest",
 *   digest(createHub(), (held) => held.map((one) => ({ ...one, version: "2", status: "" }))),
 * );
 * const response = await app.request("/digest", {
 *   method: "POST",
 *   headers: { "Content-Type": "application/json" },
 *   body: JSON.stringify({ epoch: "", subjects: [{ kind: "doc", ref: "7", version: "1" }] }),
 * });
 * assertEquals((await response.json()).must_refetch, true); // it did not name our epoch
 * ```
 */
export function digest(
  hub: Pick<Hub, "digestHandler">,
  resolve: Resolver,
  options?: DigestOptions,
): (c: { readonly req: Pick<HonoRequest, "raw"> }) => Promise<Response> {
  const handler = hub.digestHandler(resolve, options);
  return (c) => handler(c.req.raw);
}
