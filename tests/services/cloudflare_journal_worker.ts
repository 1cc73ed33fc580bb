/**
 * A Worker whose hubs live in Durable Objects, and what a test does to such an object.
 *
 * - `GET /CLASS/NAME?topic=…`: a stream, through {@linkcode routeToHub}.
 * - `POST /CLASS/NAME/publish`, `/subscribe`, `/unsubscribe`: JSON, through this module's functions;
 *   422 with the error's fields when they throw.
 * - `POST /CLASS/NAME/presence`: through {@linkcode askHub}.
 * - `POST /CLASS/NAME/reset`, `/born`, `/sql`, `/delete-all`: to the object itself.
 * - `/cases`, `/run`: the conformance suite of journals.
 *
 * @module
 */
import {
  askHub,
  HubObject,
  type HubObjectOptions,
  publishTo,
  routeToHub,
  subscribeTo,
  unsubscribeFrom,
} from "../../src/adapters/cloudflare.ts";
import type { ServeOptions } from "../../src/hub/types.ts";
import cases, { JournalObject } from "../unit/journal/sqlite_object_worker.ts";

export { JournalObject };

interface State {
  readonly storage: {
    readonly sql: { exec(query: string): { toArray(): unknown[] } };
    sync(): Promise<void>;
    deleteAll(): Promise<void>;
  };
  abort(reason: string): never;
}

interface Namespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** A room that can be dropped, and whose storage can be tampered with. */
export class Room extends HubObject<unknown> {
  readonly #born = crypto.randomUUID();

  protected override hubOptions(): HubObjectOptions {
    return { reconnectDelayMs: 50 };
  }

  protected override serveOptions(request: Request): ServeOptions {
    const { searchParams } = new URL(request.url);
    return { topics: searchParams.getAll("topic"), clientTag: searchParams.get("tag") };
  }

  override async fetch(request: Request): Promise<Response> {
    // The platform made it.
    const state = this.ctx as State;
    switch (new URL(request.url).pathname.split("/")[3]) {
      case "born":
        return new Response(this.#born);
      case "reset":
        state.abort("The test resets it");
        break;
      case "sql": {
        const rows = state.storage.sql.exec(await request.text()).toArray();
        await state.storage.sync();
        return Response.json(rows);
      }
      case "delete-all":
        await state.storage.deleteAll();
        return new Response("");
    }
    return await super.fetch(request);
  }
}

/** Of a class without SQLite. */
export class Plain extends Room {}

/** Of a class without SQLite, which asks for a journal. */
export class Strict extends Room {
  protected override hubOptions(): HubObjectOptions {
    return { journal: {} };
  }
}

/** Of a class with SQLite, which wants no journal. */
export class Volatile extends Room {
  protected override hubOptions(): HubObjectOptions {
    return { journal: false, replay: { maxEvents: 16, ttlMs: 600_000 } };
  }
}

/** Of a class with SQLite, whose hub cannot be made. */
export class Misfit extends Room {
  protected override hubOptions(): HubObjectOptions {
    return { keepaliveMs: 0 };
  }
}

const front = {
  async fetch(request: Request, env: Record<string, Namespace>): Promise<Response> {
    const [, kind = "", name = "", action] = new URL(request.url).pathname.split("/");
    const namespace = env[kind];
    if (namespace === undefined) {
      const { JOURNAL } = env;
      return JOURNAL === undefined ? new Response("") : await cases.fetch(request, { JOURNAL });
    }
    try {
      switch (action) {
        case undefined:
          return await routeToHub(namespace, name, request, { error: () => {} });
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
