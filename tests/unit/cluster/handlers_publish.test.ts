import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { publishHandler, type PublishTarget } from "../../../src/cluster/handlers/publish.ts";
import { openHub } from "../../../src/cluster/open_hub.ts";
import type { JournaledEvent } from "../../../src/cluster/types.ts";
import { ConfigError } from "../../../src/errors.ts";
import { AppendUnknownError, JournalError } from "../../../src/errors/journal.ts";
import { RelayError } from "../../../src/errors/relay.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { test } from "../../support/test.ts";
import { bench, Lines, RING } from "../hub/harness.ts";
import { everything, KEY, KEYS, NEXT_KEY, request, told } from "../service/world.ts";

const BEARER = { Authorization: `Bearer ${KEY}` };

function publishing(target?: PublishTarget) {
  const { hub } = bench({ replay: RING });
  const logger = new Lines();
  const publish = publishHandler({ hub: target ?? hub, access: KEYS, logger });
  const post = (body: unknown, headers = {}) =>
    publish(request("/publish", { body, headers: { ...BEARER, ...headers } }));
  const raw = (query: string, body: string | Uint8Array, type = "text/plain; charset=utf-8") =>
    publish(
      request(`/publish?${query}`, { body, headers: { ...BEARER, "Content-Type": type } }),
    );
  return { hub, logger, publish, post, raw };
}

test("an event is published as it was sent, and its offset is answered in decimal", async () => {
  const { hub, post, raw } = publishing();
  const sent = await post({ topic: "call:7", name: "said", data: '{"text":"hé\\n"}', other: 1 });
  assertEquals([sent.status, await sent.json()], [200, { offset: "1" }]);
  assertEquals(await (await post({ topic: "", data: "" })).json(), { offset: "2" });
  const bare = await raw("topic=call%3A7&name=said", "line\r\nanother");
  assertEquals(await bare.json(), { offset: "3" });
  const bytes = new TextEncoder().encode("\ufeffhé");
  assertEquals((await raw("topic=", bytes, "application/octet-stream")).status, 200);
  const late = await post({ topic: "call:7", data: "typing", ephemeral: true });
  assertEquals(await late.json(), { offset: "0" });
  assertEquals((await raw("topic=call:7&ephemeral=1", "typing")).status, 200);
  assertEquals(hub.snapshot().map(({ event }) => [event.topic, event.name, event.data]), [
    ["call:7", "said", '{"text":"hé\\n"}'],
    ["", "", ""],
    ["call:7", "said", "line\nanother"],
    ["", "", "\ufeffhé"],
  ]);
});

test("without a key, and with any that is not one of them, the refusal is one and the same", async () => {
  const { hub, publish } = publishing();
  const body = { topic: "call:7", data: "x" };
  const near = KEY.slice(0, -1);
  const headers: Record<string, string>[] = [
    {},
    { Authorization: "" },
    { Authorization: "Bearer" },
    { Authorization: "Bearer " },
    { Authorization: `Bearer ${near}` },
    { Authorization: `Bearer ${KEY}x` },
    { Authorization: `Bearer ${KEY.toUpperCase()}` },
    { Authorization: `Bearer ${KEY} ${KEY}` },
    { Authorization: `Basic ${KEY}` },
    { Authorization: KEY },
    { Authorization: `Bearer ${"x".repeat(7000)}` },
    { "X-Key": KEY },
  ];
  const unread = headers.map((each) => request("/publish", { body, headers: each }));
  const answers = await Promise.all(unread.map((each) => everything(publish(each))));
  assertEquals(new Set(answers).size, 1);
  assert(answers[0]?.startsWith("[401,") && answers[0].includes("bearer") === false);
  assert(unread.every((each) => !each.bodyUsed), "a stranger's body is not read");
  const query = request(`/publish?key=${KEY}`, { body });
  assertEquals(await told(publish(query)), "401 unauthenticated");
  assertEquals(hub.position().head, 0);
  for (const key of [KEY, NEXT_KEY]) {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const sent = request("/publish", { body, headers: { Authorization: `${scheme} ${key}` } });
      assertEquals(await told(publish(sent)), "200");
    }
  }
});

