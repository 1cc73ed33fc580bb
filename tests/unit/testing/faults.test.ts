import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createHub } from "../../../src/hub/hub.ts";
import type { PresenceEvent } from "../../../src/hub/presence.ts";
import { peerOf } from "../../../src/hub/sink.ts";
import type { Hub } from "../../../src/hub/types.ts";
import { Faults } from "../../../src/testing/fixture/faults.ts";
import { FrameReader, RecordingSink } from "../../../src/testing/mod.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

interface Scene {
  hub: Hub;
  faults: Faults;
  causes: string[];
  open(): Response;
}

/** A hub with faults between; 16 events may wait for a client. */
async function scene(work: (scene: Scene) => void | Promise<void>): Promise<void> {
  const causes: string[] = [];
  const hub = createHub({
    clientBuffer: 16,
    onPresence: (event: PresenceEvent) => void (event.cause && causes.push(event.cause)),
  });
  const faults = new Faults();
  const open = (): Response => {
    const request = new Request("http://localhost/events");
    return faults.wrap(hub.serve(request), request, undefined);
  };
  try {
    await work({ hub, faults, causes, open });
  } finally {
    hub.disconnect({ where: () => true });
    await hub.shutdown();
  }
}

const data = (sink: RecordingSink): string[] => sink.frames.slice(2).map((frame) => frame.data);
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("without a fault a stream passes as it is, and its body is still found by an adapter", async () => {
  await scene(async ({ hub, open }) => {
    const response = open();
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("content-type"), "text/event-stream");
    assertEquals(peerOf(response.body) === undefined, false);
    const sink = RecordingSink.for(response);
    hub.publish({ data: "1" });
    await turn();
    assertEquals(data(sink), ["1"]);
    assertEquals(sink.overruns, 0);
  });
});

test("a refusal is handed on as it is", async () => {
  await scene(({ faults, hub }) => {
    const request = new Request("http://localhost/events", { method: "POST" });
    const refused = hub.serve(request);
    assertEquals(faults.wrap(refused, request, undefined), refused);
  });
});

test("a stall lets exactly the first frames pass, whatever the chunks, and keeps the socket", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 12 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 5 }),
      fc.boolean(),
      async (pass, bursts, slow) => {
        await scene(async ({ hub, faults, causes, open }) => {
          faults.passFrames = pass;
          const sink = RecordingSink.for(open());
          let n = 0;
          for (const burst of bursts) {
            if (slow) sink.acceptOne();
            for (let i = 0; i < burst; i++) hub.publish({ data: String(++n) });
            await turn();
          }
          sink.accept();
          const all = ["retry", "hello", ...Array.from({ length: n }, (_, i) => String(i + 1))];
          assertEquals(sink.frames.length, Math.min(pass, all.length));
          assertEquals(data(sink), all.slice(0, pass).slice(2));
          assertEquals([sink.ended, sink.destroyed, causes], [false, false, []]);
          assertEquals(hub.queuedFrames, 0);
        });
      },
    ),
    { numRuns: 60 },
  );
});

test("a stall holds for streams that are open already, and what it threw away stays lost", async () => {
  await scene(async ({ hub, faults, open }) => {
    const sink = RecordingSink.for(open());
    hub.publish({ data: "before" });
    await turn();
    faults.passFrames = 0;
    hub.publish({ data: "lost" });
    await turn();
    faults.passFrames = Infinity;
    hub.publish({ data: "after" });
    await turn();
    assertEquals(data(sink), ["before", "after"]);
  });
});

test("a stalled body is pulled on after the stall", async () => {
  await scene(async ({ hub, faults, open }) => {
    faults.passFrames = 2;
    const reader = new FrameReader(open().body);
    await reader.read(2);
    const next = reader.read(1);
    hub.publish({ data: "lost" });
    await turn();
    faults.passFrames = Infinity;
    hub.publish({ data: "after" });
    assertEquals((await next)[0]?.data, "after");
    await reader.cancel();
  });
});

