/**
 * What the adapters that open a port have in common: their options, and a running server which says
 * goodbye to every client before it ends.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { readDrainOptions } from "../hub/leaving.ts";
import { refusal } from "../hub/refusal.ts";
import type { DrainOptions } from "../hub/types.ts";
import { errorForLog, forLog } from "../wire/text.ts";
import {
  type ProcessHost,
  STOP_SIGNALS,
  stopOnSignals,
  type StopSignal,
  thisProcess,
} from "./signals.ts";
import { type Closing, type Stoppable, Stopper } from "./stopping.ts";

export type { DrainOptions } from "../hub/types.ts";
export type { StopSignal } from "./signals.ts";
export type { Stoppable } from "./stopping.ts";

/**
 * What an adapter calls for each request: `hub.handler`, the `fetch` of a Hono app, or your own
 * function.
 *
 * `host` is what the runtime says about the request: Bun's server, Deno's info, or on Node
 * `{ incoming, outgoing }`. Hand it on to `hub.serve` as {@linkcode ServeOptions.host}.
 */
export type FetchHandler = (request: Request, host: object) => Response | Promise<Response>;

/** What a server does on a signal, as {@linkcode ListenOptions.drainOnSignal} takes it. */
export interface SignalOptions {
  /** As {@linkcode DrainOptions.lameDuckMs}; 5000. */
  readonly lameDuckMs?: number;
  /** As {@linkcode DrainOptions.spreadMs}; 3000. */
  readonly spreadMs?: number;
  /** On which; `["SIGTERM", "SIGINT"]`. On Windows only SIGINT comes. */
  readonly signals?: readonly StopSignal[];
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
   * by then is cut. A drain's lame duck and spread come before it.
   */
  readonly shutdownMs?: number;
  /**
   * Whether the server drains on SIGTERM and SIGINT, and then ends the process: with 0, or with 1 when
   * something failed, which is logged. `false`, because the signals are the process's own. At SIGINT,
   * behind which somebody waits at a terminal, there is neither lame duck nor spread. A second signal
   * exits at once, with 143 or 130. Several servers of one process wait for one another.
   */
  readonly drainOnSignal?: boolean | SignalOptions;
  /** Where a handler that threw is logged; `console`. */
  readonly logger?: ErrorLogger;
  /**
   * Called once, when the port is open.
   *
   * @param address Where.
   */
  onListen?(address: ListenAddress): void;
  /**
   * Called once, when the server has stopped, whoever asked for it, and before the process exits: to
   * leave the relay, to close the journal. It gets what is left of {@linkcode ListenOptions.shutdownMs},
   * and at least a second.
   */
  onStopped?(): void | Promise<void>;
}

/** A server that listens. */
export interface RunningServer extends ListenAddress {
  /** Where a client on this machine reaches it: `http://127.0.0.1:8000`, without a path. */
  readonly url: string;
  /**
   * Closes the port, shuts the hubs down, so that each client is told, and waits until the streams have
   * ended. When it settles the process may exit: what was told has left. A second call joins the first;
   * a drain that is under way goes on without its waiting.
   *
   * @returns Settles within {@linkcode ListenOptions.shutdownMs}, a tenth of a second for the cut, and
   * what {@linkcode ListenOptions.onStopped} may take.
   * @throws What a hub's shutdown threw, or `onStopped`, after the port was closed.
   */
  shutdown(): Promise<void>;
  /**
   * Leaves without a hurry: serves everybody while the hubs' readiness has failed already, closes the
   * port, lets the hubs send their clients away one by one, and stops like a shutdown. Joins whatever
   * is under way.
   *
   * @param options How long each part may take; `signal` ends the waiting early.
   * @returns Settles within the two, and what a shutdown may take.
   * @throws {ConfigError} When a number is out of bounds.
   * @throws What a shutdown throws.
   */
  drain(options?: DrainOptions): Promise<void>;
}

const DEFAULT_PORT = 8000;
const DEFAULT_SHUTDOWN_MS = 10_000;
const DEFAULT_SIGNALS: readonly StopSignal[] = ["SIGTERM", "SIGINT"];
const MAX_SHUTDOWN_MS = 2_147_483_647;