test("a key that could be guessed, or not be sent, is refused before anybody is served", () => {
  const bad: (string | string[])[] = [
    "",
    "short",
    "x".repeat(15),
    "x".repeat(513),
    "a key with spaces in it",
    "schlüssel-mit-umlaut",
    [],
    [KEY, ""],
    Array.from({ length: 17 }, (_, i) => `${KEY.slice(0, 20)}${i}`),
  ];
  const { hub } = bench();
  for (const keys of bad) {
    const error = assertThrows(() => publishHandler({ hub, access: { keys } }), ConfigError);
    assertEquals(error.option, "publish.keys");
    assert(typeof keys !== "string" || keys === "" || !error.message.includes(keys));
  }
});

test("a body with a wrong field is refused by its name, and publishes nothing", async () => {
  const { hub, post, raw, publish, logger } = publishing();
  const good = { topic: "call:7", data: "x" };
  const bad: [string, unknown, string][] = [
    ["400 publish_body", "{", "JSON"],
    ["400 publish_body", "[]", "object"],
    ["400 publish_body", { data: "x" }, "topic"],
    ["400 publish_body", { topic: null, data: "x" }, "topic"],
    ["400 publish_body", { topics: "call:7", data: "x" }, "topic"],
    ["400 publish_body", { topic: "call:7" }, "data"],
    ["400 publish_body", { ...good, data: { text: "x" } }, "data"],
    ["400 publish_body", { ...good, topic: 7 }, "topic"],
    ["400 publish_body", { ...good, name: ["a"] }, "name"],
    ["400 publish_body", { ...good, ephemeral: "yes" }, "ephemeral"],
    ["400 publish_body", { ...good, id: "a b" }, "id"],
    ["400 publish_body", { ...good, id: "a\r\nX: 1" }, "id"],
    ["400 publish_body", { ...good, id: "x".repeat(129) }, "id"],
    ["400 publish_body", { ...good, name: "sse:hello" }, "sse:"],
    ["400 publish_body", { ...good, name: "a\nid: 5" }, "CR, LF"],
    ["400 publish_body", { ...good, data: "\ud800" }, "index 0"],
    ["400 sse_topics", { ...good, topic: "a\nb" }, "topic"],
    ["400 sse_topics", { ...good, topic: "x".repeat(257) }, "topic"],
  ];
  for (const [answer, body, name] of bad) {
    const response = await post(body);
    const { error, code } = await response.json();
    assertEquals(`${response.status} ${code}`, answer, JSON.stringify(body));
    assert(error.includes(name), `${error} does not name ${name}`);
  }
  // {"topic":"a","data":"\xff"}: mended, it would be published as it never was.
  const broken = new TextEncoder().encode('{"topic":"a","data":"?"}').map((byte) =>
    byte === 0x3f ? 0xff : byte
  );
  assertEquals(await told(post(broken)), "400 publish_body");
  assertEquals(await told(raw("", "x")), "400 publish_body");
  assertEquals(await told(raw("topic=a&ephemeral=yes", "x")), "400 publish_body");
  assertEquals(await told(raw("topic=a", new Uint8Array([0x61, 0xff]))), "400 publish_body");
  assertEquals(await told(raw("topic=a", "x", "text/html")), "415 publish_content_type");
  assertEquals(await told(raw("topic=a", "x", "multipart/form-data")), "415 publish_content_type");
  assertEquals(await told(publish(request("/publish"))), "405 publish_method");
  assertEquals([hub.position().head, logger.lines.length], [0, 0]);
});

