import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { presentedCursor, queryOf } from "../../../src/hub/stream_request.ts";
import { test } from "../../support/test.ts";

test("the query of an address is what new URL finds there", () => {
  const part = fc.oneof(
    fc.webQueryParameters(),
    fc.string({ unit: "binary" }),
    fc.constant("?a=b#c?d"),
  );
  fc.assert(
    fc.property(part, fc.webFragments(), (query, fragment) => {
      const { href: url, searchParams } = new URL(
        `http://pod/events?${query.toWellFormed()}#${fragment}`,
      );
      assertEquals([...queryOf({ url })], [...searchParams]);
    }),
    { numRuns: 500 },
  );
  assertEquals([...queryOf({ url: "http://pod/events" })], []);
});

test("a cursor is read from an address that new URL refuses", () => {
  // What Deno and Bun give a handler when a Host header is malformed.
  const url = "http://a b/events?last_event_id=x:1&last_event_id=y";
  const request = { url, headers: new Headers() } as Request;
  assertEquals(presentedCursor(request), "x:1");
});
