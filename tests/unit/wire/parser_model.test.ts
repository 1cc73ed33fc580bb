import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { cutAt, scaled, someCuts, utf8 } from "../../model/chunks.ts";
import { readNaively } from "../../model/naive_parser.ts";
import { asEventSource, parseAll } from "../../model/reports.ts";
import { test } from "../../support/test.ts";

const token = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("\r", "\n", "\r\n", "\n\n", "\r\r", "\r\n\r\n") },
  { weight: 6, arbitrary: fc.constantFrom("data", "event", "id", "retry", "data: ", "id: ") },
  {
    weight: 4,
    arbitrary: fc.constantFrom(":", " ", ": ", "::", "\t", "\0", "\uFEFF", "1500", "7"),
  },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 5 }) },
);
const bytesToken = fc.oneof(
  { weight: 10, arbitrary: token.map((text) => [...utf8(text)]) },
  { weight: 1, arbitrary: fc.constantFrom([0xff], [0xe2, 0x82], [0xf0, 0x9f], [0xc3], [0x80]) },
);
const noise: fc.Arbitrary<Uint8Array> = fc.array(bytesToken, { maxLength: 60 })
  .map((tokens) => Uint8Array.from(tokens.flat()));

const line = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }).map((text) => `data: ${text}`),
  fc.constantFrom(
    "data",
    "data:",
    "event: a",
    "event: b",
    "event",
    "id: 1",
    "id: 2",
    "id",
    ": note",
  ),
  fc.constantFrom("retry: 5", "retry: x", "id: \0", "", "", ""),
);
const stream: fc.Arbitrary<Uint8Array> = fc.array(
  fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")),
  { maxLength: 40 },
).map((lines) => utf8(lines.map(([text, end]) => text + end).join("")));

test("whatever the bytes and however they are split, the parser reads what the standard says", () => {
  fc.assert(
    fc.property(fc.oneof(noise, stream), someCuts, (bytes, cuts) => {
      const chunks = cutAt(bytes, scaled(cuts, bytes.length));
      assertEquals(asEventSource(parseAll(chunks)), readNaively(bytes));
    }),
    { numRuns: 2000 },
  );
});

test("byte by byte is no different", () => {
  fc.assert(
    fc.property(fc.oneof(noise, stream), (bytes) => {
      const chunks = cutAt(bytes, Array.from(bytes, (_, i) => i));
      assertEquals(asEventSource(parseAll(chunks)), readNaively(bytes));
    }),
    { numRuns: 300 },
  );
});

test("the order of all reports does not depend on the split", () => {
  fc.assert(
    fc.property(fc.oneof(noise, stream), someCuts, (bytes, cuts) => {
      const chunks = cutAt(bytes, scaled(cuts, bytes.length));
      assertEquals(parseAll(chunks), parseAll([bytes]));
    }),
    { numRuns: 500 },
  );
});
