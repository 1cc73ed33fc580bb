/** Topics after a reconnection: from where they go on, and what a gap of one topic leads to. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RevalidateContext } from "../../../src/client/types.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { at, gate, only, reaches, turns } from "./edges.ts";
import { history, live, move, reconnect, streaming, subscribed } from "./topic_server.ts";

test("after a reconnection every topic goes on from the cursor that the connection presented", async () => {
  const each = await streaming();
  await subscribed(each, "a", "b");
  await move(each, 5);
  await reconnect(each);
  assertEquals(each.server.connection.presented, at(5));
  for (const topic of ["a", "b"]) {
    const post = await each.server.take("subscribe", topic);
    assertEquals(post.body, { connection: "c2", topic, after: at(5) });
    post.answer({ verdict: "resumed" });
  }
  await turns();
  assertEquals(only(each.records, "subscribed").length, 4);
  assertEquals(each.runs.map(({ cause }) => cause), ["hello"]);
  each.stream.stop();
});

test("a topic that was not confirmed goes on from where the first connection since then began", async () => {
  const each = await streaming();
  await subscribed(each, "a", "b");
  await move(each, 5);
  await reconnect(each);
  (await each.server.take("subscribe", "a")).answer({ verdict: "resumed" });
  each.server.connection.send(history("begin", "a"), history("end", "a"));
  // The other one is not answered at all before the connection ends.
  await each.server.take("subscribe", "b");
  await move(each, 8);
  await reconnect(each);
  assertEquals((await each.server.take("subscribe", "a")).body["after"], at(8));
  const post = await each.server.take("subscribe", "b");
  assertEquals(post.body["after"], at(5));
  post.answer({ verdict: "resumed" });
  each.server.connection.send(history("begin", "b"), history("end", "b"));
  await turns();
  await move(each, 9);
  await reconnect(each);
  const posts = [
    await each.server.take("subscribe", "a"),
    await each.server.take("subscribe", "b"),
  ];
  // That of `a` was taken and never answered.
  assertEquals(posts.map(({ body }) => body["after"]), [at(8), at(9)]);
  each.stream.stop();
});

test("what was answered and had not come whole when the connection broke is asked for again", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await move(each, 5);
  await reconnect(each);
  const late = await each.server.take("subscribe", "a");
  // Meanwhile the cursor moves on, and the past is on its way behind that.
  await move(each, 8);
  late.answer({ verdict: "resumed" });
  await turns();
  each.server.connection.send(history("begin", "a"), live(null, "half of it"));
  await reconnect(each);
  assertEquals(each.server.connection.presented, at(8));
  assertEquals((await each.server.take("subscribe", "a")).body["after"], at(5));
  each.stream.stop();
});

test("a whole history covers a past that was too much at once, and none of which a part is gone", async () => {
  const each = await streaming();
  const verdicts = ["gap_budget", "gap_floor", "epoch_changed"] as const;
  const answers = verdicts.map((topic) => each.stream.subscribe(topic, { history: true }));
  for (const topic of verdicts) (await each.server.take("subscribe", topic)).answer({});
  await Promise.all(answers);
  await move(each, 5);
  await reconnect(each);
  for (const verdict of verdicts) {
    (await each.server.take("subscribe", verdict)).answer({ verdict });
    await turns();
  }
  const gaps = each.runs.flatMap(({ topics }) => topics ?? []);
  assertEquals(gaps, ["gap_floor", "epoch_changed"]);
  each.stream.stop();
});

test("the cursor of each topic is that of the first connection since its last confirmed subscription", async () => {
  /** What one connection brings: how far the cursor goes, and which topics are confirmed and given. */
  const connection = fc.record({
    moves: fc.nat(3),
    fates: fc.array(fc.constantFrom("confirmed", "answered", "given", "failed", "silent"), {
      minLength: 2,
      maxLength: 2,
    }),
  });
  const topics = ["a", "b"];
  await fc.assert(
    fc.asyncProperty(fc.array(connection, { minLength: 1, maxLength: 6 }), async (connections) => {
      const each = await streaming();
      await subscribed(each, ...topics);
      const expected = new Map<string, string>();
      let offset = 0;
      await move(each, ++offset);
      for (const { moves, fates } of connections) {
        await reconnect(each);
        for (const [i, topic] of topics.entries()) {
          if (!expected.has(topic)) expected.set(topic, at(offset));
          const post = await each.server.take("subscribe", topic);
          assertEquals(post.body, {
            connection: each.server.connection.id,
            topic,
            after: expected.get(topic),
          });
          if (fates[i] === "failed") post.answer(new Response("no", { status: 500 }));
          const past = [history("begin", topic), history("end", topic)];
          // The past may come before the answer, whose loss does not tell then that it was asked for.
          if (fates[i] === "confirmed" && i === 0) each.server.connection.send(...past);
          if (fates[i] === "confirmed" || fates[i] === "answered") {
            post.answer({ verdict: "resumed" });
          }
          if (fates[i] === "confirmed" && i === 1) each.server.connection.send(...past);
          if (fates[i] === "given") each.server.connection.send(...past);
          if (fates[i] === "answered") each.server.connection.send(history("begin", topic));
          if (fates[i] === "confirmed") expected.delete(topic);
        }
        await turns();
        for (let i = 0; i < moves; i++) await move(each, ++offset);
      }
      each.stream.stop();
      assertEquals(each.clock.pending, 0);
    }),
    { numRuns: 25 },
  );
});

