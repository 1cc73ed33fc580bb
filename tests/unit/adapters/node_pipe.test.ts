import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { once } from "node:events";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { bytes, FakePeer } from "./fake_peer.ts";
import { ask, open, raw, serving, textOf } from "./node_server.ts";

test("an ordinary body arrives whole, with its headers and both cookies", async () => {
  const handler = (): Response => {
    const response = new Response("hello", { status: 201, headers: { "X-Kind": "text" } });
    response.headers.append("Set-Cookie", "a=1");
    response.headers.append("Set-Cookie", "b=2");
    return response;
  };
  await serving(handler, async ({ port }) => {
    const response = await ask(port);
    assertEquals(response.statusCode, 201);
    assertEquals(response.headers["x-kind"], "text");
    assertEquals(response.headers["set-cookie"], ["a=1", "b=2"]);
    assertEquals(await textOf(response), "hello");
  });
});

test("headers that belong to one hop are never passed on", async () => {
  const headers = { "Keep-Alive": "timeout=7", "Proxy-Connection": "x", "Upgrade": "x" };
  await serving(() => new Response("x", { headers }), async ({ port }) => {
    const text = await raw(port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assertNotMatch(text, /timeout=7|proxy-connection|upgrade/i);
  });
});

test("204, 205 and 304 have no body, and a response without one has the length 0", async () => {
  const handler = (request: Request): Response =>
    new Response(null, { status: Number(new URL(request.url).pathname.slice(1)) });
  await serving(handler, async ({ port }) => {
    for (const status of [204, 205, 304, 200]) {
      const response = await ask(port, { path: `/${status}` });
      assertEquals([response.statusCode, await textOf(response)], [status, ""]);
      if (status === 200) assertEquals(response.headers["content-length"], "0");
    }
  });
});

test("a handler that throws or rejects is logged once and answered with 500 internal", async () => {
  const boom = new Error("secret detail");
  const handler = (request: Request): Promise<Response> => {
    if (request.url.endsWith("/throw")) throw boom;
    return Promise.reject(boom);
  };
  await serving(handler, async ({ port, logged }) => {
    for (const path of ["/throw", "/reject"]) {
      const response = await ask(port, { path });
      assertEquals(response.statusCode, 500);
      assertEquals(JSON.parse(await textOf(response)), {
        error: "Internal error",
        code: "internal",
      });
    }
    assertEquals(logged.length, 2);
    assert(logged.every((line) => line.includes("secret detail")), logged.join("\n"));
  });
});

test("a response that cannot be sent is logged and answered with 500", async () => {
  const read = new Response("x");
  const reader = read.body?.getReader();
  const handler = (request: Request): Response =>
    request.url.endsWith("/read") ? read : new Response("x", { headers: { "X-Bad": "a\u0001b" } });
  await serving(handler, async ({ port, logged }) => {
    for (const path of ["/read", "/header"]) {
      const response = await ask(port, { path });
      assertEquals(response.statusCode, 500);
      await textOf(response);
    }
    assertEquals(logged.length, 2);
  });
  await reader?.cancel();
});

test("the head of a body that has nothing to say yet is sent all the same", async () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      controller = c;
    },
  });
  await serving(() => new Response(body), async ({ port }) => {
    const response = await ask(port);
    controller?.enqueue(bytes("late"));
    controller?.close();
    assertEquals(await textOf(response), "late");
  });
});

test("a body is cancelled when its reader leaves, also while nothing is written", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes("first")),
    cancel: () => void (cancelled = true),
  });
  await serving(() => new Response(body), async ({ port }) => {
    const response = await ask(port);
    await once(response, "data");
    response.destroy();
    await eventually(() => cancelled, { what: "the body to be cancelled" });
  });
});

test("a body is pulled at the pace of the socket, and cancelled when a stopped peer leaves", async () => {
  const chunk = new Uint8Array(65_536).fill(120);
  let pulled = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += chunk.length;
      controller.enqueue(chunk);
    },
    cancel: () => void (cancelled = true),
  }, { highWaterMark: 0 });
  await serving(() => new Response(body), async ({ port }) => {
    const socket = await open(port);
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const last: number[] = [];
    await eventually(() => last.push(pulled) > 30 && pulled > 0 && last.at(-30) === pulled, {
      what: "the pulling to stop",
    });
    assert(pulled < 32 * 1024 * 1024, `${pulled} bytes were pulled for a peer that does not read`);
    socket.destroy();
    await eventually(() => cancelled, { what: "the body to be cancelled" });
  });
});

test("a body that fails half-way cuts the response: it must not look whole", async () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      controller = c;
      c.enqueue(bytes("half"));
    },
  });
  await serving(() => new Response(body), async ({ port }) => {
    const response = await ask(port);
    const cut = new Promise<void>((resolve) => response.on("error", () => resolve()));
    response.on("data", () => controller?.error(new Error("broken")));
    await cut;
    assertEquals(response.complete, false);
  });
});

test("a body whose chunk is not bytes cuts the response, and is cancelled", async () => {
  let controller: ReadableStreamDefaultController<unknown> | undefined;
  let cancelled = false;
  const body = new ReadableStream<unknown>({
    start(c) {
      controller = c;
      c.enqueue(bytes("first"));
    },
    cancel: () => void (cancelled = true),
  });
  // What a JavaScript program may do, whatever the types say.
  const handler = (): Response => new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>);
  await serving(handler, async ({ port }) => {
    const response = await ask(port);
    const cut = new Promise<void>((resolve) => response.on("error", () => resolve()));
    response.on("data", () => controller?.enqueue({}));
    await cut;
    assertEquals(response.complete, false);
    await eventually(() => cancelled, { what: "the body to be cancelled" });
  });
});

test("with direct: false a hub's stream takes the way of every other body", async () => {
  const peer = new FakePeer();
  await serving(() => peer.response, async ({ port }) => {
    const response = await ask(port);
    assertEquals(peer.told("attach"), 0);
    response.destroy();
    await eventually(() => response.destroyed, { what: "the socket to close" });
  }, { direct: false });
});

test("the handler's request aborts when its client leaves, and not when all was sent", async () => {
  const signals: AbortSignal[] = [];
  const handler = (request: Request): Response => {
    signals.push(request.signal);
    return request.url.endsWith("/whole")
      ? new Response("whole")
      : new Response(new ReadableStream({ start: (c) => c.enqueue(bytes("first")) }));
  };
  await serving(handler, async ({ port }) => {
    await textOf(await ask(port, { path: "/whole" }));
    const response = await ask(port, { path: "/stream" });
    await once(response, "data");
    response.destroy();
    await eventually(() => signals[1]?.aborted, { what: "the signal" });
    assertEquals(signals[0]?.aborted, false);
  });
});

test("a request's body reaches the handler", async () => {
  await serving(async (request) => new Response(await request.text()), async ({ port }) => {
    const text = await raw(
      port,
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
    );
    assert(text.includes("hello"), text);
  });
});
