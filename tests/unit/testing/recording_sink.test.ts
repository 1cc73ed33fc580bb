import { assertEquals, assertThrows } from "@std/assert";
import { createHub } from "../../../src/hub/hub.ts";
import type { Peer, Sink } from "../../../src/hub/sink.ts";
import { RecordingSink } from "../../../src/testing/mod.ts";
import { test } from "../../support/test.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A connection that notes what it is told. */
class NotingPeer implements Peer {
  readonly told: string[] = [];
  sink: Sink | null = null;
  attach(sink: Sink): void {
    this.sink = sink;
    this.told.push("attach");
  }
  ready(): void {
    this.told.push("ready");
  }
  left(): void {
    this.told.push("left");
  }
  failed(): void {
    this.told.push("failed");
  }
}

test("it keeps what is written as it was then, and reads it as text and as frames", () => {
  const sink = new RecordingSink();
  const shared = bytes("data: a\n");
  assertEquals(sink.write(shared), true);
  shared.fill(0);
  // A character that is split over two chunks.
  const [first, second] = [bytes("data: é").slice(0, -1), bytes("data: é").slice(-1)];
  sink.write(first);
  sink.write(second);
  sink.write(bytes("\n\n"));
  assertEquals(sink.text, "data: a\ndata: é\n\n");
  assertEquals(sink.frames, [{ event: "", data: "a\né", id: "" }]);
  assertEquals(sink.chunks.length, 4);
});

test("a connection is told of the sink, of its readiness and of a leaving peer, by the test alone", () => {
  const peer = new NotingPeer();
  const sink = new RecordingSink();
  sink.attach(peer, false);
  assertEquals(peer.told, ["attach"]);
  sink.accept();
  sink.leave();
  assertEquals(peer.told, ["attach", "ready", "left"]);
});

test("it says no after refuse, takes exactly one after acceptOne, and counts what comes unasked", () => {
  const peer = new NotingPeer();
  const sink = new RecordingSink();
  sink.attach(peer);
  assertEquals(sink.write(bytes("1")), true);
  sink.refuse();
  assertEquals(sink.write(bytes("2")), false);
  assertEquals(sink.overruns, 0);
  assertEquals(sink.write(bytes("3")), false);
  assertEquals(sink.overruns, 1);
  sink.acceptOne();
  assertEquals(sink.write(bytes("4")), false);
  assertEquals(sink.overruns, 1);
  sink.accept();
  assertEquals(sink.write(bytes("5")), true);
  assertEquals([sink.overruns, sink.text], [1, "12345"]);
});

test("what comes after the end, or after the drop, counts as unasked", () => {
  const ended = new RecordingSink();
  void ended.end();
  ended.write(bytes("1"));
  const dropped = new RecordingSink();
  dropped.destroy();
  dropped.write(bytes("1"));
  assertEquals([ended.ended, ended.overruns], [true, 1]);
  assertEquals([dropped.destroyed, dropped.overruns], [true, 1]);
});

test("a failing sink throws what it was given", () => {
  const sink = new RecordingSink();
  sink.fail(new Error("reset by peer"));
  assertThrows(() => sink.write(bytes("1")), Error, "reset by peer");
  assertEquals(sink.chunks.length, 0);
});

test("a shutdown waits for the flush that the test holds back", async () => {
  const hub = createHub();
  const sink = RecordingSink.for(hub.serve(new Request("http://localhost/events")));
  let flush = (): void => {};
  sink.flushWhen(new Promise<void>((resolve) => flush = resolve));
  let settled = false;
  const shutdown = hub.shutdown().then(() => settled = true);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([sink.ended, settled], [true, false]);
  assertEquals(sink.frames.at(-1)?.event, "sse:reset");
  flush();
  await shutdown;
});

test("a response that is no hub's stream is refused", () => {
  assertThrows(() => RecordingSink.for(new Response("text")), TypeError, "not a hub's stream");
  assertThrows(() => RecordingSink.for(new Response(null)), TypeError, "not a hub's stream");
});
