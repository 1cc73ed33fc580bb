import { assert, assertEquals } from "@std/assert";
import { peerOf } from "../../../src/hub/sink.ts";
import { isEpoch } from "../../../src/wire/cursor.ts";
import { textOf } from "../../model/chunks.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, RING, settle } from "./harness.ts";

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly error: string;
}

async function refusalOf(response: Response): Promise<Refusal> {
  assertEquals(response.headers.get("Content-Type"), "application/json");
  assertEquals(response.headers.get("X-Content-Type-Options"), "nosniff");
  const body = await response.json();
  assertEquals(Object.keys(body).sort(), ["code", "error"]);
  return { status: response.status, ...body };
}

test("a stream has the wire's headers, and none that HTTP/2 forbids", () => {
  const { hub } = bench();
  const response = hub.serve(ask());
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("Content-Type"), "text/event-stream");
  assertEquals(response.headers.get("Cache-Control"), "no-cache, no-transform");
  assertEquals(response.headers.get("X-Accel-Buffering"), "no");
  for (const name of ["Connection", "Keep-Alive", "Transfer-Encoding"]) {
    assertEquals(response.headers.get(name), null);
  }
});

test("the first chunk is retry, the hello, and an id alone", () => {
  const { hub } = bench({ replay: RING });
  hub.publish({ data: "before" });
  const { sink, hello, reports } = new Client(hub);
  const { epoch } = hub.position();
  const text = textOf(sink.chunks[0] ?? new Uint8Array());
  assert(text.startsWith("retry: 1500\n\nevent: sse:hello\ndata: {"), text);
  assert(text.endsWith(`\n\nid: ${epoch}:1\n\n`), text);
  assertEquals(reports.length, 3);
  const { connection, ...rest } = hello;
  assert(/^[0-9a-f]{32}$/.test(connection ?? ""), "128 random bits");
  assertEquals(rest, {
    wire: 1,
    epoch,
    floor: 1,
    head: 1,
    resumed: false,
    verdict: "fresh",
    keepaliveMs: 15_000,
    keepaliveEvent: "sse:keepalive",
    repair: undefined,
    revalidateSpreadMs: undefined,
    versionEpoch: undefined,
  });
});

test("the hello tells the options that clients must know", () => {
  const versionEpoch = "00c0ffee00c0ffee";
  const { hub } = bench({
    keepaliveMs: 2000,
    keepaliveEvent: "",
    reconnectDelayMs: 700,
    revalidateSpreadMs: 5000,
    versionEpoch,
  });
  const { hello, story } = new Client(hub);
  assertEquals([hello.keepaliveMs, hello.keepaliveEvent], [2000, ""]);
  assertEquals([hello.revalidateSpreadMs, hello.versionEpoch], [5000, versionEpoch]);
  assert(hello.epoch !== versionEpoch && isEpoch(hello.epoch));
  assertEquals(story[0], "retry 700");
});

test("the reconnection time is jittered within its bounds, and never 0", () => {
  const { hub } = bench({ reconnectDelayMs: 1, reconnectJitterMs: 9 });
  const seen = new Set<number>();
  for (let i = 0; i < 200; i++) {
    const { sink, story } = new Client(hub);
    seen.add(Number(story[0]?.split(" ")[1]));
    sink.leave();
  }
  assert([...seen].every((ms) => Number.isInteger(ms) && ms >= 1 && ms <= 10));
  assert(seen.size > 5, "it is jittered");
});

test("what was missed follows the hello, in order, then an id alone", async () => {
  const { hub } = bench({ replay: RING });
  const { epoch } = hub.position();
  for (const data of ["one", "two", "three", "four"]) hub.publish({ data });
  const client = new Client(hub, {}, { cursor: `${epoch}:2` });
  assertEquals(client.hello.verdict, "resumed");
  assertEquals(client.story, ["retry 1500", "sse:hello", "three", "four", "#4"]);
  hub.publish({ data: "five" });
  await settle();
  assertEquals(client.story.slice(5), ["five"]);
});

