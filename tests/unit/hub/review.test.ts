import { assertEquals, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { peerOf } from "../../../src/hub/sink.ts";
import type { Hub, PublishEvent, ServeOptions } from "../../../src/hub/types.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { RecordingSink } from "../../../src/testing/recording_sink.ts";
import { MAX_FRAME_BYTES } from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";
import { asked, same } from "./digest_requests.ts";
import { ask, bench, Client, Lines, settle } from "./harness.ts";

/** A sink that calls back from within its writes. */
class CallingSink extends RecordingSink {
  /** What it does inside a write. */
  onWrite: () => void = () => {};

  override write(bytes: Uint8Array): boolean {
    const more = super.write(bytes);
    this.onWrite();
    return more;
  }
}

function connect(hub: Hub, sink: CallingSink, options: ServeOptions): void {
  const peer = peerOf(hub.serve(ask(), options).body);
  if (peer === undefined) throw new Error("The response is not a hub's stream");
  sink.attach(peer);
}

test("a peer that leaves inside its first write never arrived: no presence, no hook, no tag", async () => {
  const { hub, presence } = bench();
  const sink = new CallingSink();
  sink.onWrite = () => sink.leave();
  let hooks = 0;
  connect(hub, sink, { clientTag: "laptop", onConnect: () => void hooks++ });
  await settle();
  assertEquals([sink.chunks.length, hub.clientCount, hooks], [1, 0, 0]);
  assertEquals(presence, []);
  assertEquals(hub.presence().tags, []);
});

test("a client that falls behind in a fan-out is written to only after it: others keep their order", async () => {
  const { hub } = bench({ clientBufferBytes: MAX_FRAME_BYTES });
  const slow = new CallingSink();
  connect(hub, slow, { topics: ["a", "b"] });
  const other = new Client(hub, { topics: ["b"] });
  await settle();
  const before = slow.chunks.length;
  slow.onWrite = () => {
    slow.onWrite = () => {};
    hub.publish({ topic: "b", data: "nested" });
  };
  for (let i = 0; i < 2; i++) hub.publish({ topic: "a", data: "x".repeat(500_000) });
  hub.publish({ topic: "b", data: "y".repeat(100_000) });
  assertEquals(slow.chunks.length, before, "nothing was written inside the fan-out");
  await settle();
  assertEquals(other.data.map((data) => data.slice(0, 6)), ["yyyyyy", "nested"]);
  assertEquals(slow.frames.at(-1)?.event, "sse:reset");
  assertEquals([slow.overruns, hub.metrics().departures.evicted], [0, 1]);
});

test("a digest whose body fails while it is read is answered 400, and is nobody's error", async () => {
  const { hub, logger } = bench();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("The client left half-way")),
  });
  // The fetch standard asks for `duplex` beside a stream; not every `RequestInit` has it.
  const init: RequestInit & { duplex: "half" } = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
    duplex: "half",
  };
  const response = await hub.digestHandler(same)(new Request("http://localhost/digest", init));
  assertEquals([response.status, (await response.json()).code], [400, "digest_invalid"]);
  assertEquals(logger.lines.filter((line) => line.startsWith("error")), []);
});

test("a HEAD that is refused has the status of the refusal and no body", async () => {
  const { hub } = bench();
  const head = ask({ method: "HEAD" });
  const topics = hub.serve(head, { topics: ["no topic\n"] });
  assertEquals([topics.status, topics.body], [400, null]);
  await hub.shutdown();
  const late = hub.serve(head);
  assertEquals([late.status, late.body, late.headers.has("Retry-After")], [503, null, true]);
});

test("publish refuses what is neither text nor bytes, and no offset is consumed", () => {
  const { hub } = bench();
  for (const wrong of [{}, { data: undefined }, { data: null }, { data: 7 }]) {
    // What only a program without types can pass.
    assertThrows(() => hub.publish(wrong as unknown as PublishEvent), TypeError);
  }
  assertEquals([hub.position().head, hub.metrics().published], [0, 0]);
  assertEquals(hub.publish({ data: "" }), 1);
});

