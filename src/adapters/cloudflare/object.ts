/**
 * The hub's side: a Durable Object that holds one hub.
 *
 * @module
 */
import type { JournaledEvent } from "../../cluster/types.ts";
import { JournalError } from "../../errors/journal.ts";
import type { Resolver } from "../../hub/digest.ts";
import { openMetrics } from "../../hub/metrics.ts";
import { refusal } from "../../hub/refusal.ts";
import type { ServeOptions } from "../../hub/types.ts";
import { describe } from "../server.ts";
import { doorRoute, eventOf, type HopCall, hopCallOf, topicCallOf } from "./door.ts";
import { acceptAgain, acceptNew } from "./hop/accept.ts";
import { ackedAsleep, type HopSocket, savedOf } from "./hop/socket.ts";
import { CLOSE } from "./hop/wire.ts";
import { type HubObjectOptions, type ObjectHub, type OpenedHub, openObjectHub } from "./open.ts";
import { reply } from "./reply.ts";

/** What a client is told to wait while the journal cannot be opened, in seconds. */
const RETRY_SECONDS = 2;

/**
 * A Durable Object that holds one hub. Bind the class, or one of your own that extends it, and reach
 * it through {@linkcode routeToHub} or {@linkcode streamThroughHop}, {@linkcode publishTo} and
 * {@linkcode askHub}.
 *
 * **What an eviction does.** A deploy, a move to another machine, a crash or a time without requests
 * takes the object's memory away, and the next request makes it anew.
 *
 * - A class that was made with SQLite (`new_sqlite_classes`) keeps its events in the object's storage:
 *   epoch and numbering go on, and a client that comes back with its cursor is `resumed` and receives
 *   exactly what it missed, for as far back as the journal reaches (7 days by default). `publish`
 *   settles once the event is on disk, and no client sees an event that is not.
 * - A class without SQLite, or with `journal: false`, has its ring in memory alone. It starts with a
 *   new epoch and an empty ring: every client hears `epoch_changed` and has to bring itself up to date,
 *   by a digest, by `repair`, or by fetching. Nothing is passed over in silence.
 *
 * Either way the streams that it serves end, and their clients come back by themselves. While one is
 * open the object is neither evicted for being idle nor does it hibernate, and its time is billed;
 * streams over the hop ({@linkcode streamThroughHop}) stay open, and let it sleep.
 *
 * A client that leaves is noticed at the next write to it: `keepaliveMs` is how long that takes.
 *
 * **The storage** is yours beside the journal, whose tables' names begin with `tidemark_`. After
 * `deleteAll()` the next event begins the sequence anew, under another epoch. After a recovery to an
 * earlier point in time the same numbers would be given again under the same epoch: drop the table
 * `tidemark_journal` in the constructor of the object that it makes, and the epoch changes.
 *
 * @example
 * ```ts no-run
 * import { HubObject, type HubObjectOptions } from "@tidemark/sse/cloudflare";
 * import type { ServeOptions } from "@tidemark/sse";
 *
 * export class Room extends HubObject<{ KEEP_EVENTS: string }> {
 *   protected override hubOptions(): HubObjectOptions {
 *     return { journal: { retention: { maxEntries: Number(this.env.KEEP_EVENTS) } } };
 *   }
 *   protected override serveOptions(request: Request): ServeOptions {
 *     return { topics: new URL(request.url).searchParams.getAll("topic") };
 *   }
 *   async alarm(): Promise<void> {
 *     await this.publish({ topic: "clock", data: new Date().toISOString() });
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
  #options: HubObjectOptions | undefined;
  #opening: Promise<OpenedHub> | undefined;
  #failing = false;

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

  /**
   * The hub, opened by whoever asks first; all who ask meanwhile wait for the same opening. One that
   * failed is tried again by the next who asks.
   *
   * @returns The hub.
   * @throws {ConfigError} For options that could not be honoured.
   * @throws {JournalError} When the journal cannot be opened now.
   */
  async hub(): Promise<ObjectHub> {
    return (await this.#opened()).hub;
  }

  /**
   * Publishes an event: {@linkcode JournaledHub.publish}, whichever kind of hub this is. One in memory
   * has nothing to wait for and knows no repetition: it takes no notice of `ack` and `id`.
   *
   * @param event What to publish. Bytes are read once the hub is open.
   * @returns Its offset, once it is stored.
   * @throws What {@linkcode HubObject.hub} and {@linkcode JournaledHub.publish} throw.
   */
  async publish(event: JournaledEvent): Promise<number> {
    const hub = await this.hub();
    return await hub.publish(event);
  }

  /**
   * The options of the hub and of its journal; override it for others than the defaults. Called once,
   * unless it throws.
   *
   * @returns The options.
   */
  protected hubOptions(): HubObjectOptions {
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
   * @returns The stream, or the answer; 503 `sse_unavailable` with `Retry-After` while the journal
   * cannot be opened.
   */
  async fetch(request: Request): Promise<Response> {
    const route = doorRoute(request);
    switch (route) {
      case "publish": {
        const event = await eventOf(request);
        return await reply(() => this.publish(event));
      }
      case "subscribe": {
        const { connection, topic, options } = await topicCallOf(request);
        return await reply(async () => (await this.hub()).subscribe(connection, topic, options));
      }
      case "unsubscribe": {
        const { connection, topic } = await topicCallOf(request);
        return await reply(async () => (await this.hub()).unsubscribe(connection, topic));
      }
    }
    let opened: OpenedHub;
    try {
      opened = await this.#opened();
    } catch (error) {
      // What else it may be does not pass by waiting.
      if (!(error instanceof JournalError)) throw error;
      return refusal(503, "sse_unavailable", "The hub's journal cannot be opened now", {
        "Retry-After": String(RETRY_SECONDS),
      });
    }
    const { hub } = opened;
    if (route !== undefined) return await this.#answer(hub, route, request);
    const call = hopCallOf(request);
    if (call !== null) return await this.#hop(opened, call);
    return hub.serve(request, await this.serveOptions(request));
  }

  /**
   * What the platform calls for each message to a socket of the object's that can hibernate. With
   * sockets of your own, override it, and call this one for those that are not yours.
   *
   * @param socket The socket.
   * @param message The message.
   */
  async webSocketMessage(socket: unknown, message: unknown): Promise<void> {
    // The platform made it.
    if (this.#opening === undefined && ackedAsleep(socket as HopSocket, message)) return;
    await this.#heard(socket, (hops, own) => hops.message(own, message));
  }

  /**
   * What the platform calls when such a socket was closed; as {@linkcode HubObject.webSocketMessage}.
   *
   * @param socket The socket.
   * @param code Why.
   */
  async webSocketClose(socket: unknown, code: number): Promise<void> {
    await this.#heard(socket, (hops, own) => hops.closed(own, code));
  }

  /**
   * What the platform calls when such a socket failed; as {@linkcode HubObject.webSocketMessage}.
   *
   * @param socket The socket.
   */
  async webSocketError(socket: unknown): Promise<void> {
    await this.#heard(socket, (hops, own) => hops.closed(own, CLOSE.broken));
  }

  async #heard(
    socket: unknown,
    tell: (hops: NonNullable<OpenedHub["hops"]>, own: HopSocket) => void,
  ): Promise<void> {
    // The platform made it.
    const own = socket as HopSocket;
    if (savedOf(own) === null) return;
    try {
      const { hops } = await this.#opened();
      if (hops !== null) tell(hops, own);
    } catch (error) {
      // Its Worker comes back until the journal can be opened again.
      if (!(error instanceof JournalError)) throw error;
      own.close(CLOSE.broken, "broken");
    }
  }

  async #hop({ hub, hops }: OpenedHub, { request, resume }: HopCall): Promise<Response> {
    if (hops !== null) {
      if (resume !== null) return await acceptAgain(hops, hub, resume);
      return await acceptNew(hops, hub, request, await this.serveOptions(request));
    }
    // What it had, the memory that is gone knew.
    if (resume !== null) return refusal(410, "sse_gone", "The stream cannot go on");
    return hub.serve(request, await this.serveOptions(request));
  }

  async #answer(hub: ObjectHub, route: string, request: Request): Promise<Response> {
    switch (route) {
      case "alive":
        return hub.aliveHandler(request);
      case "digest": {
        const resolve = this.resolver();
        if (resolve !== undefined) return await hub.digestHandler(resolve)(request);
        break;
      }
      case "presence": {
        const { topics, ...rest } = hub.presence();
        return Response.json({ ...rest, topics: Object.fromEntries(topics) });
      }
      case "metrics":
        return new Response(openMetrics(hub.metrics()), {
          headers: { "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8" },
        });
    }
    return refusal(404, "not_found", "The hub's object offers no such thing");
  }

  #opened(): Promise<OpenedHub> {
    // Not in the constructor: the fields of a class that extends this one are not set by then.
    return this.#opening ??= this.#open().catch((error) => this.#failed(error));
  }

  async #open(): Promise<OpenedHub> {
    this.#options ??= this.hubOptions();
    const opened = await openObjectHub(this.ctx, this.#options);
    this.#failing = false;
    return opened;
  }

  /** Logs once, and not with each attempt: every client that comes back makes one. */
  #failed(error: unknown): never {
    this.#opening = undefined;
    if (error instanceof JournalError && !this.#failing) {
      this.#failing = true;
      const logger = this.#options?.logger ?? console;
      logger.error(`The hub's journal cannot be opened: ${describe(error)}`);
    }
    throw error;
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
  options: HubObjectOptions | ((env: Env) => HubObjectOptions) = {},
): HubObjectClass<Env> {
  return class extends HubObject<Env> {
    protected override hubOptions(): HubObjectOptions {
      return typeof options === "function" ? options(this.env) : options;
    }
  };
}
