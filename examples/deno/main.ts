// A service on Deno: rooms that everybody may hear, and what is for one user alone.
//
//   deno run -A examples/deno/main.ts
//   curl -N -H 'Authorization: Bearer ada' 'http://127.0.0.1:8000/events?topic=room:lobby'
//
// A browser's EventSource sends no such header: it presents a ticket, once.
//
//   curl -H 'Authorization: Bearer ada' --json '{"topics":["room:lobby"]}' http://127.0.0.1:8000/ticket
//   curl -N 'http://127.0.0.1:8000/events?ticket=…'
import { createHub } from "@tidemark/sse";
import { serveDeno } from "@tidemark/sse/deno";
import { createService } from "@tidemark/sse/service";
import { createMemoryTicketStore, createTickets } from "@tidemark/sse/tickets";

// Without a ring nobody could resume: whoever comes back would have to fetch everything.
const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });

const service = createService({
  hub,
  tickets: createTickets({ store: createMemoryTicketStore() }),
  // Your own authentication stands here. In this example who says to be Ada is Ada.
  identify(request) {
    const [, user] = /^Bearer (\w+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
    return user === undefined ? null : { user };
  },
  authorize: ({ topic }) => topic.startsWith("room:"),
  boundTopics: ({ user }) => [`user:${user}`],
});

// On SIGTERM, which a deploy sends, its clients are sent away one by one, to the pods that stay.
const server = await serveDeno(service.fetch, {
  hub,
  hostname: "127.0.0.1",
  port: Number(Deno.env.get("PORT") ?? 8000),
  drainOnSignal: true,
});
console.log(`LISTEN ${server.url}`);

const data = () => new Date().toISOString();
setInterval(() => hub.publish({ topic: "room:lobby", name: "time", data: data() }), 1000);
