// A service on Cloudflare: one Durable Object for each room, with its hub, its journal and its tickets,
// and a Worker in front.
//
//   npx wrangler dev --config examples/cloudflare/wrangler.toml --var PUBLISH_KEY:change-me-to-your-own
//   curl -H 'Authorization: Bearer ada' --json '{"topics":["chat"]}' http://127.0.0.1:8787/lobby/ticket
//   curl -N 'http://127.0.0.1:8787/lobby/events?ticket=…'
//   curl -H 'Authorization: Bearer change-me-to-your-own' --json '{"topic":"chat","data":"hello"}' \
//     http://127.0.0.1:8787/lobby/publish
import { HubObject, type HubObjectOptions, routeToHub } from "@tidemark/sse/cloudflare";
import type { HubNamespace } from "@tidemark/sse/cloudflare";
import { createService, type Service } from "@tidemark/sse/service";
import { createDurableObjectTicketStore, createTickets } from "@tidemark/sse/tickets";
import type { TicketStorage } from "@tidemark/sse/tickets";

interface Env {
  readonly ROOM: HubNamespace;
  readonly PUBLISH_KEY: string;
}

// Made with SQLite (see wrangler.toml), a room keeps its events in its storage: after a deploy, or an
// eviction, everybody comes back with a cursor and is `resumed`.
export class Room extends HubObject<Env> {
  declare protected readonly ctx: { readonly storage: TicketStorage };
  #service: Service | undefined;

  // A client's leaving is noticed at the next write to it, so the keepalive is how long that takes.
  protected override hubOptions(): HubObjectOptions {
    return { journal: { retention: { maxEntries: 10_000 } }, keepaliveMs: 10_000 };
  }

  override async fetch(request: Request): Promise<Response> {
    const hub = await this.hub();
    this.#service ??= createService({
      hub,
      basePath: `/${roomOf(request)}`,
      tickets: createTickets({ store: createDurableObjectTicketStore(this.ctx.storage) }),
      // Your own authentication stands here. In this example who says to be Ada is Ada.
      identify(request) {
        const [, user] = /^Bearer (\w+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
        return user === undefined ? null : { user };
      },
      authorize: ({ topic }) => topic === "chat",
      publish: { keys: this.env.PUBLISH_KEY },
    });
    return await this.#service.fetch(request);
  }
}

export default {
  fetch(request: Request, { ROOM }: Env): Promise<Response> {
    const room = roomOf(request);
    // Not `stub.fetch(request)`: while the object is away, an EventSource would stop for good.
    if (request.method === "GET") return routeToHub(ROOM, room, request);
    return ROOM.get(ROOM.idFromName(room)).fetch(request);
  },
};

/** The first part of the path; a name that needs no escapes. */
function roomOf(request: Request): string {
  return /^\/(\w{1,64})\//.exec(new URL(request.url).pathname)?.[1] ?? "lobby";
}
