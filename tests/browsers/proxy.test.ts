/**
 * The proxy and the site between a browser and the fixture, without a browser.
 *
 * @module
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { elapse } from "../suites/lib/within.ts";
import { type Proxy, startProxy } from "./support/proxy.ts";
import { startSite } from "./support/site.ts";

/** In this time nothing may pass that was not to pass. */
const QUIET_MS = 150;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

test("what is sent passes in both directions, and an end on one side is one on the other", () =>
  withEcho(async (proxy) => {
    const peer = await connect(proxy);
    await send(peer, "there and back");
    assertEquals(await receive(peer), "a:there and back");
    assertEquals([proxy.open(), proxy.accepted()], [1, 1]);
    peer.close();
    await eventually(() => proxy.open() === 0, { what: "the end" });
    assertEquals(proxy.accepted(), 1);
  }));

test("a cut ends every connection, and leaves the door open for new ones", () =>
  withEcho(async (proxy) => {
    const peers = [await connect(proxy), await connect(proxy)];
    for (const peer of peers) await roundTrip(peer);
    proxy.cut();
    assertEquals(proxy.open(), 0);
    for (const peer of peers) assertEquals(await receive(peer), null);
    const next = await connect(proxy);
    await roundTrip(next);
    for (const peer of [...peers, next]) peer.close();
  }));

test("a refused connection ends at once and is not counted; an old one lives on", () =>
  withEcho(async (proxy) => {
    const old = await connect(proxy);
    await roundTrip(old);
    proxy.refuse(true);
    const refused = await connect(proxy);
    assertEquals(await receive(refused), null);
    await roundTrip(old);
    assertEquals(proxy.accepted(), 1);
    proxy.refuse(false);
    const next = await connect(proxy);
    await roundTrip(next);
    for (const peer of [old, refused, next]) peer.close();
  }));

test("stalled, nothing passes on old connections and on new ones, and all of it does afterwards", () =>
  withEcho(async (proxy) => {
    const old = await connect(proxy);
    await roundTrip(old);
    proxy.stall(true);
    const next = await connect(proxy);
    const answers: string[] = [];
    const reads = [old, next].map(async (peer) => {
      answers.push(await receive(peer) ?? "an end");
    });
    await send(old, "old");
    await send(next, "next");
    await elapse(QUIET_MS);
    assertEquals(answers, []);
    assertEquals(proxy.open(), 2);
    proxy.stall(false);
    await Promise.all(reads);
    assertEquals(answers.sort(), ["a:next", "a:old"]);
    for (const peer of [old, next]) peer.close();
  }));

test("a stalled connection can be cut", () =>
  withEcho(async (proxy) => {
    const peer = await connect(proxy);
    await roundTrip(peer);
    proxy.stall(true);
    await send(peer, "lost");
    proxy.cut();
    assertEquals(await receive(peer), null);
    assertEquals(proxy.open(), 0);
    peer.close();
  }));

test("new connections go where the proxy is pointed, old ones stay where they are", () =>
  withEcho(async (proxy) => {
    const other = echo("b");
    const old = await connect(proxy);
    await roundTrip(old);
    proxy.retarget(other.port);
    const next = await connect(proxy);
    await send(next, "hello");
    assertEquals(await receive(next), "b:hello");
    await roundTrip(old);
    for (const peer of [old, next]) peer.close();
    await other.close();
  }));

test("a target that does not listen is an end like any other", async () => {
  const gone = echo("a");
  await gone.close();
  const proxy = startProxy(gone.port);
  const peer = await connect(proxy);
  assertEquals(await receive(peer), null);
  peer.close();
  await proxy.close();
});

