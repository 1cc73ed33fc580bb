import { assert, assertEquals, assertThrows } from "@std/assert";
import { Hono } from "hono";
import { ConfigError } from "../../../src/errors.ts";
import { peerOf } from "../../../src/hub/sink.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import { createService } from "../../../src/service/service.ts";
import { FrameReader } from "../../../src/testing/frames.ts";
import { createMemoryTicketStore, createTickets } from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";
import { bench, RING, settle } from "../hub/harness.ts";
import {
  type Asked,
  authorizing,
  everything,
  identify,
  KEY,
  KEYS,
  request,
  told,
} from "./world.ts";

const BEARER = { Authorization: `Bearer ${KEY}` };
/** Bun's server, or what looks like it. */
const HOST = { timeout() {} };

/** A service with everything, and a way to ask it. */
function serving(options: Partial<ServiceOptions> = {}) {
  const made = bench({ replay: RING });
  const { hub, logger } = made;
  const { asked, authorize } = authorizing();
  const tickets = createTickets({ store: createMemoryTicketStore(), logger });
  const service = createService({
    ...{ hub, identify, authorize, tickets, logger },
    ...{ publish: KEYS, presence: KEYS, metrics: KEYS },
    boundTopics: ({ user }) => [`user:${user}`],
    digest: (held, { identity }) =>
      held.map((one) => ({ ...one, version: identity.user, status: "" })),
    ...options,
  });
  const ask = (path: string, how: Asked = {}) => service.fetch(request(path, how), HOST);
  const mint = async (topics: readonly string[] = ["open:1"]): Promise<string> =>
    (await (await ask("/ticket", { as: "ada", body: { topics } })).json()).ticket;
  return { ...made, service, tickets, asked, ask, mint };
}

test("a page's two steps: a ticket by POST, a stream by GET, and a topic that is added on it", async () => {
  const { hub, ask, mint } = serving();
  const stream = await ask(`/events?ticket=${await mint()}`);
  const reader = new FrameReader(stream.body);
  const [, hello] = await reader.read(2);
  const { connection } = JSON.parse(hello?.data ?? "");
  hub.publish({ topic: "open:2", data: "too early" });
  hub.publish({ topic: "user:ada", data: "bound" });
  const body = { connection, topic: "open:2" };
  const subscribed = await ask("/subscribe", { as: "ada", body });
  assertEquals(await subscribed.json(), { verdict: "fresh", head: "2" });
  const published = await ask("/publish", {
    body: { topic: "open:2", data: "added" },
    headers: BEARER,
  });
  assertEquals(await published.json(), { offset: "3" });
  assertEquals((await ask("/unsubscribe", { as: "ada", body })).status, 204);
  await ask("/publish", { body: { topic: "open:2", data: "too late" }, headers: BEARER });
  await ask("/publish", { body: { topic: "open:1", data: "asked for" }, headers: BEARER });
  const frames = await reader.read(3);
  assertEquals(frames.map(({ data }) => data), ["bound", "added", "asked for"]);
  await reader.cancel();
});

