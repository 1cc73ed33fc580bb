import { assert, assertEquals } from "@std/assert";
import { FrameTooLargeError } from "../../../src/errors.ts";
import { MAX_FRAME_BYTES } from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";
import { type Bench, bench, Client, RING, settle } from "./harness.ts";

const RESET_SLOW = '{"reason":"slow"}';

/** Publishes slowly enough that it is no burst. */
async function publishSlowly({ hub, clock }: Bench, from: number, to: number): Promise<void> {
  for (let i = from; i <= to; i++) {
    hub.publish({ data: String(i) });
    clock.advance(100);
    await settle();
  }
}

test("under reset a client whose buffer is full is told so and ended, and others are not", async () => {
  const made = bench({ clientBuffer: 4, replay: RING });
  const [slow, fast] = [new Client(made.hub), new Client(made.hub)];
  slow.sink.refuse();
  await publishSlowly(made, 1, 20);
  assertEquals(made.hub.clientCount, 1);
  slow.sink.accept();
  await settle();
  assertEquals(fast.data.length, 20);
  assertEquals(made.presence.filter(({ kind }) => kind === "disconnected").map((e) => e.cause), [
    "evicted",
  ]);
  assertEquals(made.hub.metrics().departures.evicted, 1);
});

test("the farewell of an evicted client is its last frame, if it takes one within 250 ms", async () => {
  const made = bench({ clientBuffer: 1, replay: RING });
  const client = new Client(made.hub);
  client.sink.refuse();
  await publishSlowly(made, 1, 3);
  while (made.hub.clientCount > 0) {
    made.hub.publish({ data: "more" });
    made.clock.advance(50);
  }
  client.sink.accept();
  await settle();
  assertEquals(client.named("sse:reset"), [RESET_SLOW]);
  assertEquals(client.story[client.story.length - 1], "sse:reset");
  assertEquals([client.sink.ended, client.sink.destroyed], [true, false]);
  assertEquals(made.presence[1]?.cause, "evicted");
  assertEquals(made.presence[1]?.write, undefined);
  const told = client.sink.chunks.length;
  made.hub.publish({ data: "after" });
  made.clock.advance(60_000);
  assertEquals(client.sink.chunks.length, told);
});

test("a client that does not take its farewell is dropped after 250 ms", async () => {
  const made = bench({ clientBuffer: 1, replay: RING });
  const client = new Client(made.hub);
  client.sink.refuse();
  await publishSlowly(made, 1, 3);
  while (made.hub.clientCount > 0) {
    made.hub.publish({ data: "more" });
    made.clock.advance(10);
  }
  assertEquals([client.sink.ended, client.sink.destroyed], [false, false]);
  made.clock.advance(250);
  await settle();
  assertEquals(client.sink.destroyed, true);
  assertEquals(client.named("sse:reset"), []);
  const departure = made.presence[1];
  assertEquals([departure?.cause, departure?.write], ["evicted", "reset"]);
  assertEquals(made.clock.pending, 0);
  client.sink.accept();
  assertEquals(client.named("sse:reset"), []);
});

test("an evicted client leaves fan-out and frees its queue at once", async () => {
  const made = bench({ clientBufferBytes: MAX_FRAME_BYTES });
  const client = new Client(made.hub);
  client.sink.refuse();
  for (let i = 0; i < 5; i++) {
    made.hub.publish({ data: "x".repeat(400_000) });
    await settle();
  }
  assertEquals([made.hub.clientCount, made.hub.queuedFrames], [0, 0]);
});

test("the bound of bytes holds at once, in a burst too", () => {
  const made = bench({ clientBufferBytes: MAX_FRAME_BYTES });
  const client = new Client(made.hub);
  client.sink.refuse();
  for (let i = 0; i < 3; i++) made.hub.publish({ data: "x".repeat(400_000) });
  assertEquals(made.hub.clientCount, 0);
});

test("a burst within one turn costs no healthy client its stream", async () => {
  const made = bench({ clientBuffer: 4, replay: RING });
  const client = new Client(made.hub);
  for (let i = 0; i < 500; i++) made.hub.publish({ data: String(i) });
  await settle();
  assertEquals([client.data.length, made.hub.clientCount], [500, 1]);
});

