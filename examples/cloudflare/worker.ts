// A hub on Cloudflare: one Durable Object for each room, and a Worker in front.
//
//   npx wrangler dev --config examples/cloudflare/wrangler.toml
//   curl -N http://127.0.0.1:8787/lobby
//   curl -d 'hello' http://127.0.0.1:8787/lobby
import { type HubNamespace, hubObject, publishTo, routeToHub } from "@tidemark/sse/cloudflare";

// Made with SQLite (see wrangler.toml), a room keeps its events in its storage: after a deploy, or an
// eviction, everybody comes back with a cursor and is `resumed`.
// A client's leaving is noticed at the next write to it, so the keepalive is how long that takes.
export const Room = hubObject({
  journal: { retention: { maxEntries: 10_000 } },
  keepaliveMs: 10_000,
});

export default {
  async fetch(request: Request, env: { readonly ROOM: HubNamespace }): Promise<Response> {
    const room = new URL(request.url).pathname.slice(1) || "lobby";
    if (request.method === "POST") {
      const offset = await publishTo(env.ROOM, room, { name: "say", data: await request.text() });
      return Response.json({ offset });
    }
    // Not `stub.fetch(request)`: while the object is away, an EventSource would stop for good.
    return routeToHub(env.ROOM, room, request);
  },
};