test("each route answers whom it is for, and refuses everybody else by name", async () => {
  const { hub, ask } = serving();
  const { epoch } = hub.position();
  const digest = { epoch, subjects: [{ kind: "doc", ref: "7", version: "1" }] };
  const known: [string, Asked, string][] = [
    ["/events?topic=open:1", {}, "200"],
    ["/ticket", { body: { topics: [] } }, "200"],
    ["/subscribe", { body: { connection: "nobody", topic: "open:1" } }, "404 subscribe_unknown"],
    ["/unsubscribe", { body: { connection: "nobody", topic: "open:1" } }, "404 subscribe_unknown"],
    ["/alive", { method: "POST", headers: { "SSE-Client": "tab-1" } }, "204"],
    ["/alive", { method: "POST" }, "400 alive_invalid"],
    ["/digest", { body: digest }, "200"],
    ["/digest", { body: {} }, "400 digest_invalid"],
  ];
  for (const [path, asked, answer] of known) {
    assertEquals(await told(ask(path, { ...asked, as: "ada" })), answer, path);
    assertEquals(await told(ask(path, asked)), "401 unauthenticated", path);
    // A key is no user.
    assertEquals(await told(ask(path, { ...asked, headers: BEARER })), "401 unauthenticated", path);
  }
  for (
    const [path, body] of [["/publish", { topic: "a", data: "x" }], ["/presence"], [
      "/metrics",
    ]] as const
  ) {
    assertEquals(await told(ask(path, { headers: BEARER, ...(body && { body }) })), "200", path);
    assertEquals(
      await told(ask(path, { as: "ada", ...(body && { body }) })),
      "401 unauthenticated",
    );
  }
  assertEquals(await told(ask("/health")), "200");
  assertEquals(await told(ask("/ready")), "200");
});

test("every route names the methods that it takes, and OPTIONS is none of them", async () => {
  const { ask } = serving();
  const [get, post] = ["GET, HEAD", "POST"];
  const routes: Record<string, string> = {
    ...{ "/events": get, "/presence": get, "/metrics": get, "/health": get, "/ready": get },
    ...{ "/ticket": post, "/subscribe": post, "/unsubscribe": post, "/alive": post },
    ...{ "/digest": post, "/publish": post, "/events?ticket=x": get },
  };
  for (const [path, allowed] of Object.entries(routes)) {
    for (const method of ["OPTIONS", "PUT", "DELETE", "PATCH", allowed === post ? "GET" : "POST"]) {
      const response = await ask(path, {
        as: "ada",
        method,
        headers: { Origin: "https://evil.example" },
      });
      assertEquals(
        [response.status, response.headers.get("Allow")],
        [405, allowed],
        `${method} ${path}`,
      );
      assert(/"code":"[a-z]+_method"/.test(await response.text()));
      assert(![...response.headers.keys()].some((name) => name.startsWith("access-control")));
    }
  }
});

test("what is not configured is not there, and neither is anything else", async () => {
  const { ask, service } = serving({
    tickets: undefined,
    publish: undefined,
    presence: undefined,
    metrics: undefined,
    digest: undefined,
  });
  const paths = [
    "/ticket",
    "/publish",
    "/presence",
    "/metrics",
    "/digest",
    "/",
    "/events/",
    "/Events",
  ];
  paths.push("//events", "/events/..%2f", "/%00", "/%ff", "/events%0a", `/${"x".repeat(5000)}`);
  for (const path of paths) {
    for (const how of [{}, { body: {} }]) {
      assertEquals(
        await told(ask(path, { as: "ada", headers: BEARER, ...how })),
        "404 not_found",
        path,
      );
    }
  }
  // A ticket that nobody can have minted opens nothing, also for whom the application knows.
  assertEquals(
    await told(ask("/events?ticket=x&topic=open:1", { as: "ada" })),
    "401 ticket_invalid",
  );
  const response = await service.fetch(request("/nowhere"));
  assertEquals(response.headers.get("content-type"), "application/json");
});

test("a service below a path answers there and nowhere else", async () => {
  const { ask } = serving({ basePath: "/api/v1/sse" });
  assertEquals(await told(ask("/api/v1/sse/events?topic=open:1", { as: "ada" })), "200");
  assertEquals(await told(ask("/api/v1/sse/health")), "200");
  for (
    const path of ["/health", "/api/v1/ssehealth", "/api/v1/sse", "/api/v1/sse/api/v1/sse/health"]
  ) {
    assertEquals(await told(ask(path)), "404 not_found");
  }
});

