/**
 * `POST /alive` and `POST /digest`: for whom the application knows, and nobody else.
 *
 * @module
 */
import { type Clock, systemClock } from "../../hub/clock.ts";
import type { DigestOptions, HeldSubject, SubjectState } from "../../hub/digest.ts";
import type { Logger } from "../../hub/options.ts";
import type { StreamHub } from "../../hub/types.ts";
import { answering } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import type { Handler, Identity } from "./types.ts";
import { type Questions, whoAsks } from "./who.ts";

/** Options of {@linkcode aliveHandler}. */
export interface KnownOptions extends Pick<Questions, "identify" | "clock"> {
  /** The hub. */
  readonly hub: Pick<StreamHub, "aliveHandler" | "digestHandler">;
  /** Where failures are logged; `console`. */
  readonly logger?: Pick<Logger, "error">;
}

/**
 * Makes the handler of `POST /alive`: {@linkcode StreamHub.aliveHandler}, for whom the application knows.
 *
 * @param options The hub, and the application.
 * @returns The handler. Its refusals: the hub's, and 401 `unauthenticated`.
 */
export function aliveHandler(options: KnownOptions): Handler {
  const { hub, logger, clock } = options;
  return answering(async (request) => {
    // What is no POST is refused all the same, and nobody needs to be asked for that.
    if (request.method === "POST") await whoAsks(request, options);
    return hub.aliveHandler(request);
  }, sparing(logger, clock));
}

/** What a {@linkcode KnownResolver} knows beside the subjects. */
export interface KnownContext {
  /** The request; its body has been read. */
  readonly request: Request;
  /** Aborts when the client has left, where the runtime says so. */
  readonly signal: AbortSignal;
  /** Who asks. */
  readonly identity: Identity;
}

/** A {@linkcode Resolver} that is told who asks. */
export type KnownResolver = (
  held: readonly HeldSubject[],
  context: KnownContext,
) => readonly SubjectState[] | Promise<readonly SubjectState[]>;

/** Options of {@linkcode knownDigestHandler}. */
export interface KnownDigestOptions extends KnownOptions {
  /** Answers one state for each subject that was asked. */
  readonly resolve: KnownResolver;
  /** The bounds of a request. */
  readonly bounds?: DigestOptions;
  /** How long the resolver may take, in milliseconds; 10,000. After that the client refetches. */
  readonly timeoutMs?: number;
}

/**
 * Makes the handler of `POST /digest`: {@linkcode StreamHub.digestHandler}, for whom the application
 * knows, and bounded in time.
 *
 * @param options The hub, the application, and its resolver.
 * @returns The handler. Its refusals: the hub's, and 401 `unauthenticated`.
 */
export function knownDigestHandler(options: KnownDigestOptions): Handler {
  const { hub, resolve, bounds, clock = systemClock, timeoutMs = 10_000 } = options;
  return answering(async (request) => {
    if (request.method !== "POST") return await hub.digestHandler(() => [], bounds)(request);
    const identity = await whoAsks(request, options);
    const digest = hub.digestHandler((held, asked) => {
      const context = {
        request: asked.request,
        // Read only by a resolver that wants it: on Deno the mere reading has a price.
        get signal(): AbortSignal {
          return asked.signal;
        },
        identity,
      };
      return within(timeoutMs, clock, resolve(held, context));
    }, bounds);
    return await digest(request);
  }, sparing(options.logger, clock));
}

function within<T>(ms: number, clock: Clock, work: T | Promise<T>): T | Promise<T> {
  if (!(work instanceof Promise)) return work;
  return new Promise((resolve, reject) => {
    const late = clock.after(ms, () => reject(new Error(`It took over ${ms} ms`)));
    work.then(resolve, reject).finally(() => late.cancel());
  });
}
