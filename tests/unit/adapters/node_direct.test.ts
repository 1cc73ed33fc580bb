import { assert, assertEquals, assertThrows } from "@std/assert";
import { once } from "node:events";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { bytes, FakePeer } from "./fake_peer.ts";
import { ask, open, serving, textOf } from "./node_server.ts";

test("a hub's stream is written to the socket by its connection, head and first chunk together", async () => {
  const peer = new FakePeer({ "X-Accel-Buffering": "no" });
  peer.onReady = (sink) => {
    sink.write(bytes("retry: 1\n\n"));
    peer.onReady = () => {};
  };
  await serving(() => peer.response, async ({ port }) => {
    const socket = await open(port);
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [first] = await once(socket, "data") as [string];
    assert(first.startsWith("HTTP/1.1 200 OK\r\n"), first);
    assert(/\r\nx-accel-buffering: no\r\n/i.test(first), first);
    assert(first.endsWith("\r\nretry: 1\n\n\r\n"), first);
    socket.destroy();
    await eventually(() => peer.told("left") > 0, { what: "the peer to be told" });
  });
});

test("a response whose headers a middleware rewrote is still driven by its connection", async () => {
  const peer = new FakePeer();
  peer.onReady = (sink) => {
    sink.write(bytes("data: x\n\n"));
    void sink.end();
  };
  const wrapped = (): Response => {
    const response = new Response(peer.response.body, peer.response);
    response.headers.append("Set-Cookie", "a=1");
    response.headers.append("Set-Cookie", "b=2");
    return response;
  };
  await serving(wrapped, async ({ port }) => {
    const response = await ask(port);
    assertEquals(response.headers["set-cookie"], ["a=1", "b=2"]);
    assertEquals(await textOf(response), "data: x\n\n");
    assertEquals(peer.told("attach"), 1);
  });
});

test("end settles when the response was handed to the operating system", async () => {
  const peer = new FakePeer();
  let ended: Promise<unknown> | void;
  peer.onReady = (sink) => {
    sink.write(bytes("data: bye\n\n"));
    ended = sink.end();
  };
  await serving(() => peer.response, async ({ port }) => {
    const text = await textOf(await ask(port));
    await ended;
    assertEquals(text, "data: bye\n\n");
    assertEquals(peer.told("failed"), 0);
  });
});

test("a peer that does not read is written no more than the kernel holds, until it reads", async () => {
  const MIB = 1024 * 1024;
  const chunk = new Uint8Array(65_536).fill(120);
  const peer = new FakePeer();
  let taken = 0;
  peer.onReady = (sink) => {
    while (taken < 64 * MIB && sink.write(chunk)) taken += chunk.length;
    // The write that answered false was taken too.
    if (taken < 64 * MIB) taken += chunk.length;
  };
  await serving(() => peer.response, async ({ port }) => {
    const socket = await open(port);
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const last: number[] = [];
    await eventually(() => last.push(taken) > 30 && taken > 0 && last.at(-30) === taken, {
      what: "the server to stop",
    });
    assert(taken < 32 * MIB, `${taken} bytes were taken for a peer that does not read`);
    socket.on("data", () => {});
    socket.resume();
    await eventually(() => taken >= 64 * MIB, { what: "the rest to be written" });
    socket.destroy();
    await eventually(() => peer.told("left") > 0, { what: "the peer to be told" });
  });
});

test("a peer that leaves is told once it is seen, and a later write throws", async () => {
  const peer = new FakePeer();
  peer.onReady = (sink) => void sink.write(bytes("retry: 1\n\n"));
  await serving(() => peer.response, async ({ port }) => {
    const response = await ask(port);
    await once(response, "data");
    response.destroy();
    await eventually(() => peer.told("left") === 1, { what: "the peer to be told" });
    assertThrows(() => peer.sink.write(bytes("x")), Error, "the response has ended");
    await peer.sink.end();
    peer.sink.destroy();
  });
});

test("destroy cuts the stream: the client sees no orderly end", async () => {
  const peer = new FakePeer();
  peer.onReady = (sink) => void sink.write(bytes("retry: 1\n\n"));
  await serving(() => peer.response, async ({ port }) => {
    const response = await ask(port);
    const cut = new Promise<void>((resolve) => response.on("error", () => resolve()));
    response.on("data", () => peer.sink.destroy());
    await cut;
    assertEquals([response.complete, peer.sink.dropsSocket], [false, true]);
    await eventually(() => peer.told("left") === 1, { what: "the peer to be told" });
  });
});

test("a HEAD gets the head alone, and the connection behind it is told to go", async () => {
  const peer = new FakePeer({ "X-Kind": "stream" });
  await serving(() => peer.response, async ({ port }) => {
    const response = await ask(port, { method: "HEAD" });
    assertEquals(response.headers["x-kind"], "stream");
    assertEquals(await textOf(response), "");
    assertEquals(peer.calls, ["left"]);
  });
});

test("a connection whose client left before the handler answered is told to go", async () => {
  const peer = new FakePeer();
  let seen: AbortSignal | undefined;
  const handler = async (request: Request): Promise<Response> => {
    seen = request.signal;
    if (!seen.aborted) await once(seen, "abort");
    return peer.response;
  };
  await serving(handler, async ({ port }) => {
    const socket = await open(port);
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await eventually(() => seen !== undefined, { what: "the request" });
    socket.destroy();
    await eventually(() => peer.told("left") === 1, { what: "the peer to be told" });
    assertEquals(peer.told("attach"), 0);
  });
});

test("the server's bounds on requests do not cut a stream", async () => {
  const peer = new FakePeer();
  peer.onReady = (sink) => void sink.write(bytes("retry: 1\n\n"));
  const bounds: number[] = [];
  const handler = (_: Request, host: object): Response => {
    const { outgoing } = host as { outgoing: { setTimeout(ms: number): unknown } };
    const original = outgoing.setTimeout;
    outgoing.setTimeout = function (ms: number) {
      bounds.push(ms);
      return original.call(this, ms);
    };
    return peer.response;
  };
  await serving(handler, async ({ port }) => {
    const response = await ask(port);
    assertEquals(bounds, [0]);
    response.destroy();
    await eventually(() => peer.told("left") === 1, { what: "the peer to be told" });
  });
});