test("a history whose end has not come is asked for again, and one whose end came is not", async () => {
  const each = await streaming();
  const { stream, server } = each;
  const answers = ["a", "b"].map((topic) => stream.subscribe(topic, { history: { last: 9 } }));
  for (const topic of ["a", "b"]) (await server.take("subscribe", topic)).answer({});
  await Promise.all(answers);
  // Of `a` only half comes; another topic's end is not its own.
  server.connection.send(history("begin", "a"), live(null, "old"), history("begin", "b"));
  server.connection.send(history("end", "b"), history("end", "c"));
  await move(each, 5);
  await reconnect(each);
  const [a, b] = [await server.take("subscribe", "a"), await server.take("subscribe", "b")];
  assertEquals(a.body, { connection: "c2", topic: "a", history: { last: 9 }, after: at(5) });
  assertEquals(b.body, { connection: "c2", topic: "b", after: at(5) });
  // The last nine need not be all that was missed: the verdict says.
  a.answer({ verdict: "fresh" });
  b.answer({ verdict: "resumed" });
  await turns();
  server.connection.send(history("begin", "a"), history("end", "a"));
  await move(each, 6);
  await reconnect(each);
  assertEquals((await server.take("subscribe", "a")).body["after"], at(6));
  assertEquals(each.runs.map(({ cause, topics }) => [cause, topics]), [["hello", null], [
    "topic_gap",
    ["a"],
  ]]);
  stream.stop();
});

for (
  const verdict of [
    "gap_floor",
    "gap_budget",
    "epoch_changed",
    "cursor_invalid",
    "fresh",
    "of a newer hub",
  ]
) {
  test(`a topic that is answered with ${verdict} has a gap of its own: only it is revalidated`, async () => {
    const each = await streaming();
    await subscribed(each, "a", "b", "c");
    await move(each, 5);
    const { opened, open } = gate();
    await reconnect(each);
    each.runs.splice(0);
    const gaps = ["a", "c"];
    for (const topic of ["a", "b", "c"]) {
      const answer = { verdict: gaps.includes(topic) ? verdict : "resumed" } as {
        verdict: "fresh";
      };
      (await each.server.take("subscribe", topic)).answer(answer);
    }
    await eventually(() => each.runs.length > 0, { what: "the run", everyMs: 1 });
    await turns();
    open();
    await opened;
    assertEquals(
      each.runs.map(({ cause, full }) => [cause, full]),
      each.runs.map(() => ["topic_gap", true]),
    );
    assertEquals([...new Set(each.runs.flatMap(({ topics }) => topics ?? ["all"]))], gaps);
    // The cursor is not the topic's.
    assertEquals(each.stream.cursor(), at(5));
    each.stream.stop();
  });
}

test("gaps that come while a run is under way become one more, of all their topics", async () => {
  const { opened, open } = gate();
  const runs: RevalidateContext[] = [];
  const each = await streaming({
    revalidate(context) {
      runs.push(context);
      return context.cause === "topic_gap" ? opened : undefined;
    },
  });
  await subscribed(each, "a", "b", "c");
  await move(each, 5);
  await reconnect(each);
  for (const topic of ["a", "b", "c"]) {
    (await each.server.take("subscribe", topic)).answer({ verdict: "gap_floor" });
    await eventually(() => runs.length >= 2, { what: "the run", everyMs: 1 });
  }
  each.server.connection.send(live(6, "held"));
  await turns();
  assertEquals(each.frames.map(({ data }) => data), ["5"]);
  open();
  await eventually(() => each.frames.length === 2, { what: "what was held", everyMs: 1 });
  assertEquals(runs.map(({ topics }) => topics), [null, ["a"], ["b", "c"]]);
  each.stream.stop();
});

test("between two connections nothing is asked: what is wanted meanwhile waits for the next", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  each.server.connection.end();
  await reaches(each, "backoff");
  const answer = each.stream.subscribe("b");
  await each.stream.unsubscribe("a");
  await turns();
  assertEquals(each.server.heard.length, 1);
  while (each.stream.state() === "backoff") each.clock.skip();
  const post = await each.server.take("subscribe");
  assertEquals(post.body, { connection: "c2", topic: "b" });
  post.answer({});
  await answer;
  assertEquals(each.server.heard.length, 2);
  each.stream.stop();
});

test("an answer to a connection that is over counts for nothing", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await move(each, 5);
  await reconnect(each);
  const late = await each.server.take("subscribe");
  await reconnect(each);
  late.answer({ verdict: "gap_floor" });
  const post = await each.server.take("subscribe");
  assertEquals(post.body, { connection: "c3", topic: "a", after: at(5) });
  post.answer({ verdict: "resumed" });
  await turns();
  assertEquals(each.runs.map(({ cause }) => cause), ["hello"]);
  each.stream.stop();
});

test("a hello that names no connection keeps the known topics for the next one that does", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await move(each, 5);
  each.server.names = false;
  await reconnect(each);
  await move(each, 7);
  each.server.names = true;
  await reconnect(each);
  const post = await each.server.take("subscribe");
  // Nothing was confirmed in between.
  assertEquals(post.body, { connection: "c3", topic: "a", after: at(5) });
  each.stream.stop();
});

test("a topic after a cursor that was dropped has nothing to go on from: it has a gap", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await move(each, 5);
  each.stream.resetCursor();
  await reaches(each, "open");
  const post = await each.server.take("subscribe");
  assertEquals(post.body, { connection: "c2", topic: "a" });
  post.answer({ verdict: "fresh" });
  await eventually(() => each.runs.some(({ cause }) => cause === "topic_gap"), { what: "the run" });
  each.stream.stop();
});