test("a cursor that is not resumed replays nothing", () => {
  const { hub } = bench({ replay: RING });
  hub.publish({ data: "one" });
  const { epoch } = hub.position();
  const cases = {
    "": "fresh",
    "x": "cursor_invalid",
    "0000000000000000:0": "epoch_changed",
    [`${epoch}:2`]: "gap_ahead",
    [`${epoch}:1, ${epoch}:1`]: "cursor_invalid",
  };
  for (const [cursor, verdict] of Object.entries(cases)) {
    const { hello, story } = new Client(hub, {}, { cursor });
    assertEquals([hello.verdict, hello.resumed, hello.head], [verdict, false, 1]);
    assertEquals(story, ["retry 1500", "sse:hello", "#1"]);
  }
});

test("the header presents the cursor, else the query, and the header wins", () => {
  const { hub } = bench({ replay: RING });
  const { epoch } = hub.position();
  hub.publish({ data: "one" });
  const verdict = (cursor: string | undefined, query: string): string => {
    const asked = cursor === undefined ? { query } : { query, cursor };
    return new Client(hub, {}, asked).hello.verdict;
  };
  const encoded = encodeURIComponent(`${epoch}:0`);
  assertEquals(verdict(undefined, `?last_event_id=${encoded}`), "resumed");
  assertEquals(verdict(undefined, `?last_event_id=${epoch}:0`), "resumed");
  assertEquals(verdict("nonsense", `?last_event_id=${encoded}`), "cursor_invalid");
  assertEquals(verdict(`${epoch}:1`, "?last_event_id=nonsense"), "resumed");
  assertEquals(verdict("", `?last_event_id=${encoded}`), "resumed");
  assertEquals(verdict(undefined, "?last_event_id="), "fresh");
  assertEquals(verdict(undefined, "?other=1"), "fresh");
});

test("what is not a GET is refused, and says what is allowed", async () => {
  const { hub } = bench();
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const response = hub.serve(ask({ method }));
    assertEquals(response.headers.get("Allow"), "GET, HEAD");
    const { status, code } = await refusalOf(response);
    assertEquals([status, code], [405, "sse_method"]);
  }
  assertEquals(hub.clientCount, 0);
});

test("a HEAD is answered with the head alone, and registers nobody", () => {
  const { hub, clock } = bench();
  const response = hub.serve(ask({ method: "HEAD" }));
  assertEquals([response.status, response.body], [200, null]);
  assertEquals(response.headers.get("Content-Type"), "text/event-stream");
  assertEquals([hub.clientCount, clock.pending], [0, 0]);
});

test("a topic outside the grammar is a 400 that names the rule", async () => {
  const { hub } = bench();
  for (const topics of [["a\nb"], ["a", ""], ["x".repeat(257)], Array<string>(257).fill("t")]) {
    const { status, code } = await refusalOf(hub.serve(ask(), { topics }));
    assertEquals([status, code], [400, "sse_topics"]);
  }
  assertEquals(hub.clientCount, 0);
});

test("over the cap the answer is 503 with Retry-After, and the cap can be changed", async () => {
  const { hub } = bench({ maxClients: 2, reconnectDelayMs: 2500 });
  const clients = [new Client(hub), new Client(hub)];
  const response = hub.serve(ask());
  assertEquals(response.headers.get("Retry-After"), "3");
  const { status, code } = await refusalOf(response);
  assertEquals([status, code], [503, "sse_unavailable"]);
  assertEquals(hub.metrics().refused, 1);

  hub.setMaxClients(3);
  clients.push(new Client(hub));
  hub.setMaxClients(1);
  assertEquals(hub.clientCount, 3, "lowering it evicts nobody");
  assertEquals(hub.serve(ask()).status, 503);
  for (const client of clients) client.sink.leave();
  new Client(hub);
  assertEquals(hub.serve(ask()).status, 503);
  hub.setMaxClients(0);
  new Client(hub);
  hub.setMaxClients(-1);
  new Client(hub);
  assertEquals(hub.clientCount, 3);
});

test("a refused request consumes nothing: no verdict is counted, nobody is registered", () => {
  const { hub, presence } = bench({ maxClients: 1 });
  new Client(hub);
  hub.serve(ask({ cursor: "x" }));
  hub.serve(ask({ method: "POST" }));
  hub.serve(ask(), { topics: ["a\n"] });
  const { verdicts } = hub.metrics();
  assertEquals([verdicts.fresh, verdicts.cursor_invalid], [1, 0]);
  assertEquals(presence.length, 0, "the hook runs in a later microtask");
});

