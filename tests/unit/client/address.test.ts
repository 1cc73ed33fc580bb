/** Addresses: the cursor in the query, the topics, and what an answer asks to wait. */
import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { readAddress, retryAfterOf, topicsOf, withQuery } from "../../../src/client/address.ts";
import { test } from "../../support/test.ts";

const { signal } = new AbortController();

test("an address is a text, whoever brings it; a Request stays one", async () => {
  const request = new Request("http://server.test/r");
  const url = new URL("http://server.test/u");
  assertEquals(await readAddress("/s", 0, signal), "/s");
  assertEquals(await readAddress(url, 0, signal), url.href);
  assertEquals(await readAddress(() => url, 0, signal), url.href);
  assertEquals(await readAddress(() => Promise.resolve("/p"), 0, signal), "/p");
  assertEquals(await readAddress(() => request, 0, signal) === request, true);
});

test("a function of an address hears of the attempt, and what it throws passes through", async () => {
  const heard: unknown[] = [];
  await readAddress(
    (attempt) => {
      heard.push(attempt);
      return "/";
    },
    4,
    signal,
  );
  assertEquals(heard, [{ attempt: 4, signal }]);
  const error = new Error("no ticket");
  assertEquals(
    await assertRejects(() => readAddress(() => Promise.reject(error), 0, signal)),
    error,
  );
});

const CASES: readonly (readonly [before: string, after: string])[] = [
  ["/events", "/events?a=1&b=%3A"],
  ["/events?x=1", "/events?x=1&a=1&b=%3A"],
  ["/events#part", "/events?a=1&b=%3A#part"],
  ["/events?x=1#part?y=2", "/events?x=1&a=1&b=%3A#part?y=2"],
  ["/events#", "/events?a=1&b=%3A#"],
  ["//server.test", "//server.test?a=1&b=%3A"],
  ["", "?a=1&b=%3A"],
  ["?x", "?x&a=1&b=%3A"],
  ["http://server.test/%20?x=%26", "http://server.test/%20?x=%26&a=1&b=%3A"],
];

test("parameters go behind the query that is there, and before the fragment", () => {
  for (const [before, after] of CASES) assertEquals(withQuery(before, { a: "1", b: ":" }), after);
});

test("whatever was in an address is in it afterwards, and what was added is read back", () => {
  const part = fc.constantFrom("a", "é", "%20", "=", "&", "/", ":", "+", "x=1");
  const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
  const optional = fc.option(text, { nil: undefined });
  fc.assert(fc.property(text, optional, optional, fc.string(), (path, query, fragment, value) => {
    const plain = `http://server.test/${path.replaceAll("=", "")}`;
    const hash = fragment === undefined ? "" : `#${fragment}`;
    const before = new URL(`${plain}${query === undefined ? "" : `?${query}`}${hash}`);
    const given = withQuery(before.href, { last_event_id: value });
    const after = new URL(String(given));
    // A lone surrogate is no character of an address.
    assertEquals(after.searchParams.getAll("last_event_id"), [value.toWellFormed()]);
    after.searchParams.delete("last_event_id");
    assertEquals([...after.searchParams], [...before.searchParams]);
    assertEquals([after.pathname, after.hash], [before.pathname, before.hash]);
  }));
});

test("a Request keeps all but its address", async () => {
  const controller = new AbortController();
  const before = new Request("http://server.test/r?x=1#part", {
    headers: { "X-Tag": "1", Authorization: "Bearer b" },
    signal: controller.signal,
    redirect: "manual",
  });
  const after = withQuery(before, { lag: "1" });
  if (typeof after === "string") throw new Error("It was a Request");
  assertEquals(new URL(after.url).search, "?x=1&lag=1");
  assertEquals([after.method, after.redirect], ["GET", "manual"]);
  assertEquals(after.headers.get("X-Tag"), "1");
  assertEquals(after.headers.get("Authorization"), "Bearer b");
  controller.abort();
  await Promise.resolve();
  assertEquals(after.signal.aborted, true);
});

test("the topics of an address are those of its query, each once", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["/", []],
    ["/?", []],
    ["/?topic=", [""]],
    ["/?topic=a", ["a"]],
    ["/?topic=a&x=y&topic=b&topic=a", ["a", "b"]],
    ["/?topics=a&subtopic=b", []],
    ["/?topic=a%20b+c", ["a b c"]],
    ["/?x=/?topic=a", []],
    ["/?topic=a#topic=b", ["a"]],
    ["/#?topic=a", []],
    ["relative?topic=%C3%A9", ["é"]],
  ];
  for (const [address, topics] of cases) {
    assertEquals([...topicsOf(address)], topics, address);
  }
  assertEquals([...topicsOf(new Request("http://server.test/?topic=r"))], ["r"]);
});

function waits(value: string | null, now = 0): number {
  return retryAfterOf(
    new Response(null, { headers: value === null ? {} : { "Retry-After": value } }),
    now,
  );
}

test("a Retry-After is seconds, or a date, or nothing", () => {
  const now = Date.parse("Mon, 30 Nov 2026 12:00:00 GMT");
  assertEquals(waits("12"), 12_000);
  assertEquals(waits(" 3 "), 3000);
  assertEquals(waits("Mon, 30 Nov 2026 12:00:07 GMT", now), 7000);
  assertEquals(waits("Monday, 30-Nov-26 12:00:07 GMT", now), 7000);
  assertEquals(waits("Mon, 30 Nov 2026 11:59:59 GMT", now), 0);
  for (const none of [null, "", "soon", "-1", "+5", "1.5", "5;q=1"]) {
    assertEquals(waits(none, now), 0, `${none}`);
  }
});

test("a Retry-After is never less than nothing, and never no number", () => {
  fc.assert(fc.property(fc.string({ unit: "binary-ascii" }), fc.nat(), (value, now) => {
    let ms = 0;
    try {
      ms = waits(value, now);
    } catch {
      // It is no value of a header.
    }
    assertEquals(ms >= 0, true);
  }));
});
