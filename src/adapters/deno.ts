/**
 * Serves a handler on Deno, with a shutdown that says goodbye.
 *
 * `Deno.serve(hub.handler)` serves streams just as well. What this adds is the order of a shutdown,
 * and answers to a handler's throw that are the same on every runtime.
 *
 * @module
 */
import { refusal } from "../hub/refusal.ts";
import {
  describe,
  type FetchHandler,
  guarded,
  type ListenAddress,
  type ListenOptions,
  readListenOptions,
  type RunningServer,
  runningServer,
} from "./server.ts";

export type {
  ErrorLogger,
  FetchHandler,
  ListenAddress,
  ListenOptions,
  RunningServer,
  Stoppable,
} from "./server.ts";

/** What Deno says about a request. */
interface DenoInfo {
  readonly completed: Promise<void>;
}

/** What is needed of Deno, so that this file also type-checks where Deno's types are missing. */
interface DenoGlobal {
  serve(
    options: ListenAddress & {
      readonly signal: AbortSignal;
      onListen(address: ListenAddress): void;
      onError(error: unknown): Response;
    },
    handler: (request: Request, info: DenoInfo) => Response | Promise<Response>,
  ): { readonly addr: ListenAddress; shutdown(): Promise<void> };
}

/**
 * Serves a handler over HTTP with `Deno.serve`.
 *
 * Deno's info goes to the handler as its second argument. The hub reads its `completed`, so that a
 * shutdown knows when a goodbye has left: without it, exiting at once lost every one.
 *
 * @param handler Answers each request: `hub.handler`, or a function that calls `hub.serve` with
 * `{ host }`.
 * @param options Where to listen, and which hubs to shut down.
 * @returns The server, when its port is open.
 * @throws {ConfigError} When an option is out of bounds.
 * @throws {Error} When this is not Deno, or the port is taken.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { serveDeno } from "@tidemark/sse/deno";
 *
 * const hub = createHub();
 * const server = await serveDeno(hub.handler, { hub, port: 0, hostname: "127.0.0.1" });
 *
 * const response = await fetch(server.url);
 * assertEquals(response.headers.get("content-type"), "text/event-stream");
 *
 * const text = response.text();
 * await server.shutdown();
 * assertEquals((await text).endsWith('event: sse:reset\ndata: {"reason":"shutdown"}\n\n'), true);
 * ```
 */
export function serveDeno(
  handler: FetchHandler,
  options: ListenOptions = {},
): Promise<RunningServer> {
  // A promise, although Deno answers at once: what starts a server is the same on every runtime.
  return new Promise((resolve) => resolve(start(handler, options)));
}

function start(handler: FetchHandler, options: ListenOptions): RunningServer {
  const { Deno: deno } = globalThis as { readonly Deno?: DenoGlobal };
  if (deno === undefined) throw new Error("Cannot serve with Deno: this is another runtime");
  const { logger = console } = options;
  const cut = new AbortController();
  const open = new OpenResponses(guarded(handler, logger));
  const server = deno.serve(
    {
      ...readListenOptions(options),
      signal: cut.signal,
      // Deno prints the address itself when it is given no callback.
      onListen: () => {},
      onError: (error) => {
        logger.error(`The response failed: ${describe(error)}`);
        return refusal(500, "internal", "Internal error");
      },
    },
    (request, info) => open.answer(request, info),
  );
  const { hostname, port } = server.addr;
  let closing = false;
  return runningServer({ hostname, port }, options, {
    gently: async () => {
      await open.drain();
      closing = true;
      // `completed` is a moment early for a short response: only this waits for its last bytes.
      await server.shutdown();
    },
    now: () => {
      // Once Deno's own shutdown has begun, an abort throws where nobody can catch it (2.9.6).
      if (!closing) cut.abort();
    },
  });
}

/** The responses on their way, waited for before Deno's own shutdown, which cannot be cut short. */
class OpenResponses {
  readonly #answer: FetchHandler;
  #open = 0;
  #drained: (() => void) | undefined;

  constructor(answer: FetchHandler) {
    this.#answer = answer;
  }

  answer(request: Request, info: DenoInfo): Response | Promise<Response> {
    if (this.#drained !== undefined) {
      return refusal(503, "sse_unavailable", "The server is shutting down", { "Retry-After": "1" });
    }
    this.#open++;
    const ended = (): void => {
      if (--this.#open === 0) this.#drained?.();
    };
    info.completed.then(ended, ended);
    return this.#answer(request, info);
  }

  /** Settles when they have been sent. What comes meanwhile is refused, or that might never be. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      if (this.#open === 0) resolve();
    });
  }
}
