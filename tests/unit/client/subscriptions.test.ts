/** Topics on a live stream: what is posted, and what an answer means. */
import { assertEquals, assertRejects } from "@std/assert";
import { SubscribeError, TopicError } from "../../../src/errors.ts";
import type { HistoryRequest, Subscribed } from "../../../src/client/types.ts";
import { HALF_CLOSE, head, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { frame, greeting, only, reaches, turns, watch } from "./edges.ts";
import { TopicServer, URLS, withTopics } from "./topic_server.ts";

/** What becomes of a promise, without waiting for it. */
function outcome(promise: Promise<unknown>): { readonly settled: () => boolean } {
  let settled = false;
  const settle = (): void => void (settled = true);
  promise.then(settle, settle);
  return { settled: () => settled };
}

test("a topic is subscribed with the connection's id, and the answer is the caller's", async () => {
  await withTopics(async ({ stream, server, records }) => {
    const answer = stream.subscribe("order:7");
    const post = await server.take("subscribe");
    assertEquals(post.body, { connection: "c1", topic: "order:7" });
    post.answer({ verdict: "fresh", head: "41" });
    assertEquals(await answer, { verdict: "fresh", head: "41" });
    assertEquals(only(records, "subscribed"), [
      { kind: "subscribed", topic: "order:7", verdict: "fresh", head: "41" },
    ]);
    // The first subscription misses nothing: nobody had the topic before.
    assertEquals(only(records, "revalidate").map(({ cause }) => cause), ["hello"]);
  });
});

test("a subscription before the stream is open, or started, waits for the hello", async () => {
  await withTopics(async (watched) => {
    const { stream, server } = watched;
    const answers = [stream.subscribe("a"), stream.subscribe("b")];
    await turns();
    assertEquals(server.heard, []);
    stream.start();
    for (const topic of ["a", "b"]) {
      (await server.take("subscribe", topic)).answer({ head: topic === "a" ? "1" : "2" });
    }
    assertEquals((await Promise.all(answers)).map(({ head }) => head), ["1", "2"]);
  }, { start: false });
});

test("a request is JSON with the stream's headers, read afresh, and its credentials", async () => {
  let read = 0;
  await withTopics(async ({ stream, server }) => {
    const before = read;
    const answer = stream.subscribe("a");
    const { init, path, answer: say } = await server.take("subscribe");
    say({});
    await answer;
    const ended = stream.unsubscribe("a");
    const other = await server.take("unsubscribe");
    other.answer(new Response(null, { status: 204 }));
    await ended;
    assertEquals([path, other.path], ["/subscribe", "/unsubscribe"]);
    for (const [i, each] of [init, other.init].entries()) {
      assertEquals([each.method, each.credentials], ["POST", "include"]);
      const headers = new Headers(each.headers);
      assertEquals(headers.get("Content-Type"), "application/json");
      assertEquals(headers.get("X-Read"), `${before + i + 1}`);
    }
  }, {
    headers: () => ({ "X-Read": `${++read}` }),
    credentials: "include",
    subscribeUrl: new URL(URLS.subscribeUrl),
  });
});

test("as much of a topic's past is asked for as the application wants", async () => {
  const wishes: readonly HistoryRequest[] = [true, { last: 50 }, { sinceMs: 60_000 }];
  await withTopics(async ({ stream, server }) => {
    for (const [i, history] of wishes.entries()) {
      const answer = stream.subscribe(`t${i}`, { history });
      const post = await server.take("subscribe");
      assertEquals(post.body, { connection: "c1", topic: `t${i}`, history });
      post.answer({});
      await answer;
    }
  });
});

/** What may be answered the first time instead of a subscription, and the status that is told. */
const REFUSALS: readonly (readonly [what: string, answer: () => Response, status: number])[] = [
  ["403", () => new Response("no", { status: 403 }), 403],
  ["404", () => new Response("no", { status: 404 }), 404],
  ["500", () => new Response("no", { status: 500 }), 500],
  ["200 with HTML", () => new Response("<html>"), 200],
  ["200 with nothing", () => new Response(null), 200],
  ["200 with null", () => Response.json(null), 200],
  ["200 without a verdict", () => Response.json({ head: "1" }), 200],
  ["200 with a head that is a number", () => Response.json({ verdict: "fresh", head: 1 }), 200],
];

for (const [what, answer, status] of REFUSALS) {
  test(`a topic whose first subscription is answered with ${what} is refused and forgotten`, async () => {
    await withTopics(async (watched) => {
      const { stream, server, records } = watched;
      const refused = assertRejects(() => stream.subscribe("a"), SubscribeError);
      (await server.take("subscribe")).answer(answer());
      assertEquals((await refused).status, status);
      assertEquals(only(records, "subscribe_failed"), [
        { kind: "subscribe_failed", topic: "a", status },
      ]);
      stream.reconnect();
      await reaches(watched, "open");
      await turns();
      assertEquals(server.heard.length, 1);
    });
  });
}

test("a first subscription whose request fails is refused without a status", async () => {
  await withTopics(async ({ stream, server }) => {
    const refused = assertRejects(() => stream.subscribe("a"), SubscribeError);
    (await server.take("subscribe")).fail();
    assertEquals((await refused).status, null);
  });
  const headers = (): Promise<never> => Promise.reject(new Error("no token"));
  let asked = 0;
  await withTopics(async ({ stream }) => {
    const error = await assertRejects(() => stream.subscribe("a"), SubscribeError);
    assertEquals(error.status, null);
  }, { headers: () => asked++ === 0 ? {} : headers() });
});

test("a topic outside of the grammar, and a stream without the addresses, are refused at once", async () => {
  await withTopics(async ({ stream, server }) => {
    for (const topic of ["", "x".repeat(257), "a\nb"]) {
      await assertRejects(() => stream.subscribe(topic), TopicError);
    }
    assertEquals(server.heard, []);
  });
  const server = new TopicServer();
  const { stream } = watch({ url: URLS.url, fetch: server.fetch });
  await assertRejects(() => stream.subscribe("a"), SubscribeError, "subscribeUrl");
  await assertRejects(() => stream.unsubscribe("a"), SubscribeError, "unsubscribeUrl");
});

test("while attempts fail who waits goes on waiting, and is answered by the first that opens", async () => {
  const server = new TopicServer();
  let down = true;
  const watched = watch({
    ...URLS,
    fetch: (input, init) => {
      return down
        ? Promise.resolve(new Response(null, { status: 503 }))
        : server.fetch(input, init);
    },
  });
  const answer = watched.stream.subscribe("a");
  const { settled } = outcome(answer);
  watched.stream.start();
  await reaches(watched, "backoff");
  await turns();
  assertEquals(settled(), false);
  down = false;
  watched.clock.skip();
  (await server.take("subscribe")).answer({ head: "3" });
  assertEquals(await answer, { verdict: "fresh", head: "3" } as Subscribed);
  watched.stream.stop();
});

test("a server that does not name its connections refuses a topic that waited for its hello", async () => {
  await withTopics(async (watched) => {
    const { stream, server, records } = watched;
    server.names = false;
    const refused = assertRejects(() => stream.subscribe("a"), SubscribeError, "name");
    stream.start();
    assertEquals((await refused).status, null);
    await reaches(watched, "open");
    assertEquals(server.heard, []);
    assertEquals(only(records, "subscribe_failed"), [
      { kind: "subscribe_failed", topic: "a", status: null },
    ]);
  }, { start: false });
});

test("over real sockets a subscription, and one that is not answered, leave no socket", async () => {
  await serving(({ target, body }) => {
    if (target === "/events") return [STREAM, greeting({ connection: "c1" }), frame(null, "hook")];
    const { topic } = JSON.parse(body) as { readonly topic: string };
    if (topic === "silent") return [];
    const answer = JSON.stringify({ verdict: "fresh", head: "0" });
    return [
      head(200, "Content-Type: application/json", `Content-Length: ${answer.length}`),
      answer,
      HALF_CLOSE,
    ];
  }, async (server) => {
    const watched = watch({
      url: `${server.origin}/events`,
      subscribeUrl: `${server.origin}/subscribe`,
    });
    const { stream } = watched;
    stream.start();
    assertEquals(await stream.subscribe("é"), { verdict: "fresh", head: "0" });
    const refused = assertRejects(() => stream.subscribe("silent"), SubscribeError);
    await reaches(watched, "open");
    stream.stop();
    await refused;
    await server.empty();
    const posts = server.asked.filter(({ method }) => method === "POST");
    assertEquals(posts[0]?.headers.get("Content-Type"), "application/json");
  });
});
