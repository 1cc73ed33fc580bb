/**
 * Serves a handler on Bun, with a shutdown that says goodbye.
 *
 * `export default { fetch: hub.handler }` serves streams just as well. What this adds is the order
 * of a shutdown: a process that exits right after it wrote its goodbyes loses every one.
 *
 * @module
 */
import { refusal } from "../hub/refusal.ts";
import { addressed } from "./address.ts";
import {
  describe,
  type FetchHandler,
  goingAway,
  guarded,
  type ListenAddress,
  type ListenOptions,
  readListenOptions,
  type RunningServer,
  runningServer,
} from "./server.ts";

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

/** What is needed of Bun, so that this file also type-checks where Bun's types are missing. */
interface BunGlobal {
  serve(
    options: ListenAddress & {
      fetch(request: Request, server: object): Response | Promise<Response>;
      error(error: unknown): Response;
    },
  ): ListenAddress & { stop(closeActiveConnections?: boolean): Promise<void> };
}

/**
 * Serves a handler over HTTP with `Bun.serve`. Bun 1.4.5 is the oldest that was tried: before about
 * 1.2 a client's leaving goes unseen, and before 1.4 a client that does not read grows the process.
 *
 * Bun's server goes to the handler as its second argument. The hub calls its `timeout(request, 0)`,
 * for Bun cuts a stream that is silent for 10 s. Other requests keep that bound.
 *
 * @param handler Answers each request: `hub.handler`, or a function that calls `hub.serve` with
 * `{ host }`.
 * @param options Where to listen, and which hubs to shut down.
 * @returns The server, when its port is open.
 * @throws {ConfigError} When an option is out of bounds.
 * @throws {Error} When this is not Bun, or the port is taken.
 *
 * @example
 * ```ts no-run
 * import { createHub } from "@tidemark/sse";
 * import { serveBun } from "@tidemark/sse/bun";
 *
 * const hub = createHub();
 * const server = await serveBun((request, host) => {
 *   const topic = new URL(request.url).searchParams.get("room") || "lobby";
 *   return hub.serve(request, { topics: [topic], host });
 * }, { hub, port: 8000, drainOnSignal: true });
 * console.log(server.url);
 * ```
 */
export function serveBun(
  handler: FetchHandler,
  options: ListenOptions = {},
): Promise<RunningServer> {
  // A promise, although Bun answers at once: what starts a server is the same on every runtime.
  return new Promise((resolve) => resolve(start(handler, options)));
}

/** Bun closes the connection by itself, and says so only when told to. It speaks HTTP/1.1 alone. */
const CLOSE = { Connection: "close" };

function start(handler: FetchHandler, options: ListenOptions): RunningServer {
  const { Bun: bun } = globalThis as { readonly Bun?: BunGlobal };
  if (bun === undefined) throw new Error("Cannot serve with Bun: this is another runtime");
  const { logger = console } = options;
  const answer = addressed(guarded(handler, logger));
  let stopped: Promise<void> | undefined;
  const server = bun.serve({
    ...readListenOptions(options),
    fetch: (request, host) => stopped === undefined ? answer(request, host) : goingAway(CLOSE),
    error: (error) => {
      logger.error(`The response failed: ${describe(error)}`);
      return refusal(500, "internal", "Internal error");
    },
  });
  const { hostname, port } = server;
  return runningServer({ hostname, port }, options, {
    unlisten: () => {
      // Bun cannot say when one response was flushed; its stop settles when all of them were.
      stopped = server.stop();
    },
    ended: () => Promise.resolve(stopped),
    now: () => void server.stop(true),
  });
}