test("replay and hook frames never count against the buffer", async () => {
  const { hub } = bench({ clientBuffer: 2, replay: { ...RING, replyMaxEvents: 1000 } });
  const { epoch } = hub.position();
  for (let i = 0; i < 900; i++) hub.publish({ data: String(i) });
  const client = new Client(hub, {
    async onConnect(writer) {
      for (let i = 0; i < 50; i++) void writer.event("", "hook");
      await writer.event("", "last");
    },
  }, { cursor: `${epoch}:0` });
  await settle();
  assertEquals([client.data.length, hub.clientCount], [951, 1]);
});

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

test("ephemeral events are the first to be dropped, and are never told as missed", async () => {
  const made = bench({ clientBuffer: 4, replay: RING });
  const client = new Client(made.hub);
  client.sink.refuse();
  for (let i = 0; i < 100; i++) {
    made.hub.publish({ data: `typing ${i}`, ephemeral: true });
    made.clock.advance(100);
    await settle();
  }
  assertEquals([made.hub.clientCount, made.hub.queuedFrames], [1, 4]);
  for (const data of ["1", "2", "3", "4"]) {
    made.hub.publish({ data });
    await settle();
  }
  assertEquals([made.hub.clientCount, made.hub.queuedFrames], [1, 4]);
  client.sink.accept();
  await settle();
  assertEquals(client.data, ["typing 0", "1", "2", "3", "4"]);
});

test("a slow but living reader takes a large frame in slices, and is never timed out", async () => {
  const made = bench({ replay: RING });
  const client = new Client(made.hub, {}, {}, false);
  client.sink.acceptOne();
  made.hub.publish({ data: "x".repeat(1_000_000) });
  await settle();
  // 16 slices; each time a keepalive is due as well, which must not keep the frame from starting.
  for (let i = 0; i < 18; i++) {
    made.clock.advance(20_000);
    client.sink.acceptOne();
  }
  assertEquals(client.data[0]?.length, 1_000_000);
  assert(client.sink.chunks.every((chunk) => chunk.length <= 65_536));
  assertEquals(made.hub.clientCount, 1);
});

test("when retention passes the position of a replay, the client is reset: nothing is skipped in silence", async () => {
  const made = bench({ replay: { maxEvents: 10, ttlMs: 75_000 } });
  const { epoch } = made.hub.position();
  for (let i = 1; i <= 10; i++) made.hub.publish({ data: String(i) });
  const client = new Client(made.hub, {}, { cursor: `${epoch}:0` }, false);
  await publishSlowly(made, 11, 15);
  client.sink.accept();
  await settle();
  assertEquals(client.hello.verdict, "resumed");
  assertEquals(client.story.slice(2), ["sse:reset"]);
  assertEquals(made.presence.map(({ cause }) => cause), [undefined, "evicted"]);
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

test("a client evicted before it took its opening still gets it: retry and hello come first", async () => {
  const made = bench({ clientBuffer: 1, replay: RING });
  const client = new Client(made.hub, {}, {}, false);
  while (made.hub.clientCount > 0) {
    made.hub.publish({ data: "x" });
    made.clock.advance(50);
    await settle();
  }
  client.sink.accept();
  await settle();
  // Without retry a client would come back at once; without a hello it never arrived.
  assertEquals(client.story, ["retry 1500", "sse:hello", "sse:reset"]);
  assertEquals(made.presence.map(({ kind }) => kind), ["connected", "disconnected"]);
});

test("a frame too large for the wire is refused before anybody is touched", async () => {
  const made = bench({ replay: RING });
  const client = new Client(made.hub);
  const before = client.sink.chunks.length;
  try {
    made.hub.publish({ data: "x".repeat(MAX_FRAME_BYTES) });
    assert(false, "it must be refused");
  } catch (error) {
    assert(error instanceof FrameTooLargeError);
  }
  await settle();
  assertEquals([client.sink.chunks.length, made.hub.position().head], [before, 0]);
});