test("a presented ticket decides alone: nobody's cookie makes up for it, and it needs none", async () => {
  const { ask, mint, asked } = serving();
  const ticket = await mint();
  asked.length = 0;
  assertEquals(await told(ask(`/events?ticket=${ticket}&topic=secret`)), "200");
  assertEquals(
    await told(ask(`/events?ticket=${ticket}&topic=open:1`, { as: "ada" })),
    "401 ticket_invalid",
  );
  assertEquals(await told(ask("/events?ticket=", { as: "ada" })), "401 ticket_invalid");
  assertEquals(asked, []);
});

test("of fifty who present a ticket at once one gets the stream; the others, the late and the inventive cannot tell why not", async () => {
  const { hub, ask, mint, logger } = serving();
  const ticket = await mint();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => ask(`/events?ticket=${ticket}`)),
  );
  const streams = answers.filter(({ status }) => status === 200);
  assertEquals([streams.length, hub.clientCount], [1, 1]);
  const refused = answers.filter(({ status }) => status !== 200).map(everything);
  for (const invented of [ticket, "x".repeat(43), "", "%20", "é"]) {
    refused.push(everything(ask(`/events?ticket=${invented}`)));
  }
  assertEquals(new Set(await Promise.all(refused)).size, 1);
  assertEquals(logger.lines, []);
  await streams[0]?.body?.cancel();
});

test("without authorize nobody listens to anything, by whichever way", async () => {
  const { ask } = serving({ authorize: undefined });
  const body = { connection: "nobody", topic: "open:1" };
  for (
    const [path, how] of [["/ticket", { body: {} }], ["/events", {}], ["/subscribe", {
      body,
    }]] as const
  ) {
    assertEquals(await told(ask(path, { ...how, as: "ada" })), "403 forbidden", path);
  }
});

test("a hub that leaves mints nothing, redeems nothing and is not ready, and the process still lives", async () => {
  const { hub, clock, ask, mint } = serving();
  const ticket = await mint();
  const others = Array.from({ length: 3 }, () => hub.serve(request("/")));
  const drained = hub.drain({ lameDuckMs: 1000, spreadMs: 60_000 });
  assertEquals(await told(ask("/ready")), "503 not_ready");
  const early = await mint();
  assertEquals(await told(ask(`/events?ticket=${early}`)), "200", "a lame duck still serves");
  clock.advance(1000);
  await settle();
  const mints = () => ask("/ticket", { as: "ada", body: {} });
  for (
    const asking of [
      mints,
      () => ask(`/events?ticket=${ticket}`),
      () => ask("/events", { as: "ada" }),
    ]
  ) {
    const response = await asking();
    assertEquals(response.headers.get("Retry-After"), "1");
    assertEquals(await told(response), "503 sse_unavailable");
  }
  assertEquals(await told(ask("/health")), "200");
  for (const { body } of others) await body?.cancel();
  await hub.shutdown();
  await drained;
});

test("a ticket that met a draining pod opens a stream on one that stays", async () => {
  const store = createMemoryTicketStore();
  const leaving = serving({ tickets: createTickets({ store }) });
  const staying = serving({ tickets: createTickets({ store }) });
  const ticket = await leaving.mint();
  await leaving.hub.shutdown();
  assertEquals(await told(leaving.ask(`/events?ticket=${ticket}`)), "503 sse_unavailable");
  assertEquals((await leaving.ask(`/events?ticket=${ticket}`, { method: "HEAD" })).status, 503);
  assertEquals((await staying.ask(`/events?ticket=${ticket}`, { method: "HEAD" })).status, 200);
  assertEquals(await told(staying.ask(`/events?ticket=${ticket}`)), "200");
});

test("a resolver knows who asks", async () => {
  const { ask, hub } = serving();
  const { epoch } = hub.position();
  const body = { epoch, subjects: [{ kind: "doc", ref: "7", version: "1" }] };
  const answer = await (await ask("/digest", { as: "ada", body })).json();
  assertEquals(answer.changed, [{ kind: "doc", ref: "7", version: "ada" }]);
});

