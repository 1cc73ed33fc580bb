import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createHub } from "../../../src/hub/hub.ts";
import { FrameReader, readFrames, serve } from "../../../src/testing/mod.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

for (const direct of [true, false]) {
  test(`a hub is served on a free port of 127.0.0.1, direct ${direct}`, async () => {
    const hub = createHub();
    const server = await serve(hub, { direct });
    assertMatch(server.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assertEquals(server.url.endsWith(`:${server.port}`), true);

    const response = await fetch(server.url);
    const reader = new FrameReader(response.body);
    await reader.read(2);
    for (let i = 1; i <= 100; i++) hub.publish({ data: String(i) });
    const frames = await reader.read(100);
    assertEquals(frames.map((frame) => Number(frame.data)).join(), numbers(100).join());

    await server.shutdown();
    assertEquals((await reader.readToEnd()).map((frame) => frame.event), ["sse:reset"]);
    await reader.cancel();
    await assertRejects(() => fetch(server.url));
  });
}

test("the handler answers, with what the runtime says about the request", async () => {
  const hub = createHub();
  const server = await serve(hub, {
    handler(request, host) {
      if (new URL(request.url).pathname !== "/events") return new Response("no", { status: 404 });
      return hub.serve(request, { topics: ["a"], host });
    },
  });
  const missing = await fetch(`${server.url}/elsewhere`);
  assertEquals([missing.status, await missing.text()], [404, "no"]);
  const { body } = await fetch(`${server.url}/events`);
  await readFrames(body, 2);
  hub.publish({ topic: "b", data: "not this" });
  hub.publish({ topic: "a", data: "this" });
  assertEquals((await readFrames(body, 1))[0]?.data, "this");
  await body?.cancel();
  await eventually(() => hub.clientCount === 0, { what: "the leaving to be seen" });
  await server.shutdown();
});

test("a server that is declared with await using is shut down at the end of its block", async () => {
  const hub = createHub();
  let url = "";
  {
    await using server = await serve(hub);
    url = server.url;
    assertEquals((await fetch(url, { method: "HEAD" })).status, 200);
  }
  await assertRejects(() => fetch(url));
});

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
