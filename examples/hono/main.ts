// A service in a Hono app that has a page, a login and a cookie: its EventSource needs no ticket. Here on
// Node. The app itself runs anywhere: `Deno.serve(app.fetch)`, or `export default app` on Bun.
//
//   TSX_TSCONFIG_PATH=examples/hono/tsconfig.json node --import tsx examples/hono/main.ts
import process from "node:process";
import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { createHub } from "@tidemark/sse";
import { serveNode } from "@tidemark/sse/node";
import { createService } from "@tidemark/sse/service";

const PAGE = `<!doctype html><title>Lobby</title>
<form><input name="text" autofocus> <button>Say</button></form><pre></pre>
<script type="module">
  const form = document.querySelector("form");
  await fetch("/login", { method: "POST", body: prompt("Who are you?") ?? "" });
  new EventSource("/sse/events?topic=room:lobby").addEventListener("say", ({ data }) => {
    document.querySelector("pre").prepend(data + "\\n");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void fetch("/say", { method: "POST", body: form.elements.text.value });
    form.reset();
  });
</script>`;

const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
const sessions = new Map<string, string>();
const app = new Hono();

const service = createService({
  hub,
  basePath: "/sse",
  identify(request) {
    const [, session = ""] = /\bsession=([0-9a-f-]+)/.exec(request.headers.get("Cookie") ?? "") ??
      [];
    const user = sessions.get(session);
    return user === undefined ? null : { user, session };
  },
  authorize: ({ topic }) => topic === "room:lobby",
});

app.get("/", (c) => c.html(PAGE));
app.post("/login", async (c) => {
  const session = crypto.randomUUID();
  sessions.set(session, (await c.req.text()).slice(0, 40) || "nobody");
  setCookie(c, "session", session, { httpOnly: true, sameSite: "Strict", path: "/" });
  return c.body(null, 204);
});
app.post("/say", async (c) => {
  const user = sessions.get(getCookie(c, "session") ?? "");
  if (user === undefined) return c.body(null, 401);
  const data = `${user}: ${(await c.req.text()).slice(0, 500)}`;
  hub.publish({ topic: "room:lobby", name: "say", data });
  return c.body(null, 204);
});
// The request itself, and what the runtime said of it: of a copy neither Bun nor the hub knows anything.
app.all("/sse/*", (c) => service.fetch(c.req.raw, c.env));

// `serveNode`, not @hono/node-server: streams are then written straight to the socket.
const port = Number(process.env["PORT"] ?? 8000);
const server = await serveNode(app.fetch, {
  hub,
  hostname: "127.0.0.1",
  port,
  drainOnSignal: true,
});
console.log(`LISTEN ${server.url}`);
