/**
 * The hub's side: a Durable Object that holds one hub.
 *
 * @module
 */
import type { Resolver } from "../../hub/digest.ts";
import { createHub } from "../../hub/hub.ts";
import { openMetrics } from "../../hub/metrics.ts";
import type { HubOptions } from "../../hub/options.ts";
import { refusal } from "../../hub/refusal.ts";
import type { Hub, ServeOptions } from "../../hub/types.ts";
import { doorRoute, eventOf, publishResponse } from "./door.ts";

/**
 * A Durable Object that holds one hub. Bind the class, or one of your own that extends it, and reach
 * it through {@linkcode routeToHub}, {@linkcode publishTo} and {@linkcode askHub}.
 *
 * **What an eviction does.** The hub lives in the object's memory. A deploy, a move to another
 * machine or a crash starts it anew, with a new epoch and an empty ring: every client comes back,
 * hears `epoch_changed`, and has to bring itself up to date, by a digest, by `repair`, or by
 * fetching. Nothing is passed over in silence. While a stream is open the object is neither evicted
 * for being idle nor does it hibernate, and its time is billed.
 *
 * A client that leaves is noticed at the next write to it: `keepaliveMs` is how long that takes.
 *
 * @example
 * ```ts no-run
 * import { HubObject } from "@tidemark/sse/cloudflare";
 * import type { HubOptions, ServeOptions } from "@tidemark/sse";
 *
 * export class Room extends HubObject<{ REPLAY: string }> {
 *   protected override hubOptions(): HubOptions {
 *     return { replay: { maxEvents: Number(this.env.REPLAY), ttlMs: 600_000 } };
 *   }
 *   protected override serveOptions(request: Request): ServeOptions {
 *     return { topics: new URL(request.url).searchParams.getAll("topic") };
 *   }
 * }
 * ```
 *
 * @typeParam Env The Worker's bindings.
 */
export class HubObject<Env = unknown> {
  /** The object's state, as the platform handed it over. */
  protected readonly ctx: unknown;
  /** The Worker's bindings. */
  protected readonly env: Env;
  #hub: Hub | undefined;

  /**
   * The platform calls this.
   *
   * @param ctx The object's state.
   * @param env The Worker's bindings.
   */
  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }

  /** The hub. */
  get hub(): Hub {
    // Not in the constructor: the fields of a class that extends this one are not set by then.
    return this.#hub ??= createHub(this.hubOptions());
  }

  /**
   * The options of the hub; override it for others than the defaults. Called once.
   *
   * @returns The options.
   */
  protected hubOptions(): HubOptions {
    return {};
  }

  /**
   * What a client's stream carries; override it. By default everything: one object is one room.
   *
   * @param _request The client's request, as the Worker passed it on.
   * @returns The options.
   */
  protected serveOptions(_request: Request): ServeOptions | Promise<ServeOptions> {
    return {};
  }

  /**
   * What answers digests; override it to offer them.
   *
   * @returns The resolver; by default none, and digests get 404.
   */
  protected resolver(): Resolver | undefined {
    return undefined;
  }

  /**
   * What the platform calls for each request to the object.
   *
   * @param request A client's GET or HEAD, or what this module's functions send.
   * @returns The stream, or the answer.
   */
  async fetch(request: Request): Promise<Response> {
    const route = doorRoute(request);
    if (route === undefined) return this.hub.serve(request, await this.serveOptions(request));
    switch (route) {
      case "publish": {
        const event = await eventOf(request);
        return publishResponse(() => this.hub.publish(event));
      }
      case "alive":
        return this.hub.aliveHandler(request);
      case "digest": {
        const resolve = this.resolver();
        if (resolve !== undefined) return await this.hub.digestHandler(resolve)(request);
        break;
      }
      case "presence": {
        const { topics, ...rest } = this.hub.presence();
        return Response.json({ ...rest, topics: Object.fromEntries(topics) });
      }
      case "metrics":
        return new Response(openMetrics(this.hub.metrics()), {
          headers: { "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8" },
        });
    }
    return refusal(404, "not_found", "The hub's object offers no such thing");
  }
}

/** The constructor of a {@linkcode HubObject}, as a Worker exports it. */
export type HubObjectClass<Env> = new (ctx: unknown, env: Env) => HubObject<Env>;

/**
 * Makes a class of Durable Objects that hold a hub each.
 *
 * @param options The options of the hubs, or what makes them from the Worker's bindings.
 * @returns The class. Export it under the name that the binding says.
 *
 * @example
 * ```ts no-run
 * import { hubObject } from "@tidemark/sse/cloudflare";
 *
 * export const Room = hubObject((env: { KEEPALIVE_MS: string }) => ({
 *   keepaliveMs: Number(env.KEEPALIVE_MS),
 * }));
 * ```
 */
export function hubObject<Env = unknown>(
  options: HubOptions | ((env: Env) => HubOptions) = {},
): HubObjectClass<Env> {
  return class extends HubObject<Env> {
    protected override hubOptions(): HubOptions {
      return typeof options === "function" ? options(this.env) : options;
    }
  };
}
