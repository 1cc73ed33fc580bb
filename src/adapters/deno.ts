/**
 * Serves a handler on Deno, with a shutdown that says goodbye.
 *
 * `Deno.serve(hub.handler)` serves streams just as well. What this adds is the order of a shutdown,
 * and answers to a handler's throw that are the same on every runtime.
 *
 * @module
 */
import { refusal } from "../hub/refusal.ts";
import { peerOf } from "../hub/sink.ts";
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
  const open = new OpenResponses(addressed(guarded(handler, logger)));
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
  let ended: Promise<void> | undefined;
  return runningServer({ hostname, port }, options, {
    unlisten: async (exits) => {
      open.refuse();
      if (exits || await open.onlyStreams()) ended ??= server.shutdown();
    },
    ended: async () => {
      if (ended === undefined) await open.drained();
      // `completed` is a moment early for a short response: only this waits for its last bytes.
      await (ended ??= server.shutdown());
    },
    now: () => {
      // Once Deno's own shutdown has begun, an abort throws where nobody can catch it (2.9.6).
      if (ended !== undefined) return;
      ended = Promise.resolve();
      cut.abort();
    },
  });
}

/** How long the port may stay open for requests under way, in milliseconds. */
const REQUESTS_MS = 250;

/**
 * The responses on their way. Deno's own shutdown closes the port at once and lets them go on, but
 * from then on nothing can cut them. A hub ends its streams itself; so that is the time to begin it:
 * when nothing but hubs' streams is open.
 */
class OpenResponses {
  readonly #answer: FetchHandler;
  #open = 0;
  #streams = 0;
  #refusing = false;
  #changed = (): void => {};
  #late = (): void => {};

  constructor(answer: FetchHandler) {
    this.#answer = answer;
  }

  answer(request: Request, info: DenoInfo): Response | Promise<Response> {
    // Or there might never be an end of them.
    if (this.#refusing) return goingAway();
    this.#open++;
    let open = true;
    let streams = 0;
    const ended = (): void => {
      open = false;
      this.#open--;
      this.#streams -= streams;
      this.#changed();
    };
    const counted = (response: Response): Response => {
      // The body of any other is left alone: asked for, it would be made a stream.
      const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream");
      if (open && isEvents && peerOf(response.body) !== undefined) {
        streams = 1;
        this.#streams++;
        this.#changed();
      }
      return response;
    };
    info.completed.then(ended, ended);
    const answer = this.#answer(request, info);
    return "then" in answer ? answer.then(counted) : counted(answer);
  }

  /** Refuses what comes from now on. */
  refuse(): void {
    this.#refusing = true;
  }

  /** Settles when nothing but hubs' streams is open, with `true`; with `false` if that takes long. */
  async onlyStreams(): Promise<boolean> {
    const late = new Promise<false>((resolve) => this.#late = () => resolve(false));
    const timer = setTimeout(() => this.#late(), REQUESTS_MS);
    const yes = this.#until(() => this.#open === this.#streams).then(() => true);
    const answer = await Promise.race([yes, late]);
    clearTimeout(timer);
    return answer;
  }

  /** Settles when all have been sent. */
  drained(): Promise<void> {
    this.#late();
    return this.#until(() => this.#open === 0);
  }

  #until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = () => {
        if (holds()) resolve();
      };
      this.#changed();
    });
  }
}
