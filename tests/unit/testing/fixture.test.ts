import { assertEquals, assertMatch } from "@std/assert";
import { createFixture, FrameReader } from "../../../src/testing/mod.ts";
import { parseHello } from "../../../src/wire/hello.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { driven, ORIGIN, refusalOf } from "./driver.ts";

test("a stream opens with retry, the hello, and the connect hook's unnamed frame", async () => {
  await driven(async ({ open }) => {
    const [retry, hello, greeting] = await (await open()).read(3);
    assertEquals(retry, { event: "retry", data: "1500", id: "" });
    assertEquals(hello?.event, "sse:hello");
    assertEquals(greeting, { event: "", data: '{"type":"connected"}', id: "" });
  });
});

test("an empty body publishes one empty event to everybody", async () => {
  await driven(async ({ open, post }) => {
    const reader = await open("?topic=a");
    await reader.read(3);
    const response = await post("/control/publish");
    assertEquals(response.status, 200);
    assertEquals(await response.json(), { offsets: ["1"], head: "1" });
    const [frame] = await reader.read(1);
    assertEquals([frame?.event, frame?.data, frame?.id.split(":")[1]], ["", "", "1"]);
  });
});

test("topics, names and data reach those that listen, and an ephemeral event has offset 0", async () => {
  await driven(async ({ open, post }) => {
    const both = await open("?topic=a&topic=b");
    const other = await open("?topic=c");
    await both.read(3);
    await other.read(3);
    const publish = async (body: unknown) => (await post("/control/publish", body)).json();
    await publish({ topic: "b", name: "note", data: "one\ntwo" });
    assertEquals(await publish({ topic: "a", data: "gone soon", ephemeral: true }), {
      offsets: ["0"],
      head: "1",
    });
    await publish({ name: "end" });
    assertEquals((await both.read(3)).map((frame) => frame.data), ["one\ntwo", "gone soon", ""]);
    assertEquals((await other.read(1)).map((frame) => frame.event), ["end"]);
  });
});

test("size makes the encoded frame exactly that many bytes, also where the offset grows", async () => {
  await driven(async ({ fixture, post }) => {
    const response = await fixture.fetch(new Request(`${ORIGIN}/events`));
    const reader = response.body?.getReader();
    let bytes = 0;
    let text = "";
    const readTo = async (mark: string): Promise<void> => {
      const decoder = new TextDecoder();
      while (!text.includes(mark)) {
        const chunk = (await reader?.read())?.value ?? new Uint8Array();
        bytes += chunk.length;
        text += decoder.decode(chunk);
      }
    };
    await readTo("id: ");
    await readTo("\n\n");
    const opening = bytes;
    // Offsets 1 to 12: the id grows by a byte at 10.
    const body = { name: "sized", size: 1000, count: 12 };
    assertEquals((await (await post("/control/publish", body)).json()).head, "12");
    await post("/control/publish", { name: "end", size: 100, ephemeral: true });
    await readTo("event: end");
    assertEquals(bytes - opening, 12 * 1000 + 100);
    await reader?.cancel();
  });
});

test("a frame at the cap is published, one byte more is refused and moves nothing", async () => {
  await driven(async ({ post, state }) => {
    assertEquals((await post("/control/publish", { size: 1_048_576 })).status, 200);
    const [status, code, error] = await refusalOf(
      await post("/control/publish", { size: 1_048_577, count: 3 }),
    );
    assertEquals([status, code], [422, "publish_refused"]);
    assertMatch(error, /1048577/);
    assertEquals((await state()).position.head, "1");
  });
});

test("what the hub refuses is 422 publish_refused", async () => {
  await driven(async ({ post, state }) => {
    const refused = [
      { name: "sse:mine" },
      { name: "a\nb" },
      { name: "sse:keepalive" },
      { topic: "t\u0000" },
      '{"data":"\\ud800"}',
    ];
    for (const body of refused) {
      const [status, code] = await refusalOf(await post("/control/publish", body));
      assertEquals([status, code], [422, "publish_refused"], JSON.stringify(body));
    }
    assertEquals((await state()).position.head, "0");
  });
});

test("a restart ends every stream with a goodbye; a new epoch starts at offset 0", async () => {
  await driven(async ({ open, post, state }) => {
    const reader = await open();
    await reader.read(3);
    await post("/control/publish");
    const [frame] = await reader.read(1);
    const before = (await state()).position.epoch;
    const { epoch } = await (await post("/control/restart")).json();
    assertEquals(epoch === before, false);
    assertEquals((await reader.readToEnd()).map(({ event, data }) => [event, data]), [
      ["sse:reset", '{"reason":"shutdown"}'],
    ]);
    assertEquals((await state()).position, { epoch, floor: "0", head: "0" });
    const again = await open("", { "Last-Event-ID": frame?.id ?? "" });
    assertEquals(parseHello((await again.read(2))[1]?.data ?? "").verdict, "epoch_changed");
    const { events } = await state();
    assertEquals(events.map((event) => [event.kind, event.cause, event.client_id]), [
      ["connected", "", 1],
      ["disconnected", "shutdown", 1],
      ["connected", "", 2],
    ]);
  });
});

test("the connect hook sleeps, and fails when asked: the connection ends with that cause", async () => {
  await driven(async ({ open, post, state }) => {
    await post("/control/hook-sleep", { ms: 30 });
    const opened = performance.now();
    await (await open()).read(3);
    assertEquals(performance.now() - opened >= 25, true);
    await post("/control/hook-sleep", { ms: 0, fail: true });
    await (await open()).read(2);
    await eventually(
      async () => (await state()).events.some((event) => event.cause === "hook_failed"),
      { what: "the failed hook" },
    );
  });
});

test("draining the fixture sends its clients away one by one, and closes it", async () => {
  const fixture = createFixture();
  const get = (path: string) => fixture.fetch(new Request(`http://localhost${path}`));
  const readers = await Promise.all([1, 2].map(async () => {
    const reader = new FrameReader((await get("/events")).body);
    await reader.read(3);
    return reader;
  }));
  const drained = fixture.drain({ lameDuckMs: 0, spreadMs: 40 });
  for (const reader of readers) {
    assertEquals((await reader.read(2)).map(({ event }) => event), ["retry", "sse:reset"]);
  }
  await drained;
  assertEquals((await get("/ready")).status, 503);
});

test("closing the fixture ends every fault first: sleeping, stalled and delayed streams end well", async () => {
  await driven(async ({ fixture, open, post }) => {
    await post("/control/hook-sleep", { ms: 600_000 });
    const sleeping = await open();
    await sleeping.read(2);
    await post("/control/stall", { on: true });
    const stalled = await open();
    await post("/control/delay-hello", { ms: 600_000 });
    const delayed = await open();
    const [, ...ends] = await Promise.all([
      fixture.close(),
      ...[sleeping, stalled, delayed].map((reader) => reader.readToEnd()),
    ]);
    assertEquals(ends.map((frames) => frames?.at(-1)?.event), [
      "sse:reset",
      "sse:reset",
      "sse:reset",
    ]);
  });
});
