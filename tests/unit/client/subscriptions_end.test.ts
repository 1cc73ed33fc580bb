/** The end of a topic on a live stream: unsubscribed, or stopped with its stream. */
import { assertEquals, assertRejects } from "@std/assert";
import { SubscribeError } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";
import { only, reaches, turns, watch } from "./edges.ts";
import { URLS, withTopics } from "./topic_server.ts";

test("an unsubscribed topic is told to the server once, and never subscribed again", async () => {
  await withTopics(async (watched) => {
    const { stream, server } = watched;
    const answer = stream.subscribe("a");
    (await server.take("subscribe")).answer({});
    await answer;
    const ended = stream.unsubscribe("a");
    const post = await server.take("unsubscribe");
    assertEquals(post.body, { connection: "c1", topic: "a" });
    post.answer(new Response(null, { status: 204 }));
    await ended;
    // A second time there is nothing to end.
    await stream.unsubscribe("a");
    stream.reconnect();
    await reaches(watched, "open");
    await turns();
    assertEquals(server.heard.map(([path]) => path), ["/subscribe", "/unsubscribe"]);
  });
});

test("an unsubscription that is refused, or fails, is told, and the topic forgotten all the same", async () => {
  await withTopics(async (watched) => {
    const { stream, server } = watched;
    for (const status of [404, 500, null]) {
      const answer = stream.subscribe("a");
      (await server.take("subscribe")).answer({});
      await answer;
      const refused = assertRejects(() => stream.unsubscribe("a"), SubscribeError);
      const post = await server.take("unsubscribe");
      if (status === null) post.fail();
      else post.answer(new Response("no", { status }));
      assertEquals((await refused).status, status);
    }
    const { length } = server.heard;
    stream.reconnect();
    await reaches(watched, "open");
    await turns();
    assertEquals(server.heard.length, length);
  });
});

test("a topic that is unsubscribed while it waits rejects who waited, and is not told to anybody", async () => {
  await withTopics(async (watched) => {
    const { stream, server } = watched;
    const refused = assertRejects(() => stream.subscribe("a"), SubscribeError, "unsubscribed");
    await stream.unsubscribe("a");
    await refused;
    stream.start();
    await reaches(watched, "open");
    await turns();
    assertEquals(server.heard, []);
  }, { start: false });
});

test("a late answer to a topic that was unsubscribed meanwhile changes nothing", async () => {
  await withTopics(async ({ stream, server, records }) => {
    const refused = assertRejects(() => stream.subscribe("a"), SubscribeError);
    const post = await server.take("subscribe");
    const ended = stream.unsubscribe("a");
    await refused;
    // Only then is the other one sent: a server may serve two at once in either order.
    post.answer({});
    (await server.take("unsubscribe")).answer(new Response(null, { status: 204 }));
    await ended;
    await turns();
    assertEquals([only(records, "subscribed"), only(records, "subscribe_failed")], [[], []]);
  });
});

test("a stop rejects who waits, and the topics stay for the next start", async () => {
  await withTopics(async (watched) => {
    const { stream, server } = watched;
    const waiting = [stream.subscribe("a"), stream.subscribe("b")];
    const refused = waiting.map((each) => assertRejects(() => each, SubscribeError, "stopped"));
    await server.take("subscribe", "a");
    stream.stop();
    await Promise.all(refused);
    stream.start();
    await reaches(watched, "open");
    for (const topic of ["a", "b"]) {
      const post = await server.take("subscribe", topic);
      assertEquals(post.body, { connection: "c2", topic });
      post.answer({});
    }
    await turns();
    assertEquals(only(watched.records, "subscribed").length, 2);
  });
});

test("a stream that is refused for good rejects who waits", async () => {
  const watched = watch({
    ...URLS,
    fetch: () => Promise.resolve(new Response("no", { status: 404 })),
  });
  const refused = assertRejects(() => watched.stream.subscribe("a"), SubscribeError, "stopped");
  watched.stream.start();
  await reaches(watched, "stopped");
  await refused;
});
