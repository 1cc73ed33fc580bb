// A page with React over a hub, on Node: the hub's events, the state they keep up to date, and the
// page's script, bundled at the start.
//
//   TSX_TSCONFIG_PATH=examples/react/tsconfig.json node --import tsx examples/react/main.ts
import { readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { createHub } from "@tidemark/sse";
import { serveNode } from "@tidemark/sse/node";

interface Line {
  readonly number: number;
  readonly text: string;
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const html = await readFile(here("index.html"));
const { outputFiles: [script] } = await build({
  entryPoints: [here("app.jsx")],
  tsconfig: here("tsconfig.json"),
  bundle: true,
  format: "esm",
  write: false,
});

// Without a ring nobody could resume: whoever comes back would have to fetch everything.
const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
/** What the page shows: the truth, of which the events tell the changes. */
const rooms = new Map<string, Line[]>();

const server = await serveNode(async (request) => {
  const { pathname, searchParams } = new URL(request.url);
  // Never hand on a room that is missing or empty: no topics, or only "", means everything.
  const room = searchParams.get("room") || "lobby";
  switch (pathname) {
    case "/":
      return new Response(html, { headers: { "Content-Type": "text/html" } });
    case "/app.js":
      return new Response(script?.text, { headers: { "Content-Type": "text/javascript" } });
    case "/events":
      return hub.serve(request, { topics: [room] });
    case "/lines": {
      const text = request.method === "POST" ? (await request.text()).slice(0, 500) : null;
      const lines = rooms.get(room) ?? [];
      if (text === null) return Response.json(lines);
      const line = { number: (lines.at(-1)?.number ?? 0) + 1, text };
      // First the state, then the event: whoever fetches after the event finds it there.
      rooms.set(room, [...lines, line].slice(-1000));
      hub.publish({ topic: room, data: JSON.stringify(line) });
      return Response.json(line);
    }
    default:
      return new Response("Not found", { status: 404 });
  }
}, { hub, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 8000) });
console.log(`LISTEN ${server.url}`);

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => server.shutdown().then(() => process.exit()));
}
