/** Topics that are known and cannot be subscribed again for now, or ever. */
import { assertEquals, assertLessOrEqual } from "@std/assert";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { at, only, turns } from "./edges.ts";
import { live, move, type Post, reconnect, streaming, subscribed } from "./topic_server.ts";

/** Ways in which a topic that is known may fail to be subscribed, which pass. */
const PASSING: readonly (readonly [what: string, fail: (post: Post) => void])[] = [
  ["404", (post) => post.answer(new Response("no", { status: 404 }))],
  ["500", (post) => post.answer(new Response("no", { status: 500 }))],
  ["429", (post) => post.answer(new Response("no", { status: 429 }))],
  ["no answer of this wire", (post) => post.answer(new Response("<html>"))],
  ["a failure of the network", (post) => post.fail()],
];

for (const [what, fail] of PASSING) {
  test(`a known topic that meets ${what} is asked for again on the same connection, at a bounded pace`, async () => {
    const each = await streaming();
    await subscribed(each, "a");
    await move(each, 5);
    await reconnect(each);
    const begun = each.clock.now();
    let asked = 0;
    for (; each.clock.now() - begun < 30_000; asked++) {
      const post = await each.server.take("subscribe");
      assertEquals(post.body, { connection: "c2", topic: "a", after: at(5) });
      fail(post);
      const failures = (): number => only(each.records, "subscribe_failed").length;
      await eventually(() => failures() === asked + 1, { what: "the record", everyMs: 1 });
      // Keepalives keep the stream open meanwhile.
      each.server.connection.send(live(null, "beat"));
      await turns();
      while (each.server.posts.length === 0) {
        each.clock.skip();
        await turns();
      }
    }
    assertLessOrEqual(asked, 8);
    (await each.server.take("subscribe")).answer({ verdict: "resumed" });
    await turns();
    assertEquals(only(each.records, "subscribed").length, 2);
    assertEquals(each.server.connections.length, 2);
    each.stream.stop();
    assertEquals(each.clock.pending, 0);
  });
}

for (const status of [401, 403]) {
  test(`a known topic that is forbidden with ${status} is forgotten`, async () => {
    const each = await streaming();
    await subscribed(each, "a");
    await reconnect(each);
    (await each.server.take("subscribe")).answer(new Response("no", { status }));
    await eventually(() => only(each.records, "subscribe_failed").length === 1, {
      what: "a record",
    });
    await reconnect(each);
    await turns();
    assertEquals([each.server.posts.length, each.server.heard.length], [0, 2]);
    each.stream.stop();
    assertEquals(each.clock.pending, 0);
  });
}

test("a retry ends with its connection: the next one asks for itself", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await reconnect(each);
  (await each.server.take("subscribe")).answer(new Response("no", { status: 500 }));
  await eventually(() => only(each.records, "subscribe_failed").length === 1, { what: "a record" });
  await reconnect(each);
  const post = await each.server.take("subscribe");
  assertEquals(post.body["connection"], "c3");
  post.answer({ verdict: "resumed" });
  each.clock.advance(10_000);
  await turns();
  assertEquals(each.server.posts, []);
  each.stream.stop();
});
