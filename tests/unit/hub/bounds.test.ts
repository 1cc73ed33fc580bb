import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../support/test.ts";
import { bench, Client, RING, settle } from "./harness.ts";

/** How long a burst may last before it counts as slowness, in milliseconds, and a tick more. */
const BURST_MS = 250 + 50;

test("after a burst's time no queue holds more frames than its bound, whoever is how slow", async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ publish: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 2, arbitrary: fc.record({ take: fc.nat({ max: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ waitMs: fc.constantFrom(20, 100, BURST_MS) }) },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60, size: "max" }),
      fc.integer({ min: 1, max: 5 }),
      async (script, clientBuffer) => {
        const { hub, clock } = bench({ clientBuffer, keepaliveMs: 1000, replay: RING });
        const clients = Array.from({ length: 4 }, () => new Client(hub));
        for (const { sink } of clients) sink.refuse();
        for (const one of script) {
          if ("publish" in one) {
            for (let i = 0; i < one.publish; i++) hub.publish({ data: "x" });
          } else if ("take" in one) {
            clients[one.take]?.sink.acceptOne();
          } else {
            clock.advance(one.waitMs);
            if (one.waitMs === BURST_MS) {
              assert(hub.queuedFrames <= hub.clientCount * clientBuffer, `${hub.queuedFrames}`);
            }
          }
          await settle();
        }
      },
    ),
    { numRuns: 150 },
  );
});

test("the bytes that wait for a client never pass their bound, in a burst or under lag", async () => {
  const MIB = 1_048_576;
  for (const slow of ["reset", "lag"] as const) {
    const { hub } = bench({ slow, clientBufferBytes: MIB, clientBuffer: 100_000, replay: RING });
    const client = new Client(hub, {}, { lag: true });
    client.sink.refuse();
    let most = 0;
    for (let i = 0; i < 100; i++) {
      hub.publish({ data: "x".repeat(50_000) });
      most = Math.max(most, hub.queuedFrames);
      if (i % 7 === 0) await settle();
    }
    assert(most <= Math.ceil(MIB / 50_000), `${most} frames of 50 kB`);
    assertEquals(hub.clientCount, slow === "lag" ? 1 : 0);
  }
});

test("a client that lags queues nothing while it catches up, however much is published", async () => {
  const { hub, clock } = bench({ slow: "lag", clientBuffer: 3, replay: RING });
  const client = new Client(hub, {}, { lag: true });
  client.sink.refuse();
  for (let i = 0; i < 30; i++) {
    hub.publish({ data: "x" });
    clock.advance(100);
    await settle();
  }
  const queued = hub.queuedFrames;
  for (let i = 0; i < 500; i++) {
    hub.publish({ data: "x" });
    if (i % 50 === 0) clock.advance(10);
    await settle();
  }
  assertEquals(hub.queuedFrames, queued);
  assert(queued <= 3 + BURST_MS / 100, `${queued} queued`);
});

test("what other connections are given costs a connection nothing: no frame waits for it", async () => {
  const { hub } = bench({ replay: RING });
  const quiet = new Client(hub, { topics: ["quiet"] });
  quiet.sink.refuse();
  for (let i = 0; i < 1000; i++) hub.publish({ topic: "loud", data: "x" });
  await settle();
  assertEquals([hub.queuedFrames, quiet.data], [0, []]);
});
