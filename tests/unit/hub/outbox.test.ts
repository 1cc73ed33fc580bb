import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { joinBytes } from "../../../src/wire/frame.ts";
import { Outbox } from "../../../src/hub/outbox.ts";
import { test } from "../../support/test.ts";

const CHUNK = 65_536;

/** Takes everything, chunk by chunk, as a connection does. */
function drain(outbox: Outbox): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (;;) {
    let chunk = outbox.next();
    if (chunk === null) {
      const parts: Uint8Array[] = [];
      outbox.moveTo(parts, CHUNK);
      if (parts.length === 0) return chunks;
      chunk = outbox.cut(joinBytes(parts));
    }
    chunks.push(chunk);
    outbox.taken();
  }
}

test("what was pushed leaves in order, joined into chunks of at most 64 KiB", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 150_000 }), { maxLength: 12 }), (sizes) => {
      const outbox = new Outbox();
      const settled: number[] = [];
      for (const [i, size] of sizes.entries()) {
        outbox.push(new Uint8Array(size).fill(i + 1), () => settled.push(i));
      }
      const chunks = drain(outbox);
      assert(chunks.every((chunk) => chunk.length <= CHUNK && chunk.length > 0));
      const sent = chunks.flatMap((chunk) => [...chunk]);
      assertEquals(sent, sizes.flatMap((size, i) => Array<number>(size).fill(i + 1)));
      assertEquals(settled, sizes.map((_, i) => i));
      assertEquals([outbox.empty, outbox.midFrame, outbox.hasPromise], [true, false, false]);
    }),
    { numRuns: 30 },
  );
});

test("a sender learns that its frame was taken only with its last byte", () => {
  const outbox = new Outbox();
  const settled: (Error | undefined)[] = [];
  outbox.push(new Uint8Array(CHUNK + 1), (error) => settled.push(error));
  const parts: Uint8Array[] = [];
  outbox.moveTo(parts, CHUNK);
  outbox.cut(joinBytes(parts));
  outbox.taken();
  assertEquals([settled.length, outbox.midFrame, outbox.hasPromise], [0, true, true]);
  assertEquals(outbox.next()?.length, 1);
  outbox.taken();
  assertEquals([settled, outbox.midFrame, outbox.hasPromise], [[undefined], false, false]);
});

test("clearing tells every sender, and keeps only the rest of a frame that has been begun", () => {
  const outbox = new Outbox();
  const settled: (Error | undefined)[] = [];
  const tell = (error?: Error): void => void settled.push(error);
  outbox.push(new Uint8Array(CHUNK + 5), tell);
  outbox.push(new Uint8Array(10), tell);
  const parts: Uint8Array[] = [];
  outbox.moveTo(parts, CHUNK);
  outbox.cut(joinBytes(parts));
  outbox.taken();
  const gone = new Error("gone");
  outbox.clear(() => gone);
  assertEquals(settled, [gone, gone]);
  assertEquals(outbox.next()?.length, 5);
  outbox.taken();
  assertEquals([settled.length, outbox.empty], [2, true]);
});
