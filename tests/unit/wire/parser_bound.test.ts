import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ProtocolError } from "../../../src/errors.ts";
import { Parser } from "../../../src/wire/parser.ts";
import { MAX_BUFFER_BYTES } from "../../../src/wire/timing.ts";
import { cutAt, piecesOf, scaled, someCuts, utf8 } from "../../model/chunks.ts";
import { eventsOf, parseAll, type Report } from "../../model/reports.ts";
import { countWork } from "../../model/work.ts";
import { test } from "../../support/test.ts";

const MIB = 1_048_576;
const SEGMENT = 1460;

test("an 8 MiB line in pieces of 1460 bytes is refused at the cap", () => {
  let read = 0;
  const parser = new Parser({});
  const line = utf8("data: " + "x".repeat(8 * MIB));
  assertThrows(
    () => {
      for (const piece of piecesOf(line, SEGMENT)) {
        parser.feed(piece);
        read += piece.length;
      }
    },
    ProtocolError,
    "1048576",
  );
  assert(read <= MAX_BUFFER_BYTES && read > MAX_BUFFER_BYTES - SEGMENT, `read ${read}`);
});

test("the work on a long line in small pieces grows with its length, not with its square", () => {
  const work = (length: number): number =>
    countWork(() => {
      const bytes = utf8("data: " + "x".repeat(length) + "\n\n");
      const reports = parseAll(piecesOf(bytes, SEGMENT), { maxBufferBytes: 16 * MIB });
      assertEquals(eventsOf(reports)[0]?.[1].length, length);
    });
  for (const length of [MIB, 2 * MIB, 8 * MIB]) {
    const characters = work(length);
    assert(characters >= length, "the count sees the work at all");
    assert(characters <= 12 * length, `${characters} characters of work for ${length}`);
  }
});

test("the work on many short lines in one chunk is linear, whichever terminator they have", () => {
  for (const end of ["\n", "\r", "\r\n"]) {
    for (const lines of [10_000, 40_000]) {
      const bytes = utf8(`data: x${end}${end}`.repeat(lines));
      const work = countWork(() => {
        assertEquals(eventsOf(parseAll([bytes])).length, lines);
      });
      assert(work <= 20 * bytes.length, `${work} characters of work for ${bytes.length}`);
    }
  }
});

test("a rare terminator far away is not searched for again at every line", () => {
  for (const [common, rare] of [["\n", "\r"], ["\r", "\n"]]) {
    const bytes = utf8(`data: x${common}${common}`.repeat(20_000) + `: far away${rare}`);
    const work = countWork(() => {
      assertEquals(eventsOf(parseAll([bytes])).length, 20_000);
    });
    assert(work <= 20 * bytes.length, `${work} characters of work for ${bytes.length}`);
  }
});

test("the work on many empty chunks and one-byte chunks is linear", () => {
  const bytes = utf8("data: " + "x".repeat(20_000) + "\n\n");
  const work = countWork(() => {
    assertEquals(eventsOf(parseAll(piecesOf(bytes, 1))).length, 1);
  });
  assert(work <= 20 * bytes.length, `${work} characters of work for ${bytes.length}`);
});

test("the bound counts lines too: a million empty ones are refused", () => {
  for (const line of ["data\n", "data:\n", "data\r\n"]) {
    const bytes = utf8(line.repeat(MAX_BUFFER_BYTES + 1));
    assertThrows(() => parseAll(piecesOf(bytes, 65_536)), ProtocolError, "1048576");
  }
  // 63 ended lines count one each, and the last one all its characters until it ends.
  for (const [line, last] of [["data\n", 4], ["data:\n", 5], ["data: \r\n", 6]] as const) {
    const most = utf8(line.repeat(64) + "\n");
    assertEquals(eventsOf(parseAll([most], { maxBufferBytes: 63 + last })).length, 1);
    assertThrows(() => parseAll([most], { maxBufferBytes: 62 + last }), ProtocolError);
  }
});

test("as many lines as the bound holds are one event, which can be read", () => {
  const lines = MAX_BUFFER_BYTES - 3;
  const bytes = utf8("data\n".repeat(lines) + "\n");
  const [event] = eventsOf(parseAll(piecesOf(bytes, 65_536)));
  assert(event?.[1] === "\n".repeat(lines - 1), "as many line ends as there are lines but one");
});

test("the bound is that of one event: a long stream of small ones passes", () => {
  for (const event of ["id: 1\nevent: tick\ndata: 12345\n\n: note\n\n", "data: 1\ndata: 2\n\n"]) {
    const bytes = utf8(event.repeat(500));
    for (const size of [7, bytes.length]) {
      assertEquals(eventsOf(parseAll(piecesOf(bytes, size), { maxBufferBytes: 40 })).length, 500);
    }
  }
});

test("comments do not add up: a stream of keepalive comments within one event passes", () => {
  const bytes = utf8("data: a\n" + ": keepalive\n".repeat(1000) + "\n");
  assertEquals(eventsOf(parseAll(piecesOf(bytes, 5), { maxBufferBytes: 40 })), [["", "a", null]]);
});

test("an endless comment, name, id or unknown field is refused like endless data", () => {
  for (const field of [":", "event: ", "id: ", "retry: ", "other: ", "data", ""]) {
    const bytes = utf8(field + "x".repeat(2000));
    assertThrows(() => parseAll(piecesOf(bytes, 10), { maxBufferBytes: 1000 }), ProtocolError);
  }
});

test("what came before a refusal was reported", () => {
  const reports: Report[] = [];
  const bytes = utf8("data: a\n\nid: 2\n\n: note\ndata: " + "x".repeat(200));
  assertThrows(() => parseAll(piecesOf(bytes, 3), { maxBufferBytes: 100 }, reports), ProtocolError);
  assertEquals(reports.map((report) => report.kind), ["event", "id", "comment"]);
});

test("whether a stream is refused, and after what, does not depend on how it is split", () => {
  const line = fc.oneof(
    fc.nat({ max: 30 }).map((length) => `data: ${"x".repeat(length)}`),
    fc.nat({ max: 30 }).map((length) => `: ${"c".repeat(length)}`),
    fc.nat({ max: 30 }).map((length) => `event: ${"n".repeat(length)}`),
    fc.constantFrom("data", "id: 1", "", ""),
  );
  const streams = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")), { maxLength: 12 })
    .map((lines) => utf8(lines.map(([text, end]) => text + end).join("")));
  const outcome = (chunks: Iterable<Uint8Array>): [Report[], boolean] => {
    const reports: Report[] = [];
    try {
      parseAll(chunks, { maxBufferBytes: 24 }, reports);
      return [reports, true];
    } catch (error) {
      assert(error instanceof ProtocolError);
      return [reports, false];
    }
  };
  fc.assert(
    fc.property(streams, someCuts, (bytes, cuts) => {
      assertEquals(outcome(cutAt(bytes, scaled(cuts, bytes.length))), outcome([bytes]));
    }),
    { numRuns: 500 },
  );
});
