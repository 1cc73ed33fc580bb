// A hub on Node: each room is a topic, and the lobby hears the time.
//
//   TSX_TSCONFIG_PATH=examples/node/tsconfig.json node --import tsx examples/node/main.ts
//   curl -N 'http://127.0.0.1:8000/events?room=lobby'
import process from "node:process";
import { createHub } from "@tidemark/sse";
import { serveNode } from "@tidemark/sse/node";

// Without a ring nobody could resume: whoever comes back would have to fetch everything.
const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });

// For TLS or HTTP/2, `createSecureServer(options, toNodeHandler(handler))` of node:http2.
const server = await serveNode((request) => {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname !== "/events") return new Response("Not found", { status: 404 });
  // Never hand on a room that is missing or empty: no topics, or only "", means everything.
  const topics = [searchParams.get("room") || "lobby"];
  // The adapter finds the connection by the response's body, and it writes to the socket itself.
  return hub.serve(request, { topics });
}, { hub, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 8000) });
console.log(`LISTEN ${server.url}`);

const data = () => new Date().toISOString();
const clock = setInterval(() => hub.publish({ topic: "lobby", name: "time", data: data() }), 1000);

// What a deploy sends. Each client is told before the port closes, and comes back to the next pod.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    clearInterval(clock);
    await server.shutdown();
    process.exit();
  });
}