test("an event may be as large as a frame, and no body is read beyond what that needs", async () => {
  const { hub, post, raw } = publishing();
  const room = 1_048_576 - "id: 0123456789abcdef:1\ndata: \n\n".length;
  // Each character takes six bytes as JSON.
  const escaped = `{"topic":"a","data":"${"\\u0061".repeat(room)}"}`;
  assertEquals(await told(post(escaped)), "200");
  assertEquals(await told(raw("topic=a", "a".repeat(room))), "200");
  assertEquals(hub.snapshot().map(({ event }) => event.data.length), [room, room]);
  assertEquals(
    await told(post({ topic: "a", data: "a".repeat(room + 1) })),
    "413 publish_too_large",
  );
  assertEquals(await told(raw("topic=a", "a".repeat(1_048_577))), "413 publish_too_large");
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(65_536).fill(0x61));
    },
  }, { highWaterMark: 0 });
  const init = { method: "POST", body: endless, duplex: "half", headers: BEARER };
  const bomb = new Request("http://localhost/publish?topic=a", init as RequestInit);
  bomb.headers.set("Content-Type", "text/plain");
  const publish = publishHandler({ hub, access: KEYS });
  assertEquals(await told(publish(bomb)), "413 publish_too_large");
  assert(pulled <= 18, `${pulled} chunks were read`);
  const claimed = { "Content-Length": "99999999" };
  assertEquals(await told(post({ topic: "a", data: "x" }, claimed)), "413 publish_too_large");
});

test("no body of JSON makes it fail, and what it takes is in the ring", async () => {
  const { hub, post, logger } = publishing();
  const field = (values: fc.Arbitrary<unknown>) => fc.option(fc.oneof(values, fc.jsonValue()));
  const bodies = fc.oneof(
    fc.jsonValue(),
    fc.record({
      topic: field(fc.string({ unit: "binary" })),
      name: field(fc.string({ unit: "binary" })),
      data: field(fc.string({ unit: "binary" })),
      ephemeral: field(fc.boolean()),
      id: field(fc.string()),
    }),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const { head } = hub.position();
      const response = await post(JSON.stringify(body) ?? "null");
      const taken = response.status === 200;
      const { offset, code } = await response.json();
      assertEquals(hub.position().head, taken && offset !== "0" ? head + 1 : head);
      assert(taken || /^(?:publish_body|sse_topics)$/.test(code), code);
    }),
    { numRuns: 200 },
  );
  assertEquals(logger.lines, []);
});

test("a hub that has stopped is not said to have published anything", async () => {
  const { hub, post } = publishing();
  await hub.shutdown();
  assertEquals(await told(post({ topic: "", data: "x" })), "503 sse_unavailable");
});

test("over a journal the answer waits until the event is stored, and an id makes it one event", async () => {
  const hub = await openHub({ journal: createMemoryJournal(), logger: new Lines() });
  const { post } = publishing(hub);
  const event = { topic: "call:7", data: "x", id: "sent-once" };
  const offsets = [];
  for (let i = 0; i < 2; i++) offsets.push((await (await post(event)).json()).offset);
  assertEquals(offsets, ["1", "1"]);
  await hub.shutdown();
});

test("what a store or a relay did with the event is told, and its own words only to the log", async () => {
  const failing = async (error: Error) => {
    const events: JournaledEvent[] = [];
    const { post, logger } = publishing({
      state: "serving",
      publish(event) {
        events.push(event);
        return Promise.reject(error);
      },
    });
    const response = await post({ topic: "a", data: "x" });
    const text = await response.clone().text();
    return { text, said: await told(response), lines: logger.lines.length, response };
  };
  const away = await failing(new JournalError("unavailable", "no route to 10.0.0.7"));
  assertEquals([away.said, away.response.headers.get("Retry-After"), away.lines], [
    "503 journal",
    "1",
    1,
  ]);
  assert(!away.text.includes("10.0.0.7"));
  const unknown = await failing(new AppendUnknownError("the-id", "it timed out"));
  assertEquals([unknown.said, JSON.parse(unknown.text).id], ["503 append_unknown", "the-id"]);
  const large = await failing(new RelayError("too_large", "it is 2 MiB, the most is 1 MiB"));
  assertEquals([large.said, large.lines], ["413 publish_too_large", 0]);
  const closed = await failing(new RelayError("closed", "closed"));
  assertEquals(closed.said, "503 relay");
  const bug = await failing(new TypeError("Cannot read properties of undefined (reading 'x')"));
  assertEquals(bug.said, "500 internal");
});
