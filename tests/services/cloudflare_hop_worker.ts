/**
 * A Worker whose hubs live in Durable Objects behind the hop, and what a test does to such an object.
 *
 * - `GET /CLASS/NAME?topic=…`, of the class `room` or `brisk`: a stream, through {@linkcode streamThroughHop}; `?direct=1` through
 *   {@linkcode routeToHub}.
 * - `POST /CLASS/NAME/publish`, `/subscribe`, `/unsubscribe`: JSON, through the module's functions.
 * - `POST /CLASS/NAME/presence`: through {@linkcode askHub}.
 * - `POST /CLASS/NAME/births`, `/sockets`, `/sql`, `/reset`, `/disconnect`, `/flood`, `/delete-all`:
 *   to the object itself.
 *
 * @module
 */
import {
  askHub,
  HubObject,
  type HubObjectOptions,
  publishTo,
  routeToHub,
  streamThroughHop,
  subscribeTo,
  unsubscribeFrom,
} from "../../src/adapters/cloudflare.ts";
import type { ServeOptions } from "../../src/hub/types.ts";

interface Sockets {
  deserializeAttachment(): unknown;
}

interface State {
  readonly storage: {
    readonly sql: { exec(query: string): { toArray(): Record<string, unknown>[] } };
    sync(): Promise<void>;
    deleteAll(): Promise<void>;
  };
  getWebSockets(): Sockets[];
  abort(reason: string): never;
}

interface Namespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** A room that counts how often its memory begins. */
export class Room extends HubObject<unknown> {
  readonly #state: State;
  readonly #told: string[] = [];

  constructor(ctx: unknown, env: unknown) {
    super(ctx, env);
    // The platform made it.
    this.#state = ctx as State;
    this.#state.storage.sql.exec("CREATE TABLE IF NOT EXISTS births (at)").toArray();
    this.#state.storage.sql.exec("INSERT INTO births VALUES (1)").toArray();
  }

  protected override hubOptions(): HubObjectOptions {
    return {
      ...{ reconnectDelayMs: 50, keepaliveMs: 1000, writeTimeoutMs: 60_000 },
      onPresence: ({ kind, connection, cause }) => {
        this.#told.push(`${kind} ${connection} ${cause ?? ""}`);
      },
    };
  }

  protected override serveOptions(request: Request): ServeOptions {
    const { searchParams } = new URL(request.url);
    const life = Number(searchParams.get("life"));
    return {
      topics: searchParams.getAll("topic"),
      clientTag: searchParams.get("tag"),
      user: searchParams.get("user") ?? "",
      ...(life > 0 && { expiresAt: Date.now() + life }),
      ...(searchParams.has("history") && { history: true }),
      ...(searchParams.has("hook") && {
        onConnect: async (writer) => {
          for (const n of [1, 2, 3]) await writer.event("hooked", `hook ${n}`);
        },
      }),
    };
  }

  override async fetch(request: Request): Promise<Response> {
    const { storage } = this.#state;
    switch (new URL(request.url).pathname.split("/")[3]) {
      case "births":
        return new Response(String(storage.sql.exec("SELECT * FROM births").toArray().length));
      case "told":
        return Response.json(this.#told);
      case "sockets":
        return Response.json(this.#state.getWebSockets().map((one) => one.deserializeAttachment()));
      case "sql": {
        const rows = storage.sql.exec(await request.text()).toArray();
        await storage.sync();
        return Response.json(rows);
      }
      case "reset":
        this.#state.abort("The test resets it");
        break;
      case "disconnect": {
        const { connection } = await request.json();
        return Response.json((await this.hub()).disconnect({ connection }));
      }
      case "delete-all":
        await storage.deleteAll();
        return new Response("");
      case "flood": {
        const { count, bytes } = await request.json();
        for (let n = 1; n <= count; n++) await this.publish({ data: `${n} ${"x".repeat(bytes)}` });
        return new Response("");
      }
    }
    return await super.fetch(request);
  }
}

/** A room that gives a client up soon which takes nothing. */
export class Brisk extends Room {
  protected override hubOptions(): HubObjectOptions {
    return { ...super.hubOptions(), keepaliveMs: 500, writeTimeoutMs: 1000 };
  }
}

const front = {
  async fetch(request: Request, env: Record<string, Namespace>): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [, kind = "", name = "", action] = pathname.split("/");
    const namespace = env[kind];
    if (namespace === undefined) return new Response("");
    const quiet = { error: () => {} };
    try {
      switch (action) {
        case undefined:
          return await (searchParams.has("direct") ? routeToHub : streamThroughHop)(
            namespace,
            name,
            request,
            quiet,
          );
        case "publish":
          return Response.json(await publishTo(namespace, name, await request.json()));
        case "subscribe": {
          const { connection, topic, ...past } = await request.json();
          return Response.json(await subscribeTo(namespace, name, connection, topic, past));
        }
        case "unsubscribe": {
          const { connection, topic } = await request.json();
          return Response.json(await unsubscribeFrom(namespace, name, connection, topic));
        }
        case "presence":
          return await askHub(namespace, name, "presence");
        default:
          return await namespace.get(namespace.idFromName(name)).fetch(request);
      }
    } catch (error) {
      const { message } = error as Error;
      return Response.json({ ...error as object, message }, { status: 422 });
    }
  },
};

export default front;
