/**
 * Serves a handler on Node: over `node:http`, `node:https` and HTTP/2.
 *
 * @module
 */
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { refusal } from "../hub/refusal.ts";
import { BadRequestError, toRequest } from "./node/request.ts";
import { send } from "./node/response.ts";
import type { NodeHandler, NodeResponse } from "./node/types.ts";
import {
  describe,
  type ErrorLogger,
  type FetchHandler,
  goingAway,
  guarded,
  type ListenOptions,
  readListenOptions,
  type RunningServer,
  runningServer,
} from "./server.ts";

export type {
  NodeHandler,
  NodeListener,
  NodeRequest,
  NodeResponse,
  NodeSocket,
} from "./node/types.ts";
export type {
  DrainOptions,
  ErrorLogger,
  FetchHandler,
  ListenAddress,
  ListenOptions,
  RunningServer,
  SignalOptions,
  Stoppable,
  StopSignal,
} from "./server.ts";

/** Options of {@linkcode toNodeHandler}. */
export interface NodeHandlerOptions {
  /**
   * Whether a hub's streams are written straight to the socket; `true`. With `false` they take the
   * way of every other body, through a web stream: about twice the work per frame.
   */
  readonly direct?: boolean;
  /** Where a handler that threw is logged; `console`. */
  readonly logger?: ErrorLogger;
}

/**
 * Makes a listener for `node:http`, `node:https`, or HTTP/2's compatibility API of a handler that
 * speaks `Request` and `Response`. It is a middleware of Express or Connect too.
 *
 * A response that a hub made is found again by its body, through whatever middleware set headers on
 * it, and the hub's connection then drives the socket itself. Any other body is copied at the pace
 * of the socket. A handler that throws is logged and answered with 500 `internal`; a malformed Host
 * or target with 400 `bad_request`.
 *
 * @param handler Answers each request. Its second argument is `{ incoming, outgoing }`, which is
 * where Hono's helpers for Node look.
 * @param options How.
 * @returns The listener.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { once } from "node:events";
 * import { createServer } from "node:http";
 * import { toNodeHandler } from "@tidemark/sse/node";
 *
 * const server = createServer(toNodeHandler(() => new Response("hello")));
 * server.listen(0, "127.0.0.1");
 * await once(server, "listening");
 *
 * const address = server.address();
 * if (address === null || typeof address === "string") throw new Error("It listens on a port");
 * const response = await fetch(`http://127.0.0.1:${address.port}`);
 * assertEquals(await response.text(), "hello");
 * server.close();
 * ```
 */
export function toNodeHandler(
  handler: FetchHandler,
  options: NodeHandlerOptions = {},
): NodeHandler {
  const { direct = true, logger = console } = options;
  const answer = guarded(handler, logger);
  return (incoming, outgoing) => {
    // Without a listener the error of one client's socket would end the process.
    outgoing.on("error", () => {});
    const deliver = (response: Response): void => {
      try {
        send(response, incoming, outgoing, direct);
      } catch (error) {
        logger.error(`The response failed: ${describe(error)}`);
        if (outgoing.headersSent) return;
        send(refusal(500, "internal", "Internal error"), incoming, outgoing, direct);
      }
    };
    let request: Request;
    try {
      request = toRequest(incoming, leavingSignal(outgoing));
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      return deliver(refusal(400, "bad_request", error.message));
    }
    requests.set(outgoing, request);
    const response = answer(request, { incoming, outgoing });
    if ("then" in response) response.then(deliver);
    else deliver(response);
  };
}

/**
 * Holds each request for as long as its response. Node ties the signal that a request is made with
 * to the request's own by a weak reference: collected, it would never hear that its client left.
 */
const requests = new WeakMap<NodeResponse, Request>();

/** The response's `close` it is: the request's comes too when all went well, or not at all. */
function leavingSignal(outgoing: NodeResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.on("close", () => {
    // HTTP/2 calls a response finished that was cut before it was ended.
    if (!outgoing.writableEnded || !outgoing.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Options of {@linkcode serveNode}. */
export interface NodeServeOptions extends ListenOptions, NodeHandlerOptions {
  /** Where a handler that threw is logged; `console`. */
  readonly logger?: ErrorLogger;
}

/**
 * Serves a handler over HTTP with `node:http`.
 *
 * For TLS or HTTP/2 make the server yourself, `createSecureServer(options, toNodeHandler(handler))`,
 * and shut the hub down before you close it.
 *
 * @param handler Answers each request: `hub.handler`, the `fetch` of a Hono app, or a function that
 * calls `hub.serve`.
 * @param options Where to listen, and which hubs to shut down.
 * @returns The server, when its port is open.
 * @throws {ConfigError} When an option is out of bounds.
 * @throws {Error} When the port is taken.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { serveNode } from "@tidemark/sse/node";
 *
 * const hub = createHub();
 * const server = await serveNode(hub.handler, { hub, port: 0, hostname: "127.0.0.1" });
 *
 * const response = await fetch(server.url);
 * assertEquals(response.headers.get("content-type"), "text/event-stream");
 *
 * const text = response.text();
 * await server.shutdown();
 * assertEquals((await text).endsWith('event: sse:reset\ndata: {"reason":"shutdown"}\n\n'), true);
 * ```
 */
export async function serveNode(
  handler: FetchHandler,
  options: NodeServeOptions = {},
): Promise<RunningServer> {
  const { logger = console } = options;
  const { hostname, port } = readListenOptions(options);
  let closed = false;
  const answer = toNodeHandler(
    (request, host) => closed ? goingAway() : handler(request, host),
    options,
  );
  const server = createServer((incoming, outgoing) => {
    if (closed) outgoing.setHeader("Connection", "close");
    // A stream that ends now must not keep its connection: the client would come back by it, and hear
    // a 503. Node itself keeps it for `keepAliveTimeout`, and newer ones for a second more.
    outgoing.on("finish", () => {
      if (closed) incoming.socket.end();
    });
    answer(incoming, outgoing);
  });
  const unused = unusedSockets(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
  // Out of file descriptors, say: without a listener that would end the process.
  server.on("error", (error) => logger.error(`The server failed: ${describe(error)}`));
  const bound = server.address();
  const address = typeof bound === "object" && bound !== null
    ? { hostname: bound.address, port: bound.port }
    : { hostname, port };
  let ended: Promise<void> | undefined;
  return runningServer(address, options, {
    unlisten: () => {
      closed = true;
      ended = new Promise((resolve) => server.close(() => resolve()));
      for (const socket of unused) socket.destroy();
    },
    ended: () => Promise.resolve(ended),
    now: () => server.closeAllConnections(),
  });
}

/** The sockets without a request so far, such as browsers open ahead: `close` would wait for them. */
function unusedSockets(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  server.on("connection", (socket) => {
    unused.add(socket);
    socket.on("close", () => unused.delete(socket));
  });
  server.on("request", (incoming) => unused.delete(incoming.socket));
  return unused;
}