test("what goes wrong inside stands in the log, bounded, and in no answer", async () => {
  const noise = `\n${"x".repeat(100_000)} hunter2`;
  const { ask, logger } = serving({
    identify: () => {
      throw new Error(`hunter2 ${noise}`);
    },
  });
  for (
    const [path, how] of [["/events", {}], ["/ticket", { body: {} }], ["/alive", {
      method: "POST",
    }]] as const
  ) {
    const answer = await everything(ask(path, how));
    assertEquals(JSON.parse(JSON.parse(answer)[2]), { error: "Internal error", code: "internal" });
  }
  assertEquals(logger.lines.length, 3);
  for (const line of logger.lines) assert(line.length < 700 && !line.includes("\n"));
});

test("no log has a ticket or a cursor, whatever happens to them", async () => {
  const said: string[] = [];
  const keep = (...words: unknown[]): void => void said.push(words.map(String).join(" "));
  const { log, info, warn, error, debug } = console;
  Object.assign(console, { log: keep, info: keep, warn: keep, error: keep, debug: keep });
  try {
    const { ask, mint, hub, logger } = serving({
      stream: ({ user }) => {
        if (user === "ada") return {};
        throw new Error("no");
      },
      authorize: ({ topic, request }) => {
        if (topic === "open:fail") throw new Error(`cannot answer ${request.url}`);
        return true;
      },
    });
    hub.publish({ topic: "open:1", data: "x" });
    const cursor = `${hub.position().epoch}:1`;
    const tickets = [await mint(), await mint(), await mint()];
    const [one, two, three] = tickets;
    const headers = { "Last-Event-ID": cursor, "SSE-Client": one ?? "" };
    await told(ask(`/events?ticket=${one}`, { headers }));
    await told(ask(`/events?ticket=${one}`));
    await told(ask(`/events?ticket=${two}&last_event_id=${cursor}x`));
    await told(ask(`/events?ticket=${three}&last_event_id=${"0".repeat(5000)}`, { method: "PUT" }));
    const topics = `topic=open:fail&topic=${three}&last_event_id=${encodeURIComponent(cursor)}`;
    assertEquals(await told(ask(`/events?${topics}`, { as: "ada" })), "500 internal");
    await hub.shutdown();
    await told(ask(`/events?ticket=${three}`));
    const lines = [...said, ...logger.lines].join("\n");
    assert(lines.includes("cannot answer"));
    for (const secret of [...tickets, cursor, encodeURIComponent(cursor)]) {
      assert(!lines.includes(secret), lines);
    }
  } finally {
    Object.assign(console, { log, info, warn, error, debug });
  }
});

test("no page of another origin may read anything, unless its origin is listed", async () => {
  const { ask, mint } = serving({
    cors: { origins: ["https://app.example.com"], credentials: true },
  });
  const allowed = { Origin: "https://app.example.com" };
  const asks = { ...allowed, "Access-Control-Request-Method": "POST" };
  const preflight = await ask("/subscribe", { method: "OPTIONS", headers: asks });
  assertEquals(preflight.status, 204);
  assertEquals(preflight.headers.get("access-control-allow-origin"), allowed.Origin);
  assertEquals(preflight.headers.get("access-control-allow-credentials"), "true");
  const headers = preflight.headers.get("access-control-allow-headers")?.toLowerCase().split(/, ?/);
  for (const name of ["last-event-id", "sse-client", "sse-wire", "sse-lag", "content-type"]) {
    assert(headers?.includes(name), name);
  }
  const stream = await ask(`/events?ticket=${await mint()}`, { headers: allowed });
  assertEquals(stream.headers.get("access-control-allow-origin"), allowed.Origin);
  assert(stream.headers.get("vary")?.includes("Origin"));
  assert(peerOf(stream.body) !== undefined, "the body is still the hub's");
  await stream.body?.cancel();
  const refused = await ask("/events?ticket=x", { headers: allowed });
  assertEquals([refused.status, refused.headers.get("access-control-allow-origin")], [
    401,
    allowed.Origin,
  ]);
  for (
    const origin of ["https://evil.example", "https://app.example.com.evil.example", "null", "*"]
  ) {
    for (const method of ["OPTIONS", "GET"]) {
      const response = await ask("/health", { method, headers: { Origin: origin } });
      assertEquals(
        response.headers.get("access-control-allow-origin"),
        null,
        `${method} ${origin}`,
      );
    }
  }
});

