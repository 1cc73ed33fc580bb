import { assert, assertEquals } from "@std/assert";
import { once } from "node:events";
import { Agent } from "node:http";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { chunked } from "../../../src/adapters/node/chunked.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { bytes, FakePeer } from "./fake_peer.ts";
import { ask, open, serving, textOf } from "./node_server.ts";

test("every chunk is its length in hex, its bytes and a line end, and is made once", () => {
  fc.assert(fc.property(fc.uint8Array({ minLength: 1, maxLength: 70_000 }), (data) => {
    const chunk = chunked(data);
    const head = `${data.length.toString(16)}\r\n`;
    const text = new TextDecoder("latin1").decode(chunk);
    assertEquals(text.slice(0, head.length), head);
    assertEquals(chunk.slice(head.length, -2), new Uint8Array(data));
    assertEquals(text.slice(-2), "\r\n");
    assert(chunked(data) === chunk);
  }));
});

/** Writes each part in a turn of its own: what is written in one turn, Node joins itself. */
function writing(parts: readonly string[]): FakePeer {
  const peer = new FakePeer();
  peer.onReady = async (sink) => {
    peer.onReady = () => {};
    for (const part of parts) {
      sink.write(bytes(part));
      await setImmediate();
    }
    void sink.end();
  };
  return peer;
}

test("every sequence of writes arrives as it was written", async () => {
  const text = fc.array(fc.string({ minLength: 1, maxLength: 200 }), { maxLength: 20 });
  const runs = fc.sample(text, { numRuns: 20, seed: 1 });
  await serving((request) => {
    const parts = runs[Number(new URL(request.url).pathname.slice(1))] ?? [];
    return writing(parts).response;
  }, async ({ port }) => {
    for (const [i, parts] of runs.entries()) {
      const got = await textOf(await ask(port, { path: `/${i}` }));
      assertEquals(got, new TextDecoder().decode(bytes(parts.join(""))));
    }
  });
});

test("a write that a middleware replaced is used for every chunk", async () => {
  const peer = writing(["a", "b", "c"]);
  let seen = 0;
  const handler = (_: Request, host: object): Response => {
    const { outgoing } = host as { outgoing: { write(chunk: Uint8Array): boolean } };
    const { write } = outgoing;
    outgoing.write = (chunk) => {
      seen++;
      return write.call(outgoing, chunk);
    };
    return peer.response;
  };
  await serving(handler, async ({ port }) => {
    assertEquals(await textOf(await ask(port)), "abc");
    assertEquals(seen, 3);
  });
});

test("what is written while somebody holds the response corked keeps its place", async () => {
  const peer = new FakePeer();
  let outgoing: { cork(): void; uncork(): void; write(chunk: Uint8Array): boolean } | undefined;
  peer.onReady = async (sink) => {
    peer.onReady = () => {};
    sink.write(bytes("a"));
    await setImmediate();
    outgoing?.cork();
    outgoing?.write(bytes("b"));
    sink.write(bytes("c"));
    outgoing?.uncork();
    void sink.end();
  };
  const handler = (_: Request, host: object): Response => {
    outgoing = (host as { outgoing: typeof outgoing }).outgoing;
    return peer.response;
  };
  await serving(handler, async ({ port }) => {
    assertEquals(await textOf(await ask(port)), "abc");
  });
});

test("a stream that has ended leaves its connection to the next request, and no listener on it", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<unknown>();
  const listeners: number[] = [];
  const handler = (_: Request, host: object): Response => {
    const { incoming } = host as { incoming: { socket: { listenerCount(name: string): number } } };
    sockets.add(incoming.socket);
    listeners.push(incoming.socket.listenerCount("drain"));
    return writing(["a", "b"]).response;
  };
  await serving(handler, async ({ port }) => {
    for (let i = 0; i < 20; i++) assertEquals(await textOf(await ask(port, { agent })), "ab");
    assertEquals(new Set(listeners).size, 1);
  });
  agent.destroy();
});

test("a stream whose turn in a pipeline has not come waits for it, and loses nothing", async () => {
  const peers = [new FakePeer(), new FakePeer()];
  let asked = 0;
  const handler = (): Response => {
    const peer = peers[asked++];
    if (peer === undefined) throw new Error("There are two requests");
    peer.onReady = (sink) => {
      peer.onReady = () => {};
      for (const part of ["x", "y"]) sink.write(bytes(`${part}${asked};`));
    };
    return peer.response;
  };
  await serving(handler, async ({ port }) => {
    const socket = await open(port);
    let text = "";
    socket.on("data", (data: string) => text += data);
    const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    socket.write(request + request);
    await eventually(() => text.includes("y1;"), { what: "the first stream" });
    void peers[0]?.sink.end();
    await eventually(() => text.includes("x2;") && text.includes("y2;"), { what: "the second" });
    assert(text.indexOf("x2;") > text.indexOf("0\r\n\r\n"), text);
    const closed = once(socket, "close");
    socket.destroy();
    await closed;
    await eventually(() => peers[1]?.told("left"), { what: "the peer to be told" });
  });
});
