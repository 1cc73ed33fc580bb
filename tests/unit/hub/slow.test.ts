import { assert, assertEquals } from "@std/assert";
import { FrameTooLargeError } from "../../../src/errors.ts";
import { MAX_FRAME_BYTES } from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";
import { bench, Client, publishSlowly, RING, settle } from "./harness.ts";

const RESET_SLOW = '{"reason":"slow"}';

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

test("a burst of bytes beyond the buffer costs a peer that takes chunks nothing that the ring holds", async () => {
  const made = bench({ clientBufferBytes: MAX_FRAME_BYTES, replay: RING });
  const client = new Client(made.hub);
  await settle();
  for (let i = 0; i < 20; i++) made.hub.publish({ data: "x".repeat(400_000) });
  await settle();
  assertEquals([client.data.length, made.hub.clientCount], [20, 1]);
});

test("a burst of bytes that no ring holds resets even a peer that takes chunks: nothing is skipped", async () => {
  const made = bench({ clientBufferBytes: MAX_FRAME_BYTES });
  const client = new Client(made.hub);
  await settle();
  for (let i = 0; i < 20; i++) made.hub.publish({ data: "x".repeat(400_000) });
  await settle();
  assertEquals([client.data.length, client.story.at(-1)], [2, "sse:reset"]);
});

test("the bound of bytes holds at once for a peer that takes none, in a burst too", async () => {
  const made = bench({ clientBufferBytes: MAX_FRAME_BYTES });
  const client = new Client(made.hub);
  client.sink.refuse();
  made.hub.publish({ data: "the last that it takes" });
  await settle();
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

test("a burst that takes long within one turn costs no healthy client its stream either", async () => {
  const made = bench({ clientBuffer: 4, replay: RING });
  const client = new Client(made.hub);
  await settle();
  for (let i = 0; i < 2000; i++) {
    made.hub.publish({ data: String(i) });
    made.clock.advance(0.3);
  }
  await settle();
  assertEquals([client.data.length, made.hub.clientCount], [2000, 1]);
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
