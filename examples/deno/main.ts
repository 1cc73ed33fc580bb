// A hub on Deno: each room is a topic, and the lobby hears the time.
//
//   deno run -A examples/deno/main.ts
//   curl -N 'http://127.0.0.1:8000/events?room=lobby'
import { createHub } from "@tidemark/sse";
import { serveDeno } from "@tidemark/sse/deno";

// Without a ring nobody could resume: whoever comes back would have to fetch everything.
const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });

const server = await serveDeno((request, host) => {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname !== "/events") return new Response("Not found", { status: 404 });
  // Never hand on a room that is missing or empty: no topics, or only "", means everything.
  const topics = [searchParams.get("room") || "lobby"];
  // Deno's info lets a shutdown wait until each goodbye has left.
  return hub.serve(request, { topics, host });
}, { hub, hostname: "127.0.0.1", port: Number(Deno.env.get("PORT") ?? 8000) });
console.log(`LISTEN ${server.url}`);

const data = () => new Date().toISOString();
const clock = setInterval(() => hub.publish({ topic: "lobby", name: "time", data: data() }), 1000);

// What a deploy sends. Each client is told before the port closes, and comes back to the next pod.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, async () => {
    clearInterval(clock);
    await server.shutdown();
    Deno.exit();
  });
}