test("options that could not be honoured are refused at once, by their name", () => {
  const option = (options: Partial<ServiceOptions>) =>
    assertThrows(() => serving(options), ConfigError).option;
  for (const basePath of ["/", "sse", "/sse/", "/:id", "/*", "/a b", "/a//b"]) {
    assertEquals(option({ basePath }), "basePath");
  }
  for (
    const origin of [
      "*",
      "null",
      "app.example.com",
      "https://app.example.com/",
      "https://*.example.com/x",
    ]
  ) {
    assertEquals(option({ cors: { origins: [origin] } }), "cors.origins");
  }
  for (const maxBodyBytes of [0, -1, 1.5, NaN, Infinity, 1e9]) {
    assertEquals(option({ maxBodyBytes }), "maxBodyBytes");
  }
  for (const name of ["publish", "presence", "metrics"]) {
    assertEquals(option({ [name]: { keys: "short" } }), `${name}.keys`);
  }
});

test("a body over the bound is refused on every route that takes one", async () => {
  const { ask } = serving({ maxBodyBytes: 1024, digestBounds: { maxBodyBytes: 1024 } });
  for (const path of ["/ticket", "/subscribe", "/unsubscribe", "/digest"]) {
    const body = JSON.stringify({ topics: [], pad: "x".repeat(1024) });
    assert(/^413 [a-z]+_too_large$/.test(await told(ask(path, { as: "ada", body }))), path);
  }
});

test("where the application answers at once, a stream is answered in the turn of its request", async () => {
  const { service } = serving();
  const response = service.fetch(request("/events?topic=open:1", { as: "ada" }), HOST);
  assert(response instanceof Response);
  assert(peerOf(response.body) !== undefined, "the body is the hub's");
  await response.body?.cancel();
});

test("what the runtime says of a request reaches the hub, with a ticket and without", async () => {
  const { service, mint } = serving();
  const told: [Request, number][] = [];
  const host = { timeout: (...call: [Request, number]) => void told.push(call) };
  const requests = [
    request(`/events?ticket=${await mint()}`),
    request("/events?topic=open:1", { as: "ada" }),
  ];
  for (const one of requests) await (await service.fetch(one, host)).body?.cancel();
  assertEquals(told.length, 2);
  // Bun's server knows the request itself, and no copy of it.
  for (const [i, one] of requests.entries()) assert(told[i]?.[0] === one && told[i]?.[1] === 0);
});

test("it stands in a Hono app of the application's, below a path", async () => {
  const { service } = serving({ basePath: "/sse" });
  const app = new Hono().get("/", (c) => c.text("home"))
    .all("/sse/*", (c) => service.fetch(c.req.raw, c.env));
  assertEquals(await (await app.request("/")).text(), "home");
  assertEquals((await app.request("/sse/health")).status, 200);
  const headers = { "X-User": "ada" };
  const response = await app.request("/sse/events?topic=open:1", { headers }, HOST);
  assert(response.status === 200 && peerOf(response.body) !== undefined);
  await response.body?.cancel();
});

test("in a Worker's module scope it says that a hub cannot live there; in an object it serves", async () => {
  const { service } = serving();
  const worker = { waitUntil() {}, passThroughOnException() {} };
  const refused = await service.fetch(request("/health"), {}, worker);
  assertEquals((await refused.json()).code, "streaming_unsupported");
  assertEquals(
    (await service.fetch(request("/health"), {}, { ...worker, storage: {} })).status,
    200,
  );
});