test("a stream is cut after exactly so many frames, in the midst of a chunk too", async () => {
  await scene(async ({ hub, faults, causes, open }) => {
    faults.cut(4);
    const sink = RecordingSink.for(open());
    for (const text of ["1", "2", "3", "4"]) hub.publish({ data: text });
    await eventually(() => sink.destroyed, { what: "the cut" });
    assertEquals(data(sink), ["1", "2"]);
    assertEquals(sink.ended, false);
    await eventually(() => causes.length > 0, { what: "the departure" });
    assertEquals(causes, ["closed"]);
    assertEquals(sink.overruns, 0);
  });
});

test("a cut body ends in an error, after its frames have been read", async () => {
  await scene(async ({ hub, faults, open }) => {
    faults.cut(3);
    const reader = new FrameReader(open().body);
    await reader.read(2);
    hub.publish({ data: "last" });
    hub.publish({ data: "never" });
    assertEquals((await reader.read(1))[0]?.data, "last");
    const failure = await reader.read(1).catch((error: unknown) => String(error));
    assertEquals(typeof failure, "string");
  });
});

test("a stream that has had so many frames already is cut at once", async () => {
  await scene(async ({ faults, open }) => {
    const sink = RecordingSink.for(open());
    faults.cut(2);
    await eventually(() => sink.destroyed, { what: "the cut" });
  });
});

test("a cut that is called off in time does not happen", async () => {
  await scene(async ({ hub, faults, open }) => {
    const sink = RecordingSink.for(open());
    faults.cut(2);
    faults.clear();
    // Another stream, cut later: by then the first one would have been too.
    const others = new Faults();
    const request = new Request("http://localhost/events");
    const other = RecordingSink.for(others.wrap(hub.serve(request), request, undefined));
    others.cut(2);
    await eventually(() => other.destroyed, { what: "the other cut" });
    hub.publish({ data: "1" });
    await turn();
    assertEquals([sink.destroyed, data(sink)], [false, ["1"]]);
  });
});

test("a delayed hello comes late, retry at once, and what was published meanwhile in order", async () => {
  await scene(async ({ hub, faults, open }) => {
    faults.delayHelloMs = 40;
    const opened = performance.now();
    const sink = RecordingSink.for(open());
    assertEquals(sink.text, "retry: 1500\n\n");
    hub.publish({ data: "1" });
    hub.publish({ data: "2" });
    await eventually(() => sink.frames.length === 4, { what: "the hello" });
    assertEquals(performance.now() - opened >= 35, true);
    assertEquals(sink.frames.map((frame) => frame.event), ["retry", "sse:hello", "", ""]);
    assertEquals(data(sink), ["1", "2"]);
    hub.publish({ data: "3" });
    await turn();
    assertEquals(data(sink), ["1", "2", "3"]);
    assertEquals(sink.overruns, 0);
  });
});

test("a delayed body is pulled on after the delay", async () => {
  await scene(async ({ hub, faults, open }) => {
    faults.delayHelloMs = 20;
    const reader = new FrameReader(open().body);
    assertEquals((await reader.read(1))[0]?.event, "retry");
    assertEquals((await reader.read(1))[0]?.event, "sse:hello");
    hub.publish({ data: "1" });
    assertEquals((await reader.read(1))[0]?.data, "1");
    await reader.cancel();
  });
});

test("a delay holds back no more than a bound, and a slow sink is not written to unasked", async () => {
  await scene(async ({ hub, faults, open }) => {
    faults.delayHelloMs = 60;
    const sink = RecordingSink.for(open());
    const big = "x".repeat(300_000);
    for (let i = 0; i < 6; i++) hub.publish({ data: big });
    await turn();
    assertEquals(hub.queuedFrames > 0, true);
    sink.refuse();
    await eventually(() => sink.frames.length > 1, { what: "the hello" });
    await eventually(() => {
      sink.acceptOne();
      return sink.frames.length === 8;
    }, { what: "all frames" });
    assertEquals(sink.overruns, 0);
  });
});

test("a peer that leaves, or fails, is told to the hub through the fault", async () => {
  await scene(async ({ hub, causes, open }) => {
    RecordingSink.for(open()).leave();
    const failing = RecordingSink.for(open());
    failing.fail();
    hub.publish({ data: "1" });
    await eventually(() => causes.length === 2, { what: "both departures" });
    assertEquals(causes, ["closed", "dead"]);
    assertEquals(hub.clientCount, 0);
  });
});
