import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { FrameReader, readFrames } from "../../../src/testing/mod.ts";
import { encodeComment, encodeFrame, encodeIdOnly, encodeRetry } from "../../../src/wire/frame.ts";
import { joinBytes } from "../../../src/wire/frame.ts";
import { test } from "../../support/test.ts";

/** A stream which a test feeds. */
function channel(): {
  body: ReadableStream<Uint8Array>;
  controller: ReadableStreamDefaultController<Uint8Array>;
  cancelled: () => boolean;
} {
  let held: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      held = controller;
    },
    cancel() {
      cancelled = true;
    },
  });
  if (held === undefined) throw new Error("start runs at once");
  return { body, controller: held, cancelled: () => cancelled };
}

const tick = (n: number): Uint8Array => encodeFrame(`00c0ffee00c0ffee:${n}`, "tick", String(n));

test("a retry block is a frame, comments and blocks that hold an id alone are skipped", async () => {
  const { body, controller } = channel();
  controller.enqueue(joinBytes([
    encodeRetry(1500),
    encodeComment("keepalive"),
    encodeIdOnly("00c0ffee00c0ffee:1"),
    tick(2),
    encodeFrame(null, "", "no name\nno id"),
  ]));
  assertEquals(await readFrames(body, 3), [
    { event: "retry", data: "1500", id: "" },
    { event: "tick", data: "2", id: "00c0ffee00c0ffee:2" },
    { event: "", data: "no name\nno id", id: "" },
  ]);
});

test("every way to cut a stream into chunks and batches gives the same frames", async () => {
  const bytes = joinBytes([1, 2, 3, 4, 5].map(tick));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 6 }),
      fc.boolean(),
      async (cuts, batches, inOneReader) => {
        const { body, controller } = channel();
        const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        edges.slice(1).forEach((end, i) => controller.enqueue(bytes.slice(edges[i], end)));
        const reader = new FrameReader(body);
        const read = (n: number) => inOneReader ? reader.read(n) : readFrames(body, n);
        const seen: string[] = [];
        for (const n of batches) {
          const wanted = Math.min(n, 5 - seen.length);
          seen.push(...(await read(wanted)).map((frame) => frame.data));
        }
        seen.push(...(await read(5 - seen.length)).map((frame) => frame.data));
        assertEquals(seen, ["1", "2", "3", "4", "5"]);
      },
    ),
    { numRuns: 200 },
  );
});

test("a stream that ends too early says how many frames had arrived, and keeps them", async () => {
  const { body, controller } = channel();
  controller.enqueue(joinBytes([tick(1), tick(2), new TextEncoder().encode("data: half")]));
  controller.close();
  const reader = new FrameReader(body);
  await assertRejects(
    () => reader.read(3),
    Error,
    "Cannot read 3 frames: the stream ended, 2 had arrived",
  );
  assertEquals((await reader.read(2)).length, 2);
});

test("a stream that fails says how many frames had arrived", async () => {
  const { body, controller } = channel();
  controller.enqueue(tick(1));
  const reader = new FrameReader(body);
  assertEquals((await reader.read(1)).length, 1);
  controller.error(new Error("cut"));
  await assertRejects(() => reader.read(1), Error, "Cannot read 1 frames: cut, 0 had arrived");
});

test("a silent stream is given up at the timeout, and nothing is lost by that", async () => {
  const { body, controller } = channel();
  controller.enqueue(tick(1));
  const reader = new FrameReader(body);
  await assertRejects(
    () => reader.read(2, { timeoutMs: 20 }),
    Error,
    "no more came within 20 ms, 1 had arrived",
  );
  controller.enqueue(tick(2));
  assertEquals((await reader.read(2)).map((frame) => frame.data), ["1", "2"]);
});

test("readToEnd gives what is left, and fails when the stream goes on", async () => {
  const { body, controller } = channel();
  controller.enqueue(joinBytes([tick(1), tick(2)]));
  const reader = new FrameReader(body);
  await reader.read(1);
  await assertRejects(() => reader.readToEnd({ timeoutMs: 20 }), Error, "1 had arrived");
  controller.close();
  assertEquals((await reader.readToEnd()).map((frame) => frame.data), ["2"]);
});

test("cancel reaches the source, also while a timed-out read waits, and twice does no harm", async () => {
  const { body, cancelled } = channel();
  const reader = new FrameReader(body);
  await assertRejects(() => reader.read(1, { timeoutMs: 1 }));
  await reader.cancel();
  await reader.cancel();
  assertEquals(cancelled(), true);
});

test("between two reads the body can be cancelled directly", async () => {
  const { body, controller, cancelled } = channel();
  controller.enqueue(tick(1));
  await readFrames(body, 1);
  await body.cancel();
  assertEquals(cancelled(), true);
});

test("a response without a body is refused", async () => {
  const { body } = new Response(null, { status: 204 });
  await assertRejects(async () => await readFrames(body, 1), TypeError, "has no body");
});
