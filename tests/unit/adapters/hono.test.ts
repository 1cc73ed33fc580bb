import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Context, type Handler, Hono } from "hono";
import { alive, digest, stream } from "../../../src/adapters/hono.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { ServeOptions } from "../../../src/hub/types.ts";
import { test } from "../../support/test.ts";

/** A hub which writes down how it was asked to serve. */
function recording() {
  const hub = createHub();
  const served: ServeOptions[] = [];
  const serve = (request: Request, options: ServeOptions = {}): Response => {
    served.push(options);
    return hub.serve(request, options);
  };
  return { hub: { serve, handler: hub.handler }, real: hub, served };
}

test("stream serves what the context's parameters say, with Hono's own types", async () => {
  const { hub, real, served } = recording();
  const app = new Hono();
  app.get("/rooms/:room", stream(hub, (c) => ({ topics: [c.req.param("room") ?? ""] })));
  const response = await app.request("/rooms/lobby");
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  assertEquals(served[0]?.topics, ["lobby"]);
  await response.body?.cancel();
  await real.shutdown();
});

test("the handlers are Hono's, also by name", () => {
  const hub = createHub();
  const handlers: Handler[] = [
    stream(hub),
    stream(hub, { topics: ["a"] }),
    stream(hub, (c: Context<{ Variables: { user: string } }>) => ({ clientTag: c.var.user })),
    stream(hub, (c) => Promise.resolve({ clientTag: c.req.header("SSE-Client") ?? null })),
    alive(hub),
    digest(hub, (held) => held.map((one) => ({ ...one, status: "" }))),
  ];
  assertEquals(handlers.length, 6);
});

test("stream passes on what the runtime said of the request, unless it is told another host", async () => {
  const { hub, real, served } = recording();
  const app = new Hono();
  const mine = {};
  app.get("/a", stream(hub)).get("/b", stream(hub, { host: mine }));
  const env = { incoming: {} };
  for (const path of ["/a", "/b"]) await (await app.request(path, {}, env)).body?.cancel();
  assertEquals([served[0]?.host, served[1]?.host], [env, mine]);
  await real.shutdown();
});

test("stream waits for options that take time", async () => {
  const { hub, real, served } = recording();
  const app = new Hono();
  app.get("/", stream(hub, () => Promise.resolve({ topics: ["late"] })));
  await (await app.request("/")).body?.cancel();
  assertEquals(served[0]?.topics, ["late"]);
  await real.shutdown();
});

test("stream refuses a Worker's module scope, and takes a Durable Object for what it is", async () => {
  const { hub, real } = recording();
  const app = new Hono();
  app.get("/", stream(hub));
  const worker = { waitUntil() {}, passThroughOnException() {}, props: {} };
  const refused = await app.request("/", {}, {}, worker);
  assertEquals((await refused.json()).code, "streaming_unsupported");
  const object = { ...worker, storage: {} };
  const served = await app.request("/", {}, {}, object);
  assertEquals(served.status, 200);
  await served.body?.cancel();
  await real.shutdown();
});

test("a middleware that sets headers leaves the stream as it is", async () => {
  const { hub, real } = recording();
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    c.header("X-Late", "1");
  });
  app.get("/", stream(hub));
  const response = await app.request("/");
  assertEquals(response.headers.get("x-late"), "1");
  const reader = response.body?.getReader();
  const first = new TextDecoder().decode((await reader?.read())?.value);
  assertStringIncludes(first, "event: sse:hello");
  await reader?.cancel();
  await real.shutdown();
});

test("alive marks the tag of a client, and digest answers for the hub", async () => {
  const hub = createHub();
  const app = new Hono();
  app.post("/alive", alive(hub));
  app.post("/digest", digest(hub, () => [], { maxSubjects: 1 }));
  const headers = { "SSE-Client": "tab-1", "Content-Type": "application/json" };
  const marked = await app.request("/alive", { method: "POST", headers });
  assertEquals(marked.status, 204);
  assertEquals(hub.presence().tags.map(({ tag }) => tag), ["tab-1"]);
  const { epoch } = hub.position();
  const body = JSON.stringify({ epoch, subjects: [] });
  const answer = await app.request("/digest", { method: "POST", headers, body });
  assertEquals((await answer.json()).checked, 0);
});
