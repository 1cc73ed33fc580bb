// A service on Node, behind a journal: whoever comes back after a restart is resumed. Here the journal
// is in memory; SQLite, Redis or NATS make it outlast the process (see docs/cluster.md).
//
//   TSX_TSCONFIG_PATH=examples/node/tsconfig.json node --import tsx examples/node/main.ts
//   curl -N -H 'Authorization: Bearer ada' 'http://127.0.0.1:8000/events?topic=call:7'
//   curl -N -H 'Authorization: Bearer ada' 'http://127.0.0.1:8000/events'
//
// The second hears only what is bound to Ada, and listens to the call with its past, by the id that its
// hello says:
//
//   curl -H 'Authorization: Bearer ada' --json '{"connection":"…","topic":"call:7","history":true}' \
//     http://127.0.0.1:8000/subscribe
import process from "node:process";
import { openHub } from "@tidemark/sse";
import { createMemoryJournal } from "@tidemark/sse/journal/memory";
import { serveNode } from "@tidemark/sse/node";
import { createService } from "@tidemark/sse/service";
import { createMemoryTicketStore, createTickets } from "@tidemark/sse/tickets";

const journal = createMemoryJournal();
const hub = await openHub({ journal });

const service = createService({
  hub,
  tickets: createTickets({ store: createMemoryTicketStore() }),
  // Your own authentication stands here. In this example who says to be Ada is Ada.
  identify(request) {
    const [, user] = /^Bearer (\w+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
    return user === undefined ? null : { user };
  },
  authorize: ({ topic }) => topic.startsWith("call:"),
  boundTopics: ({ user }) => [`user:${user}`],
});

// The adapter finds a stream by its response's body, and the hub writes to the socket itself.
const server = await serveNode(service.fetch, {
  hub,
  hostname: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 8000),
  drainOnSignal: true,
  onStopped: () => journal.close(),
});
console.log(`LISTEN ${server.url}`);

const words = "hello, this is Tidemark: every word that you missed is still here".split(" ");
let spoken = 0;
setInterval(() => {
  const data = words[spoken++ % words.length] ?? "";
  void hub.publish({ topic: "call:7", name: "word", data, ack: false });
}, 500);
