import { assert, assertEquals } from "@std/assert";
import { test } from "../../support/test.ts";
import { bench, Client, publishSlowly, RING, settle } from "./harness.ts";

test("under lag a client that declares it stays, and is refilled from the ring without a hole", async () => {
  const made = bench({ clientBuffer: 4, replay: RING, slow: "lag" });
  const client = new Client(made.hub, {}, { lag: true });
  client.sink.refuse();
  await publishSlowly(made, 1, 100);
  assertEquals(made.hub.clientCount, 1);
  assert(made.hub.queuedFrames <= 8, `${made.hub.queuedFrames} queued`);
  client.sink.accept();
  await publishSlowly(made, 101, 110);
  assertEquals(client.data, Array.from({ length: 110 }, (_, i) => String(i + 1)));
  assertEquals(client.named("sse:lag"), []);
});

test("under lag a client that does not declare it is reset", async () => {
  const made = bench({ clientBuffer: 4, replay: RING, slow: "lag" });
  const client = new Client(made.hub);
  client.sink.refuse();
  await publishSlowly(made, 1, 20);
  assertEquals(made.hub.clientCount, 0);
});

test("lag may be declared by the header or by the query, and by nothing else", async () => {
  const stays = async (asked: ConstructorParameters<typeof Client>[2]): Promise<boolean> => {
    const made = bench({ clientBuffer: 2, replay: RING, slow: "lag" });
    const client = new Client(made.hub, {}, asked);
    client.sink.refuse();
    await publishSlowly(made, 1, 10);
    return made.hub.clientCount === 1;
  };
  assertEquals(await stays({ lag: true }), true);
  assertEquals(await stays({ query: "?lag=1" }), true);
  assertEquals(await stays({ query: "?lag=true" }), false);
  assertEquals(await stays({ query: "?lag=" }), false);
  assertEquals(await stays({}), false);
});

test("under reset a declaration of lag changes nothing", async () => {
  const made = bench({ clientBuffer: 2, replay: RING });
  const client = new Client(made.hub, {}, { lag: true });
  client.sink.refuse();
  await publishSlowly(made, 1, 10);
  assertEquals(made.hub.clientCount, 0);
});

test("what the ring no longer holds is told exactly at the hole", async () => {
  const replay = { maxEvents: 10, ttlMs: 75_000 };
  const made = bench({ clientBuffer: 4, replay, slow: "lag" });
  const { epoch } = made.hub.position();
  const client = new Client(made.hub, { topics: ["a"] }, { lag: true });
  client.sink.refuse();
  for (let i = 1; i <= 40; i++) {
    made.hub.publish({ topic: i % 2 === 0 ? "a" : "b", data: String(i) });
    made.clock.advance(100);
    await settle();
  }
  client.sink.accept();
  await settle();
  const at = client.story.findIndex((entry) => entry.startsWith(": dropped"));
  assertEquals(client.story[at + 1], "sse:lag");
  const lag = JSON.parse(client.named("sse:lag")[0] ?? "{}");
  const before = Number(client.story[at - 1]);
  const after = Number(client.story[at + 2]);
  assertEquals(after, 32, "the oldest that the ring of ten still holds of the topic");
  assertEquals(lag.to, `${epoch}:30`);
  assertEquals(lag.from, `${epoch}:${before}`);
  assertEquals(lag.missed, (30 - before) / 2);
  assertEquals(client.story[at], `: dropped ${lag.missed}`);
  assertEquals(client.story.slice(at + 2), ["32", "34", "36", "38", "40"]);
  const { lagNotices, lagMissed } = made.hub.metrics();
  assertEquals([lagNotices, lagMissed], [1, lag.missed]);
});

test("without a ring all that passed the buffer is lost and told", async () => {
  const made = bench({ clientBuffer: 4, slow: "lag" });
  const client = new Client(made.hub, {}, { lag: true });
  client.sink.refuse();
  await publishSlowly(made, 1, 50);
  client.sink.accept();
  await publishSlowly(made, 51, 52);
  const lags = client.named("sse:lag").map((data) => JSON.parse(data));
  assertEquals(lags.length, 1);
  assertEquals(client.data.length + lags[0].missed, 52);
  assertEquals(client.data.slice(-2), ["51", "52"]);
});

test("a hole of other topics' frames is no hole", async () => {
  const made = bench({ clientBuffer: 2, replay: { maxEvents: 3, ttlMs: 75_000 }, slow: "lag" });
  const client = new Client(made.hub, { topics: ["a"] }, { lag: true });
  client.sink.refuse();
  for (const topic of ["a", "a", "a", "a", "b", "b", "b", "a", "a", "a"]) {
    made.hub.publish({ topic, data: topic });
    made.clock.advance(150);
    await settle();
  }
  client.sink.accept();
  await settle();
  const missed = client.named("sse:lag").map((data) => JSON.parse(data).missed);
  assertEquals(client.data.length + missed.reduce((sum, n) => sum + n, 0), 7);
});

test("the same client, declaring lag, is told of the hole and goes on", async () => {
  const made = bench({ replay: { maxEvents: 10, ttlMs: 75_000 }, slow: "lag" });
  const { epoch } = made.hub.position();
  for (let i = 1; i <= 10; i++) made.hub.publish({ data: String(i) });
  const client = new Client(made.hub, {}, { cursor: `${epoch}:0`, lag: true }, false);
  await publishSlowly(made, 11, 15);
  client.sink.accept();
  await settle();
  assertEquals(client.story.slice(2, 5), [": dropped 5", "sse:lag", "6"]);
  assertEquals(JSON.parse(client.named("sse:lag")[0] ?? "{}"), {
    missed: 5,
    from: `${epoch}:0`,
    to: `${epoch}:5`,
  });
  assertEquals(client.data, ["6", "7", "8", "9", "10", "11", "12", "13", "14", "15"]);
});
