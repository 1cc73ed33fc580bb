import { assert, assertEquals } from "@std/assert";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, createServer } from "node:http2";
import { toNodeHandler } from "../../../src/adapters/node.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { open, serving } from "./node_server.ts";

/** Bun's `Request` takes a method it does not know for a GET, `Head` too (1.4.5). */
const HEAD_IN_ODD_LETTERS = "Bun" in globalThis ? "GET" : "HEAD";

/** What the adapter gives a handler beside the request. */
function outgoingOf(host: unknown): ServerResponse {
  return (host as { readonly outgoing: ServerResponse }).outgoing;
}

test("over HTTP/2 a method in odd letters is answered, and the server lives", async () => {
  const seen: string[] = [];
  const server = createServer(toNodeHandler((request) => {
    seen.push(request.method);
    return new Response("hello");
  }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port");
  const client = connect(`http://127.0.0.1:${address.port}`);
  client.on("error", () => {});
  try {
    for (const method of ["get", "Head", "GeT", "GET"]) {
      const headers = { ":path": "/", ":method": method };
      const stream = client.request(headers, { endStream: true });
      let status = 0;
      stream.on("response", (head) => status = Number(head[":status"]));
      let text = "";
      for await (const chunk of stream) text += chunk;
      assertEquals([method, status, text], [method, 200, method === "Head" ? "" : "hello"]);
    }
    assertEquals(seen, ["GET", HEAD_IN_ODD_LETTERS, "GET", "GET"]);
  } finally {
    const closed = once(server, "close");
    client.destroy();
    server.close();
    await closed;
  }
});

test("a client that does not read loses its socket once it is disconnected", async () => {
  const hub = createHub({
    keepaliveMs: 300,
    writeTimeoutMs: 1000,
    clientBuffer: 4096,
    clientBufferBytes: 256 * 1024 * 1024,
  });
  let closed = false;
  const handler = (request: Request, host: unknown): Response => {
    outgoingOf(host).on("close", () => closed = true);
    return hub.serve(request);
  };
  await serving(handler, async ({ port }) => {
    const socket = await open(port);
    socket.on("error", () => {});
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await eventually(() => hub.clientCount === 1, { what: "the client" });
    // Two to a chunk: so the end comes between two frames, and is an orderly one.
    for (let i = 0; i < 1000; i++) hub.publish({ data: "x".repeat(30_000) });
    const last: number[] = [];
    await eventually(() => last.push(hub.queuedFrames) > 5 && last.at(-5) === last.at(-1), {
      what: "the server to stop",
    });
    assert(hub.queuedFrames > 0);
    assertEquals(hub.disconnect({ where: () => true }), 1);
    assertEquals(closed, false, "its last bytes may take a while");
    await eventually(() => closed, { what: "the socket to be closed", timeoutMs: 5000 });
    assertEquals(hub.metrics().departures.closed, 1);
    socket.destroy();
  });
});

test("once somebody else has ended the response, the hub writes nothing to its socket", async () => {
  const hub = createHub({ keepaliveMs: 5000 });
  let outgoing: ServerResponse | undefined;
  const handler = (request: Request, host: unknown): Response => {
    if (new URL(request.url).pathname === "/plain") return new Response("hello");
    outgoing = outgoingOf(host);
    return hub.serve(request);
  };
  await serving(handler, async ({ port }) => {
    const socket = await open(port);
    let text = "";
    let closed = false;
    // A hub that fails to write drops the socket: no next response is as good as a whole one.
    socket.on("error", () => {});
    socket.on("close", () => closed = true);
    socket.on("data", (data) => text += data);
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await eventually(() => text.includes("sse:hello"), { what: "the hello" });
    hub.publish({ data: "early" });
    await eventually(() => text.includes("early"), { what: "a second chunk" });
    outgoing?.end();
    hub.publish({ data: "late" });
    await eventually(() => hub.clientCount === 0, { what: "the hub to be told" });
    socket.write("GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await eventually(() => closed || /\r\n\r\nhello/.test(text), { what: "what comes next" });
    socket.destroy();
    const [stream = "", rest = ""] = text.split("\r\n0\r\n\r\n");
    assert(stream.includes("early") && !text.includes("late"), text);
    assert(rest === "" || rest.startsWith("HTTP/1.1 200 OK\r\n"), rest);
  });
});
