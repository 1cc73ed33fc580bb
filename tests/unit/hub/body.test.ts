import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { peerOf } from "../../../src/hub/sink.ts";
import { eventsOf, parseAll } from "../../model/reports.ts";
import { test } from "../../support/test.ts";
import { ask, bench, RING, settle } from "./harness.ts";

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  assert(response.body !== null);
  return response.body.getReader();
}

test("nothing is handed to a body before it is read: behind a reader that stops, nothing grows", async () => {
  const { hub, clock } = bench({ replay: RING });
  const reader = readerOf(hub.serve(ask()));
  await settle();
  assertEquals(hub.metrics().delivered, 0);
  for (let i = 0; i < 20; i++) hub.publish({ data: "x".repeat(1000) });
  await settle();
  assertEquals([hub.metrics().delivered, hub.queuedFrames], [0, 20]);
  const { value } = await reader.read();
  // A body without a buffer: one read takes one chunk.
  assertEquals(eventsOf(parseAll([value ?? new Uint8Array()])).length, 21);
  hub.publish({ data: "y" });
  await settle();
  assertEquals(hub.queuedFrames, 1);
  await reader.cancel();
  assertEquals([hub.clientCount, hub.queuedFrames, clock.pending], [0, 0, 0]);
});

test("however a body is read, ahead or behind, its bytes are every event in order", async () => {
  const steps = fc.array(
    fc.oneof(fc.constantFrom("read", "turn"), fc.nat({ max: 90_000 })),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const { hub } = bench({ replay: RING });
      const reader = readerOf(hub.serve(ask()));
      const reads: Promise<ReadableStreamReadResult<Uint8Array>>[] = [];
      const expected: string[] = [];
      for (const step of script) {
        if (step === "read") reads.push(reader.read());
        else if (step === "turn") await settle();
        else {
          expected.push("x".repeat(Number(step)));
          hub.publish({ data: expected[expected.length - 1] ?? "" });
        }
      }
      const stopped = hub.shutdown();
      const chunks: Uint8Array[] = [];
      for (;;) {
        const { done, value } = await (reads.shift() ?? reader.read());
        if (done) break;
        assert(value.length > 0 && value.length <= 65_536);
        chunks.push(value);
      }
      await stopped;
      const events = eventsOf(parseAll(chunks));
      const data = events.filter(([name]) => name === "").map(([, text]) => text);
      assertEquals(data, expected);
      assertEquals(events[events.length - 1]?.[0], "sse:reset");
    }),
    { numRuns: 40 },
  );
});

test("a body that is cancelled before it was read, or twice, or after its end, does no harm", async () => {
  const { hub } = bench();
  const first = hub.serve(ask());
  await first.body?.cancel();
  const second = readerOf(hub.serve(ask()));
  await second.read();
  await second.cancel();
  await second.cancel();
  const third = readerOf(hub.serve(ask()));
  await third.read();
  const stopped = hub.shutdown();
  await third.read();
  await stopped;
  await third.cancel();
  hub.publish({ data: "after" });
  await settle();
  assertEquals(hub.clientCount, 0);
});

test("events while a peer is being cancelled never throw: a tick every turn, forty peers", async () => {
  const { hub } = bench({ replay: RING });
  const readers = Array.from({ length: 40 }, () => readerOf(hub.serve(ask())));
  const pending = readers.map((reader) => reader.read());
  for (const [i, reader] of readers.entries()) {
    hub.publish({ data: String(i) });
    const cancelled = reader.cancel(i % 2 === 0 ? new Error("gone") : undefined);
    hub.publish({ data: String(i) });
    await cancelled;
  }
  await Promise.all(pending);
  await settle();
  assertEquals([hub.clientCount, hub.metrics().departures.closed], [0, 40]);
});

/** Deno and Bun log a stream's error with its stack; see `ENDS_QUIETLY`. */
const ENDS_QUIETLY = "Deno" in globalThis || "Bun" in globalThis;

async function assertDropped(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  if (ENDS_QUIETLY) assertEquals((await reader.read()).done, true);
  else await assertRejects(() => reader.read());
}

test("a dropped stream fails for its reader, or ends where the host would log the failure", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000 });
  const reader = readerOf(hub.serve(ask()));
  await reader.read();
  hub.publish({ data: "x" });
  await settle();
  clock.advance(5000);
  assertEquals(hub.metrics().departures.dead, 1);
  await assertDropped(reader);
});

test("on a host that can drop a socket, a stalled peer's is dropped, and is not counted as abandoned", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000 });
  const seconds: number[] = [];
  const host = { timeout: (_: Request, value: number) => void seconds.push(value) };
  const reader = readerOf(hub.handler(ask(), host));
  const plain = readerOf(hub.handler(ask()));
  await Promise.all([reader.read(), plain.read()]);
  hub.publish({ data: "x" });
  await settle();
  clock.advance(5000);
  assertEquals([seconds, hub.metrics().abandoned], [[0, 1], 1]);
  await Promise.all([assertDropped(reader), assertDropped(plain)]);
});

test("where the host says when it has sent everything, shutdown waits for that", async () => {
  const { hub } = bench();
  let sent = (): void => {};
  const completed = new Promise<void>((resolve) => sent = resolve);
  const reader = readerOf(hub.handler(ask(), { completed }));
  await reader.read();
  let stopped = false;
  const stopping = hub.shutdown().then(() => stopped = true);
  await reader.read();
  assertEquals((await reader.read()).done, true);
  await settle();
  assertEquals(stopped, false);
  sent();
  await stopping;
});

test("a connection is found by its body, through a response that was wrapped again", () => {
  const { hub } = bench();
  const response = hub.serve(ask());
  const wrapped = new Response(response.body, { headers: { "X-Added": "1" } });
  assert(peerOf(wrapped.body) !== undefined && peerOf(wrapped.body) === peerOf(response.body));
  assertEquals(peerOf(new Response("other").body), undefined);
  assertEquals(peerOf(null), undefined);
});
