/**
 * What the adapters that open a port have in common: their options, and a shutdown which says
 * goodbye to every client before the port closes.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { refusal } from "../hub/refusal.ts";
import { errorForLog, forLog } from "../wire/text.ts";

/**
 * What an adapter calls for each request: `hub.handler`, the `fetch` of a Hono app, or your own
 * function.
 *
 * `host` is what the runtime says about the request: Bun's server, Deno's info, or on Node
 * `{ incoming, outgoing }`. Hand it on to `hub.serve` as {@linkcode ServeOptions.host}.
 */
export type FetchHandler = (request: Request, host: object) => Response | Promise<Response>;

/** What a server tells goodbye before it closes: a hub, or whatever else ends its own streams. */
export interface Stoppable {
  /**
   * Ends its streams in good order.
   *
   * @param options `signal` ends the waiting early.
   */
  shutdown(options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** Where an adapter writes what went wrong: `console`, or a hub's logger. */
export interface ErrorLogger {
  /** What failed. */
  error(message: string): void;
}

/** Where a server listens. */
export interface ListenAddress {
  /** The interface. */
  readonly hostname: string;
  /** The port, the real one when 0 was asked for. */
  readonly port: number;
}

/** Options of `serveDeno`, `serveBun` and `serveNode`. */
export interface ListenOptions {
  /**
   * The hub, or the hubs, whose streams the server carries. Without it a shutdown cannot tell the
   * clients why they are cut off, and waits in vain for their streams to end.
   */
  readonly hub?: Stoppable | readonly Stoppable[];
  /** The port; 8000; 0 means any that is free. */
  readonly port?: number;
  /** The interface; `0.0.0.0`, which is all of IPv4. */
  readonly hostname?: string;
  /**
   * How long a shutdown may take in all, in milliseconds; 10 000; 1 to 2^31 − 1. What has not ended
   * by then is cut.
   */
  readonly shutdownMs?: number;
  /** Where a handler that threw is logged; `console`. */
  readonly logger?: ErrorLogger;
  /**
   * Called once, when the port is open.
   *
   * @param address Where.
   */
  onListen?(address: ListenAddress): void;
}

/** A server that listens. */
export interface RunningServer extends ListenAddress {
  /** Where a client on this machine reaches it: `http://127.0.0.1:8000`, without a path. */
  readonly url: string;
  /**
   * Shuts the hubs down, so that each client is told, and then closes the port. When it settles the
   * process may exit: what was told has left. A second call joins the first.
   *
   * @returns Settles within {@linkcode ListenOptions.shutdownMs}, and a tenth of a second for the cut.
   * @throws What a hub's shutdown threw, after the port was closed.
   */
  shutdown(): Promise<void>;
}

/** The two ways to close a runtime's server. */
export interface Closing {
  /** Takes no new connection, and settles when the open responses have ended. */
  gently(): Promise<unknown>;
  /** Cuts what is still open. */
  now(): void;
}

const DEFAULT_PORT = 8000;
const DEFAULT_SHUTDOWN_MS = 10_000;
const CUT_MS = 100;
const MAX_SHUTDOWN_MS = 2_147_483_647;

/**
 * The address to ask the runtime for.
 *
 * @param options What the application passed.
 * @returns The address, with the defaults in place.
 * @throws {ConfigError} When `shutdownMs` is out of bounds: found now, not during a shutdown.
 */
export function readListenOptions(options: ListenOptions): ListenAddress {
  const { shutdownMs = DEFAULT_SHUTDOWN_MS } = options;
  if (!(shutdownMs >= 1 && shutdownMs <= MAX_SHUTDOWN_MS)) {
    throw new ConfigError("shutdownMs", `it is ${shutdownMs}, it must be 1 to ${MAX_SHUTDOWN_MS}`);
  }
  return { hostname: options.hostname ?? "0.0.0.0", port: options.port ?? DEFAULT_PORT };
}

/**
 * Puts a {@linkcode RunningServer} around a runtime's own.
 *
 * @param address Where it listens.
 * @param options What the application passed.
 * @param closing How the runtime's server is closed.
 * @returns The running server.
 */
export function runningServer(
  address: ListenAddress,
  options: ListenOptions,
  closing: Closing,
): RunningServer {
  let stopping: Promise<void> | undefined;
  options.onListen?.(address);
  return {
    ...address,
    url: urlOf(address),
    shutdown: () => stopping ??= stop(options, closing),
  };
}

async function stop(options: ListenOptions, closing: Closing): Promise<void> {
  const { hub = [], shutdownMs = DEFAULT_SHUTDOWN_MS } = options;
  const hubs = "shutdown" in hub ? [hub] : hub;
  const deadline = new AbortController();
  const { signal } = deadline;
  const expired = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const timer = setTimeout(
    () => deadline.abort(new Error("The shutdown took too long")),
    shutdownMs,
  );
  try {
    // One hub's failure must neither keep another's clients waiting nor leave the port open.
    const stopped = Promise.allSettled(hubs.map(async (one) => await one.shutdown({ signal })));
    const outcomes = await Promise.race([stopped, expired.then(() => [])]);
    const closed = closing.gently();
    await Promise.race([closed, expired]);
    if (signal.aborted) await cutNow(closing, closed);
    for (const outcome of outcomes) {
      // A hub that was given up on says so with the signal's reason: that is no failure of its own.
      if (outcome.status === "rejected" && !signal.aborted) throw outcome.reason;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What the cut leads to happens soon; whether a runtime can tell is not worth waiting for. */
async function cutNow(closing: Closing, closed: Promise<unknown>): Promise<void> {
  closing.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([closed, new Promise<void>((resolve) => timer = setTimeout(resolve, CUT_MS))]);
  clearTimeout(timer);
}

function urlOf({ hostname, port }: ListenAddress): string {
  // The wildcard is where a server listens, not where a client can go.
  if (hostname === "0.0.0.0" || hostname === "::") return `http://localhost:${port}`;
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/**
 * Keeps a handler's throw from the runtime, each of which would answer in its own way.
 *
 * @param handler The application's handler.
 * @param logger Where the throw is logged, once.
 * @returns The handler; it answers 500 `internal` instead of throwing. A handler that answers at
 * once still does: on Bun a response that comes later may miss that its client has left.
 */
export function guarded(handler: FetchHandler, logger: ErrorLogger = console): FetchHandler {
  const failed = (error: unknown): Response => {
    logger.error(`The handler failed: ${describe(error)}`);
    return refusal(500, "internal", "Internal error");
  };
  return (request, host) => {
    try {
      const answer = handler(request, host);
      return "then" in answer ? answer.then(undefined, failed) : answer;
    } catch (error) {
      return failed(error);
    }
  };
}

/**
 * What was thrown, for a log. A message may repeat what came from a request; a stack does not.
 *
 * @param error What was thrown.
 * @returns Its message, cut and cleaned, and its stack.
 */
export function describe(error: unknown): string {
  const stack = error instanceof Error ? error.stack ?? "" : "";
  const calls = stack.split("\n").filter((line) => /^ {4}at /.test(line));
  return [errorForLog(error), ...calls.map((line) => forLog(line, 512))].join("\n");
}
