import { assert, assertEquals } from "@std/assert";
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type IncomingHttpHeaders,
} from "node:http2";
import { toNodeHandler } from "../../../src/adapters/node.ts";
import type { FetchHandler } from "../../../src/adapters/server.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { bytes, FakePeer } from "./fake_peer.ts";

/** Bun's copy of HTTP/2 ends a stream without an error whatever code it is closed with (1.4.5). */
const CODES_GET_LOST = "Bun" in globalThis;

async function serving2(
  handler: FetchHandler,
  body: (client: ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const server = createServer(toNodeHandler(handler));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port");
  const client = connect(`http://127.0.0.1:${address.port}`);
  client.on("error", () => {});
  try {
    await body(client);
  } finally {
    const closed = once(server, "close");
    client.destroy();
    server.close();
    await closed;
  }
}

async function head(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> {
  const [headers] = await once(stream, "response") as [IncomingHttpHeaders];
  return headers;
}

test("over HTTP/2 a hub's stream is driven by its connection, to an orderly end", async () => {
  const peer = new FakePeer({ "Connection": "keep-alive", "Keep-Alive": "timeout=5", "X-A": "b" });
  let ended: Promise<unknown> | void;
  peer.onReady = (sink) => {
    peer.onReady = () => {};
    sink.write(bytes("retry: 1\n\n"));
    ended = sink.end();
  };
  let url = "";
  const handler = (request: Request): Response => {
    url = request.url;
    peer.response.headers.append("Set-Cookie", "a=1");
    peer.response.headers.append("Set-Cookie", "b=2");
    return peer.response;
  };
  await serving2(handler, async (client) => {
    const stream = client.request({ ":path": "/events?x=1" });
    const headers = await head(stream);
    assertEquals([Number(headers[":status"]), headers["x-a"]], [200, "b"]);
    assertEquals(headers["set-cookie"], ["a=1", "b=2"]);
    assertEquals([headers.connection, headers["keep-alive"]], [undefined, undefined]);
    let text = "";
    for await (const chunk of stream) text += chunk;
    assertEquals(text, "retry: 1\n\n");
    assertEquals(stream.rstCode, 0);
    assertEquals(new URL(url).pathname, "/events");
    await ended;
  });
});

test("over HTTP/2 a peer that resets its stream is told, and its request aborts", async () => {
  const peer = new FakePeer();
  peer.onReady = (sink) => void sink.write(bytes("retry: 1\n\n"));
  let signal: AbortSignal | undefined;
  const handler = (request: Request): Response => {
    signal = request.signal;
    return peer.response;
  };
  await serving2(handler, async (client) => {
    const stream = client.request({ ":path": "/" });
    stream.on("error", () => {});
    await once(stream, "data");
    stream.close(8);
    await eventually(() => peer.told("left") === 1, { what: "the peer to be told" });
    await eventually(() => signal?.aborted, { what: "the signal" });
  });
});

test("over HTTP/2 destroy is seen as a failure, not as an end", async () => {
  const peer = new FakePeer();
  peer.onReady = (sink) => void sink.write(bytes("retry: 1\n\n"));
  await serving2(() => peer.response, async (client) => {
    const stream = client.request({ ":path": "/" });
    stream.on("error", () => {});
    await once(stream, "data");
    const closed = new Promise<void>((resolve) => stream.on("close", () => resolve()));
    peer.sink.destroy();
    await closed;
    assert(stream.rstCode !== 0 || CODES_GET_LOST);
    await eventually(() => peer.told("left") === 1, { what: "the peer to be told" });
  });
});

test("over HTTP/2 an ordinary body, a HEAD and an upload work as over HTTP/1.1", async () => {
  const handler = async (request: Request): Promise<Response> =>
    new Response(request.method === "POST" ? await request.text() : "hello");
  await serving2(handler, async (client) => {
    const post = client.request({ ":path": "/", ":method": "POST" });
    post.end("upload");
    let text = "";
    for await (const chunk of post) text += chunk;
    assertEquals(text, "upload");
    const bare = client.request({ ":path": "/", ":method": "HEAD" });
    const closed = once(bare, "close");
    bare.resume();
    assertEquals(Number((await head(bare))[":status"]), 200);
    await closed;
  });
});
