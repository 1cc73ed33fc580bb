import { assertEquals } from "@std/assert";
import { addressed, isHost } from "../../../src/adapters/address.ts";
import { test } from "../../support/test.ts";
import { told } from "../service/world.ts";

/** What Deno or Bun make of a request line and a `Host`: put together, whatever they say. */
function asked(url: string, host?: string): Request {
  const headers = new Headers(host === undefined ? {} : { Host: host });
  // No `Request` can be made with such an address: a runtime's server can.
  return { url, headers, method: "GET" } as Request;
}

test("a Host is a name or an address and a port, and brings no path, query or user along", () => {
  const good = [
    "pod",
    "a.example:8000",
    "127.0.0.1",
    "[::1]:80",
    "a_b",
    "xn--bcher-kva.example",
    "a:",
  ];
  for (const host of good) assertEquals(isHost(host), true, host);
  const bad = [
    "",
    "a/b",
    "a?b",
    "a#b",
    "u@a",
    "u:p@a",
    "a b",
    "a\\b",
    "a:b",
    "<a>",
    "[",
    "a,b/c",
    "\u00fc",
  ];
  for (const host of bad) assertEquals(isHost(host), false, host);
});

test("a handler is never called with an address that is none, nor with one that a Host made up", async () => {
  let called = 0;
  const handler = addressed(() => {
    called++;
    return new Response("served");
  });
  const refused = [
    asked("http://pod/health?/nowhere", "pod/health?"),
    asked("http://a b/health", "a b"),
    asked("http://a b/health"),
    asked("/health", "pod"),
    asked("", "pod"),
  ];
  for (const request of refused) {
    assertEquals(await told(handler(request, {})), "400 bad_request", request.url);
  }
  assertEquals(called, 0);
  assertEquals(await told(handler(asked("http://pod/health", "pod"), {})), "200");
  // HTTP/2 has its host elsewhere.
  assertEquals(await told(handler(asked("http://pod/health"), {})), "200");
});

test("a request of HTTP/1.0 without a Host, whose address Bun leaves a path, is served", async () => {
  const handler = addressed((request) => new Response(request.url));
  const response = await handler(asked("/health?deep=1"), {});
  assertEquals(await response.text(), "http://localhost/health?deep=1");
});
