import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { BadRequestError, toRequest } from "../../../src/adapters/node/request.ts";
import type { NodeListener, NodeRequest } from "../../../src/adapters/node/types.ts";
import { test } from "../../support/test.ts";
import { raw, serving } from "./node_server.ts";

const never = new AbortController().signal;

function incoming(fields: Partial<NodeRequest>): NodeRequest {
  return {
    method: "GET",
    url: "/",
    httpVersionMajor: 1,
    headers: { host: "example.org" },
    socket: {},
    on: () => {},
    pause: () => {},
    resume: () => {},
    ...fields,
  };
}

function urlOf(fields: Partial<NodeRequest>): string {
  return toRequest(incoming(fields), never).url;
}

function isRefused(fields: Partial<NodeRequest>): boolean {
  try {
    urlOf(fields);
    return false;
  } catch (error) {
    if (error instanceof BadRequestError) return true;
    throw error;
  }
}

test("the URL is made of the scheme, the Host header and the target", () => {
  assertEquals(urlOf({ url: "/a?b=c" }), "http://example.org/a?b=c");
  assertEquals(urlOf({ socket: { encrypted: true } }), "https://example.org/");
  assertEquals(urlOf({ headers: { host: "[::1]:8000" } }), "http://[::1]:8000/");
  assertEquals(urlOf({ headers: {} }), "http://localhost/");
  assertEquals(urlOf({ headers: { ":authority": "h2.test", host: "h1.test" } }), "http://h2.test/");
});

test("a target cannot choose the host, whatever it starts with", () => {
  assertEquals(urlOf({ url: "//evil.test/x" }), "http://example.org//evil.test/x");
  assertEquals(new URL(urlOf({ url: "/\\evil.test" })).host, "example.org");
  assertEquals(new URL(urlOf({ url: "/@evil.test/" })).host, "example.org");
});

test("an absolute target is taken, as HTTP demands, and any other scheme is refused", () => {
  assertEquals(urlOf({ url: "http://other.test/x" }), "http://other.test/x");
  assertEquals(urlOf({ url: "*", method: "OPTIONS" }), "http://example.org/*");
  for (const url of ["ftp://x/", "http://user@x/", "http:///x", "x", "", "http://a b/"]) {
    assert(isRefused({ url }), url);
  }
});

test("a malformed Host header is refused", () => {
  for (const host of ["", " ", "a b", "a/b", "a#b", "a?b", "u@h", "h:port", "[::1", "h:99999"]) {
    assert(isRefused({ headers: { host } }), host);
  }
});

test("every target and every Host either is a bad request or keeps the host that was named", () => {
  const text = fc.string({ unit: "binary-ascii", maxLength: 20 });
  fc.assert(fc.property(text, text, (path, host) => {
    const fields = { url: `/${path}`, headers: { host } };
    if (isRefused(fields)) return;
    assertEquals(new URL(urlOf(fields)).host, new URL(`http://${host}`).host);
  }));
});

test("a method that the fetch standard forbids is refused", () => {
  for (const method of ["TRACE", "TRACK", "CONNECT"]) assert(isRefused({ method }), method);
});

test("headers keep their values, and HTTP/2's pseudo-headers are left out", () => {
  const { headers } = toRequest(
    incoming({
      headers: { host: "x", ":path": "/", "last-event-id": "a, b", "x-many": ["1", "2"] },
    }),
    never,
  );
  assertEquals(headers.get("last-event-id"), "a, b");
  assertEquals(headers.get("x-many"), "1, 2");
  assertEquals([...headers.keys()].filter((name) => name.startsWith(":")), []);
});

/** A request whose body the test sends. */
class Upload {
  readonly listeners = new Map<string, NodeListener>();
  flowing = false;
  readonly incoming: NodeRequest = incoming({
    method: "POST",
    on: (event, listener) => this.listeners.set(event, listener),
    pause: () => this.flowing = false,
    resume: () => this.flowing = true,
  });

  emit(event: string, ...args: unknown[]): void {
    this.listeners.get(event)?.(...args);
  }

  body(): ReadableStream<Uint8Array> {
    const { body } = toRequest(this.incoming, never);
    if (body === null) throw new Error("A POST has a body");
    return body;
  }
}

test("a body is read from the socket only when it is asked for, one chunk for each read", async () => {
  const upload = new Upload();
  const reader = upload.body().getReader();
  await Promise.resolve();
  assertEquals([upload.flowing, upload.listeners.size], [false, 0]);

  const first = reader.read();
  await Promise.resolve();
  assertEquals(upload.flowing, true);
  upload.emit("data", new Uint8Array([1]));
  assertEquals((await first).value, new Uint8Array([1]));
  assertEquals(upload.flowing, false);

  const last = reader.read();
  upload.emit("end");
  upload.emit("close");
  assertEquals((await last).done, true);
});

test("a client that leaves inside its body makes reading it fail, once", async () => {
  const upload = new Upload();
  const read = upload.body().getReader().read().then(() => "read", (error) => String(error));
  await Promise.resolve();
  upload.emit("error", new Error("ECONNRESET"));
  upload.emit("close");
  upload.emit("data", new Uint8Array([1]));
  assertEquals(await read, "Error: ECONNRESET");
});

test("a body that is given up is thrown away, so that the connection's next request is read", async () => {
  const upload = new Upload();
  const reader = upload.body().getReader();
  const read = reader.read();
  await Promise.resolve();
  upload.emit("data", new Uint8Array([1]));
  await read;
  await reader.cancel();
  assertEquals(upload.flowing, true);
  upload.emit("data", new Uint8Array([2]));
  upload.emit("end");
});

test("a bad request is answered with 400, and the server lives on", async () => {
  await serving((request) => new Response(new URL(request.url).host), async ({ port, logged }) => {
    const bad = await raw(port, "GET / HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n");
    assert(bad.startsWith("HTTP/1.1 400 "), bad);
    assert(bad.includes('"code":"bad_request"'), bad);
    const good = await raw(port, "GET / HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n");
    assert(good.startsWith("HTTP/1.1 200 "), good);
    assert(good.includes("a.b"), good);
    assertEquals(logged, []);
  });
});