test("the site serves its own pages, passes the rest on piece by piece, and follows its target", async () => {
  const left = Promise.withResolvers<void>();
  const first = serve((request) => {
    if (new URL(request.url).pathname !== "/events") return echoRequest(request);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(encoder.encode("one piece")),
      cancel: () => left.resolve(),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const second = serve(() => new Response("the second", { status: 404 }));
  const site = startSite(first.url);
  const url = `http://127.0.0.1:${site.port}`;
  try {
    const page = await fetch(`${url}/page/native`);
    assertStringIncludes(await page.text(), `src="/script/native.js"`);
    assertEquals(page.headers.get("cache-control"), null);
    const init = { method: "POST", body: "body", headers: { "last-event-id": "x:1" } };
    const echoed = await fetch(`${url}/rest/a/b?c=d`, init);
    assertEquals(await echoed.json(), ["POST", "/rest/a/b?c=d", "x:1", "body"]);
    const stream = await fetch(`${url}/events`);
    assertEquals(stream.headers.get("content-type"), "text/event-stream");
    const reader = stream.body?.getReader();
    assertEquals(decoder.decode((await reader?.read())?.value), "one piece");
    await reader?.cancel();
    await left.promise;
    site.setTarget(second.url);
    const other = await fetch(`${url}/events`);
    assertEquals([other.status, await other.text()], [404, "the second"]);
  } finally {
    await site.close();
    await first.close();
    await second.close();
  }
});

test("a server that cuts its answer cuts the site's, and one that is not there is a 502", async () => {
  const server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const site = startSite(`http://127.0.0.1:${server.addr.port}`);
  const url = `http://127.0.0.1:${site.port}`;
  try {
    const answer = fetch(`${url}/events`);
    const peer = await server.accept();
    await receive(peer);
    await send(peer, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\none piece\r\n");
    const reader = (await answer).body?.getReader();
    await reader?.read();
    peer.close();
    await assertRejects(async () => {
      while (!(await reader?.read())?.done);
    });
    server.close();
    const refused = await fetch(`${url}/events`);
    assertEquals(refused.status, 502);
    await refused.body?.cancel();
  } finally {
    await site.close();
  }
});

/** A server that answers each piece with its own name before it. */
function echo(name: string): { readonly port: number; close(): Promise<void> } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const run = async (): Promise<void> => {
    const answers: Promise<void>[] = [];
    for await (const peer of listener) {
      open.add(peer);
      answers.push(answer(peer, name).finally(() => open.delete(peer)));
    }
    await Promise.all(answers);
  };
  const running = run();
  return {
    port: listener.addr.port,
    async close() {
      listener.close();
      for (const peer of open) peer.close();
      await running;
    },
  };
}

async function answer(peer: Deno.TcpConn, name: string): Promise<void> {
  try {
    for (let text = await receive(peer); text !== null; text = await receive(peer)) {
      await send(peer, `${name}:${text}`);
    }
    peer.close();
  } catch {
    // It was closed from here, or cut.
  }
}

async function withEcho(work: (proxy: Proxy) => Promise<void>): Promise<void> {
  const server = echo("a");
  const proxy = startProxy(server.port);
  try {
    await work(proxy);
  } finally {
    await proxy.close();
    await server.close();
  }
}

function connect(proxy: Proxy): Promise<Deno.TcpConn> {
  return Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
}

async function send(peer: Deno.TcpConn, text: string): Promise<void> {
  await peer.write(encoder.encode(text));
}

/** What comes next; `null` at the end, however it came. */
async function receive(peer: Deno.TcpConn): Promise<string | null> {
  const buffer = new Uint8Array(1024);
  const size = await peer.read(buffer).catch(() => null);
  return size === null ? null : decoder.decode(buffer.subarray(0, size));
}

async function roundTrip(peer: Deno.TcpConn): Promise<void> {
  await send(peer, "ping");
  assertEquals(await receive(peer), "a:ping");
}

function serve(
  handler: (request: Request) => Response | Promise<Response>,
): { readonly url: string; close(): Promise<void> } {
  const stopping = new AbortController();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    signal: stopping.signal,
    onListen() {},
  }, handler);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    async close() {
      stopping.abort();
      await server.finished;
    },
  };
}

async function echoRequest(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const id = request.headers.get("last-event-id");
  return Response.json([request.method, pathname + search, id, await request.text()]);
}
