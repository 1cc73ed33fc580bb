// A hub in a Hono app, here on Node. The app itself runs anywhere: `Deno.serve(app.fetch)`, or
// `export default app` on Bun.
//
//   TSX_TSCONFIG_PATH=examples/hono/tsconfig.json node --import tsx examples/hono/main.ts
//   curl -N http://127.0.0.1:8000/rooms/lobby
//   curl -d 'hello' http://127.0.0.1:8000/rooms/lobby
import process from "node:process";
import { Hono } from "hono";
import { createHub } from "@tidemark/sse";
import { alive, stream } from "@tidemark/sse/hono";
import { serveNode } from "@tidemark/sse/node";

const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
const app = new Hono();

// Whoever may not hear a room is turned away before this, by a middleware of yours.
app.get(
  "/rooms/:room",
  stream(hub, (c) => ({
    topics: [c.req.param("room") || "lobby"],
    clientTag: c.req.header("SSE-Client") ?? null,
  })),
);
app.post("/rooms/:room", async (c) => {
  const offset = hub.publish({ topic: c.req.param("room"), name: "say", data: await c.req.text() });
  return c.json({ offset });
});
// By its acknowledgements a client is known to be there, whatever its socket says.
app.post("/alive", alive(hub));

// `serveNode`, not @hono/node-server: streams are then written straight to the socket.
const port = Number(process.env["PORT"] ?? 8000);
const server = await serveNode(app.fetch, { hub, hostname: "127.0.0.1", port });
console.log(`LISTEN ${server.url}`);

process.once("SIGTERM", () => server.shutdown().then(() => process.exit()));
process.once("SIGINT", () => server.shutdown().then(() => process.exit()));