/** A clock whose wall time somebody adjusts; the monotonic time goes on as ever. */
class AdjustedClock extends FakeClock {
  adjustedBy = 0;

  override now(): number {
    return super.now() + this.adjustedBy;
  }
}

test("an adjusted wall clock makes no tag gone, and keeps none alive", () => {
  const clock = new AdjustedClock();
  const hub = createHub({ clock, logger: new Lines(), keepaliveMs: 15_000 });
  const headers = { "SSE-Client": "laptop" };
  const alive = new Request("http://localhost/alive", { method: "POST", headers });
  assertEquals(hub.aliveHandler(alive).status, 204);
  const gone = (): boolean[] => hub.presence().tags.map((tag) => tag.gone);
  for (const adjustedBy of [3_600_000, -3_600_000]) {
    clock.adjustedBy = adjustedBy;
    clock.advance(10_000);
    assertEquals(gone(), [false]);
  }
  clock.advance(10_001);
  assertEquals([gone(), hub.presence().transitions.expired], [[true], 1]);
});

test("a keepalive may not have the name of another event of the library's", () => {
  const refused = assertThrows(() => createHub({ keepaliveEvent: "sse:reset" }), ConfigError);
  assertEquals(refused.option, "keepaliveEvent");
  for (const keepaliveEvent of ["sse:keepalive", "ping", ""]) createHub({ keepaliveEvent });
});

test("a client disconnected while the hub shuts down is closed, and counted once", async () => {
  const { hub, presence } = bench();
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "answered with no" });
  await settle();
  const stopped = hub.shutdown();
  await settle();
  const everyone = { where: () => true };
  assertEquals([hub.disconnect(everyone), hub.disconnect(everyone)], [1, 0]);
  await stopped;
  await settle();
  assertEquals([client.sink.ended, client.sink.destroyed, hub.clientCount], [true, false, 0]);
  assertEquals(presence.map(({ cause }) => cause), [undefined, "closed"]);
  assertEquals(client.named("sse:reset"), []);
});

test("a host whose timeout throws leaves no client behind", () => {
  const { hub, clock } = bench();
  const host = {
    timeout(): void {
      throw new Error("Not this server's request");
    },
  };
  assertThrows(() => hub.serve(ask(), { host }), Error, "Not this server's request");
  assertEquals([hub.clientCount, clock.pending], [0, 0]);
});

test("a resolver's kind with a space is not taken for another subject", async () => {
  const { body } = await asked(
    [{ kind: "a", ref: "b c", version: "1" }],
    () => [{ kind: "a b", ref: "c", version: "1", status: "" }],
  );
  assertEquals([body.must_refetch, body.checked], [true, 0]);
});

test("a peer that left in mid-frame took its socket along: nothing was abandoned", async () => {
  const { hub, presence } = bench();
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "x".repeat(500_000) });
  await settle();
  const bytes = client.sink.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  assertEquals(bytes > 1000 && bytes < 500_000, true, "it is in mid-frame");
  client.sink.leave();
  await settle();
  assertEquals([presence[1]?.cause, hub.metrics().abandoned], ["closed", 0]);
});

test("a stream that is never flushed is dropped after the write timeout", async () => {
  for (const ending of ["shutdown", "disconnect"] as const) {
    const { hub, clock } = bench({ keepaliveMs: 1000, writeTimeoutMs: 5000 });
    const { sink } = new Client(hub);
    sink.flushWhen(new Promise(() => {}));
    const stopped = ending === "shutdown" ? hub.shutdown() : undefined;
    if (stopped === undefined) assertEquals(hub.disconnect({ where: () => true }), 1);
    await settle();
    assertEquals([sink.ended, hub.clientCount], [true, 0], ending);
    clock.advance(4999);
    assertEquals(sink.destroyed, false, ending);
    clock.advance(1);
    assertEquals([sink.destroyed, clock.pending], [true, 0], ending);
    await stopped;
  }
});
