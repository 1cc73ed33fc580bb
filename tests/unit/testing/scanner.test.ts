import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { FrameScanner } from "../../../src/testing/fixture/scanner.ts";
import { parseFrames } from "../../../src/testing/frames.ts";
import {
  encodeComment,
  encodeFrame,
  encodeIdOnly,
  encodeRetry,
  joinBytes,
} from "../../../src/wire/frame.ts";
import { test } from "../../support/test.ts";

/** Any block that a hub writes. Names and data start like fields, to lead a careless scanner astray. */
const text = fc.constantFrom("", "data", "retry: 1", "d", "r\n\nd", "\n", "id: 1", "x\r\ny");
const block = fc.oneof(
  fc.tuple(
    fc.constantFrom(null, "00c0ffee00c0ffee:1"),
    fc.constantFrom("", "data", "retry"),
    text,
  )
    .map(([id, name, data]) => encodeFrame(id, name, data)),
  text.map(encodeComment),
  fc.constant(encodeIdOnly("00c0ffee00c0ffee:2")),
  fc.constant(encodeRetry(1500)),
);

test("it counts what readFrames counts, and finds each frame's end, however the bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(block, { maxLength: 12 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
      (blocks, shares) => {
        const bytes = joinBytes(blocks);
        const scanner = new FrameScanner();
        const cuts = shares.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b);
        const edges = [0, ...cuts, bytes.length];
        const ends = edges.slice(1).flatMap((end, i) => {
          const start = edges[i] ?? 0;
          return scanner.feed(bytes.subarray(start, end)).map((at) => start + at);
        });
        assertEquals(scanner.frames, parseFrames([bytes]).length);
        assertEquals(ends.length, scanner.frames);
        ends.forEach((end, i) => {
          assertEquals(parseFrames([bytes.subarray(0, end)]).length, i + 1);
          // A retry block counts at its blank line here, at its line in the parser.
          const short = parseFrames([bytes.subarray(0, end - 1)]);
          assertEquals(short.length - (short.at(-1)?.event === "retry" ? 1 : 0) <= i, true);
        });
      },
    ),
    { numRuns: 300 },
  );
});