/**
 * The address to ask the runtime for.
 *
 * @param options What the application passed.
 * @returns The address, with the defaults in place.
 * @throws {ConfigError} When `shutdownMs` or `drainOnSignal` is out of bounds: found now, not during a
 * shutdown.
 * @throws {Error} When signals are asked for, and the runtime has no process.
 */
export function readListenOptions(options: ListenOptions): ListenAddress {
  const { shutdownMs = DEFAULT_SHUTDOWN_MS } = options;
  if (!(shutdownMs >= 1 && shutdownMs <= MAX_SHUTDOWN_MS)) {
    throw new ConfigError("shutdownMs", `it is ${shutdownMs}, it must be 1 to ${MAX_SHUTDOWN_MS}`);
  }
  if (readSignalOptions(options) !== undefined) thisProcess();
  return { hostname: options.hostname ?? "0.0.0.0", port: options.port ?? DEFAULT_PORT };
}

/** What to do on a signal; nothing unless it was asked for. */
function readSignalOptions({ drainOnSignal = false }: ListenOptions):
  | {
    readonly signals: readonly StopSignal[];
    readonly lameDuckMs: number;
    readonly spreadMs: number;
  }
  | undefined {
  if (drainOnSignal === false) return undefined;
  const { signals = DEFAULT_SIGNALS, ...times } = drainOnSignal === true ? {} : drainOnSignal;
  for (const signal of signals) {
    if (!STOP_SIGNALS.includes(signal)) {
      throw new ConfigError("signals", `it must name only ${STOP_SIGNALS.join(", ")}`);
    }
  }
  const { lameDuckMs, spreadMs } = readDrainOptions(times);
  return { signals, lameDuckMs, spreadMs };
}

/**
 * Puts a {@linkcode RunningServer} around a runtime's own.
 *
 * @param address Where it listens.
 * @param options What the application passed.
 * @param closing How the runtime's server is closed.
 * @param host The process whose signals are meant; this one.
 * @returns The running server.
 */
export function runningServer(
  address: ListenAddress,
  options: ListenOptions,
  closing: Closing,
  host?: ProcessHost,
): RunningServer {
  const { hub = [], shutdownMs = DEFAULT_SHUTDOWN_MS, logger = console } = options;
  let forget = (): void => {};
  const stopper = new Stopper(closing, {
    hubs: "shutdown" in hub ? [hub] : hub,
    shutdownMs,
    onStopped: () => options.onStopped?.(),
    onSettled: () => forget(),
  });
  const onSignal = readSignalOptions(options);
  if (onSignal !== undefined) {
    const { signals, ...times } = onSignal;
    const stop = async (signal: StopSignal): Promise<void> => {
      const waits = signal === "SIGINT" ? { lameDuckMs: 0, spreadMs: 0 } : times;
      try {
        await stopper.drain({ ...waits, signal: undefined, exits: true });
      } catch (error) {
        logger.error(`The shutdown failed: ${describe(error)}`);
        throw error;
      }
    };
    forget = stopOnSignals(host ?? thisProcess(), { signals, stop });
  }
  options.onListen?.(address);
  return {
    ...address,
    url: urlOf(address),
    shutdown: () => stopper.shutdown(),
    drain: async (plan = {}) => await stopper.drain({ ...readDrainOptions(plan), exits: false }),
  };
}

function urlOf({ hostname, port }: ListenAddress): string {
  // The wildcard is where a server listens, not where a client can go.
  if (hostname === "0.0.0.0" || hostname === "::") return `http://localhost:${port}`;
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/**
 * What a request hears that comes by a connection from before the port was closed.
 *
 * @param headers To add: `Connection: close` where the response goes out as HTTP/1.1 for sure.
 * @returns The 503 of a hub that is shutting down.
 */
export function goingAway(headers: Readonly<Record<string, string>> = {}): Response {
  return refusal(503, "sse_unavailable", "The server is shutting down", {
    "Retry-After": "1",
    ...headers,
  });
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