test("a hub is inert until it is used: no timer before the first connection, none after the last", () => {
  const { hub, clock } = bench({ replay: RING });
  hub.publish({ data: "x" });
  assertEquals(clock.pending, 0);
  const client = new Client(hub);
  assert(clock.pending > 0);
  client.sink.leave();
  assertEquals([clock.pending, hub.clientCount], [0, 0]);
});

test("no two connections share an id", () => {
  const { hub } = bench();
  const ids = Array.from({ length: 100 }, () => new Client(hub).hello.connection);
  assertEquals(new Set(ids).size, 100);
});

test("a tag within its grammar is kept; none is none; another is absent with one warning", async () => {
  // With a keepalive that comes soon, Bun has nothing to be warned of.
  const { hub, logger, presence } = bench({ keepaliveMs: 5000 });
  for (const clientTag of ["tab-1", "A_b-9", "x".repeat(64), null, "", undefined]) {
    new Client(hub, clientTag === undefined ? {} : { clientTag });
  }
  assertEquals(logger.lines, []);
  for (const clientTag of ["evil\ntag", "a b", "x".repeat(65), "größe", "a.b"]) {
    logger.lines.length = 0;
    new Client(hub, { clientTag });
    const [line = "", ...others] = logger.lines;
    assertEquals(others, []);
    assert(line.startsWith("warn: ") && line.includes(`${clientTag.length}`), line);
    assert(!line.includes(clientTag), "never its bytes");
  }
  await settle();
  const tags = presence.map(({ tag }) => tag);
  assertEquals(tags, ["tab-1", "A_b-9", "x".repeat(64), "", "", "", "", "", "", "", ""]);
});

test("on Bun, and only there, a late keepalive without its server is warned of, once", () => {
  const { hub, logger } = bench({ keepaliveMs: 15_000 });
  const onBun = "Bun" in globalThis;
  hub.handler(ask(), { timeout: () => {} });
  assertEquals(logger.lines, []);
  for (let i = 0; i < 3; i++) hub.serve(ask());
  assertEquals(logger.lines.length, onBun ? 1 : 0);
  assert(logger.lines.every((line) => line.startsWith("warn: ") && line.includes("15000")));
  const soon = bench({ keepaliveMs: 8000 });
  soon.hub.serve(ask());
  assertEquals(soon.logger.lines, []);
});

test("the handler is bound, serves everything, and reads only the request", async () => {
  const { hub } = bench();
  const { handler } = hub;
  const response = handler(ask());
  assert(peerOf(response.body) !== undefined);
  assertEquals(handler(ask({ method: "POST" })).status, 405);
  hub.publish({ topic: "any", data: "reaches it" });
  const chunk = await response.body?.getReader().read();
  assert(textOf(chunk?.value ?? new Uint8Array()).includes("reaches it"));
});

test("in a Worker's module scope the handler refuses, and says where a hub can live", async () => {
  const { hub } = bench();
  const response = hub.handler(ask(), {}, { waitUntil: () => {} });
  const { status, code, error } = await refusalOf(response);
  assertEquals([status, code], [500, "streaming_unsupported"]);
  assert(error.includes("Durable Object"));
  assertEquals(hub.clientCount, 0);
});

test("of the host's argument only timeout and completed are read", async () => {
  const { hub } = bench();
  const seconds: number[] = [];
  const server = { timeout: (_request: Request, value: number) => void seconds.push(value) };
  const streams = [hub.handler(ask(), server), hub.handler(ask(), { other: 1 })];
  streams.push(hub.handler(ask(), "a string"), hub.handler(ask(), null));
  // A completed that rejects is a peer that left: it must not end the process.
  streams.push(hub.handler(ask(), { completed: Promise.reject(new Error("left")) }));
  assertEquals(seconds, [0], "Bun's idle timeout is turned off for the stream");
  await settle();
  assertEquals(hub.clientCount, 5);
  for (const { body } of streams) await body?.cancel();
  assertEquals(hub.clientCount, 0);
});

test("a stream whose body is cancelled leaves", async () => {
  const { hub, presence } = bench();
  const { body } = hub.serve(ask());
  const reader = body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await settle();
  assertEquals(hub.clientCount, 0);
  assertEquals(presence.map(({ kind, cause }) => [kind, cause]), [
    ["connected", undefined],
    ["disconnected", "closed"],
  ]);
});
