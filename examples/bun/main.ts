// A service on Bun: rooms that everybody may hear, a key to publish with, and counters.
//
//   PUBLISH_KEY=change-me-to-your-own bun run examples/bun/main.ts
//   curl -N -H 'Authorization: Bearer ada' 'http://127.0.0.1:8000/events?topic=room:lobby'
//   curl -H 'Authorization: Bearer change-me-to-your-own' \
//     --json '{"topic":"room:lobby","name":"say","data":"hello"}' http://127.0.0.1:8000/publish
//   curl -H 'Authorization: Bearer change-me-to-your-own' http://127.0.0.1:8000/metrics
import process from "node:process";
import { createHub } from "@tidemark/sse";
import { serveBun } from "@tidemark/sse/bun";
import { createService } from "@tidemark/sse/service";
import { createMemoryTicketStore, createTickets } from "@tidemark/sse/tickets";

// Without a ring nobody could resume: whoever comes back would have to fetch everything.
const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });

// Without a key nobody can publish from outside, and nobody sees the counters.
const key = process.env["PUBLISH_KEY"];
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
  ...(key !== undefined && { publish: { keys: key }, metrics: { keys: key } }),
});

// `service.fetch` hands Bun's server to the hub, which turns off the idle timeout of its streams: it
// would cut a quiet one after 10 s.
const server = await serveBun(service.fetch, {
  hub,
  hostname: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 8000),
  drainOnSignal: true,
});
console.log(`LISTEN ${server.url}`);
