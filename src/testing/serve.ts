/**
 * A hub on a port, for tests that want real sockets.
 *
 * @module
 */
import type { FetchHandler, SignalOptions, Stoppable } from "../adapters/server.ts";
import type { Hub } from "../hub/types.ts";

/** Options of {@linkcode serve}. */
export interface ServeForTestOptions {
  /**
   * What answers each request; `hub.handler`. Hand its second argument on to `hub.serve` as `host`.
   *
   * @param request The request.
   * @param host What the runtime says about it.
   * @returns The answer.
   */
  readonly handler?: (request: Request, host: object) => Response | Promise<Response>;
  /** The port of 127.0.0.1; 0, the default, takes a free one. */
  readonly port?: number;
  /** Node only: whether the hub writes to the socket itself, or its Web body is piped; true. */
  readonly direct?: boolean;
  /** How long a shutdown may take, in milliseconds; 4000. */
  readonly shutdownMs?: number;
}

/** A hub that listens. */
export interface ServedHub extends AsyncDisposable {
  /** Where: `http://127.0.0.1:PORT`, without a path. */
  readonly url: string;
  /** The port. */
  readonly port: number;
  /**
   * Shuts the hub down, so that each client is told, and closes the port. A second call joins the
   * first.
   *
   * @returns Settles within {@linkcode ServeForTestOptions.shutdownMs}.
   */
  shutdown(): Promise<void>;
}

const HOSTNAME = "127.0.0.1";
const SHUTDOWN_MS = 4000;

/**
 * Serves a hub on a free port of 127.0.0.1, on whichever of Deno, Bun and Node it runs on.
 *
 * @param hub The hub; it is shut down with the server.
 * @param options What answers, and where.
 * @returns The server, when its port is open. It can be declared with `await using`.
 * @throws {TypeError} On another runtime.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { readFrames, serve } from "@tidemark/sse/testing";
 *
 * const hub = createHub();
 * const server = await serve(hub, {
 *   handler: (request, host) => hub.serve(request, { topics: ["news"], host }),
 * });
 * const { body } = await fetch(server.url);
 * await readFrames(body, 2);
 * hub.publish({ topic: "news", data: "hello" });
 * assertEquals((await readFrames(body, 1))[0]?.data, "hello");
 *
 * await server.shutdown();
 * assertEquals((await readFrames(body, 1))[0]?.event, "sse:reset");
 * await body?.cancel();
 * ```
 */
export function serve(hub: Hub, options: ServeForTestOptions = {}): Promise<ServedHub> {
  return listen(options.handler ?? hub.handler, hub, options);
}

/**
 * Serves a handler; each runtime loads its own adapter and no other.
 *
 * @param handler What answers each request.
 * @param hub What is shut down with the server.
 * @param options Where.
 * @returns The server.
 * @throws {TypeError} When this is neither Deno nor Bun nor Node.
 */
export async function listen(
  handler: FetchHandler,
  hub: Stoppable,
  options: ServeForTestOptions & {
    readonly hostname?: string;
    readonly drainOnSignal?: SignalOptions;
  } = {},
): Promise<ServedHub> {
  const { port = 0, direct = true, hostname = HOSTNAME, shutdownMs = SHUTDOWN_MS } = options;
  const { drainOnSignal = false } = options;
  const common = { hub, port, hostname, shutdownMs, drainOnSignal };
  const server = await (async () => {
    if ("Deno" in globalThis) {
      return (await import("../adapters/deno.ts")).serveDeno(handler, common);
    }
    if ("Bun" in globalThis) return (await import("../adapters/bun.ts")).serveBun(handler, common);
    if ("process" in globalThis) {
      return (await import("../adapters/node.ts")).serveNode(handler, { ...common, direct });
    }
    throw new TypeError("Cannot serve here: this is neither Deno nor Bun nor Node");
  })();
  return {
    url: server.url,
    port: server.port,
    shutdown: () => server.shutdown(),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
