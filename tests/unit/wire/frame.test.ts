import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { FrameTooLargeError, InvalidUtf8Error } from "../../../src/errors.ts";
import {
  checkEventName,
  encodeComment,
  encodeFrame,
  encodeIdOnly,
  encodeRetry,
  joinBytes,
} from "../../../src/wire/frame.ts";
import { KEEPALIVE_EVENT, MAX_FRAME_BYTES } from "../../../src/wire/timing.ts";
import { cutAt, everyCut, piecesOf, scaled, someCuts, textOf, utf8 } from "../../model/chunks.ts";
import { eventsOf, parseAll } from "../../model/reports.ts";
import { test } from "../../support/test.ts";

const CURSOR = "00c0ffee00c0ffee:42";

const anyText = fc.string({ unit: "binary", maxLength: 60 });
/** Text with many line ends, for they are what the framing is about. */
const lineyText = fc.array(
  fc.oneof(fc.constantFrom("\r", "\n", "\r\n", "\n\r", "", " ", ":", "data: x"), anyText),
  { maxLength: 12 },
).map((parts) => parts.join(""));
const names = fc.string({ unit: "binary", maxLength: 20 })
  .map((name) => name.replace(/[\r\n\0]/g, ""))
  .filter((name) => !name.startsWith("sse:"));
const ids = fc.option(fc.constantFrom(CURSOR, "00c0ffee00c0ffee:9007199254740991"), { nil: null });

/** What a reader gets of data: every line end is LF. */
function normalized(data: string): string {
  return data.split("\r\n").join("\n").split("\r").join("\n");
}

test("a frame is its id, its name, a data line for each line, and a blank line", () => {
  const frame = (id: string | null, name: string, data: string): string =>
    textOf(encodeFrame(id, name, data));
  assertEquals(frame(CURSOR, "tick", "1"), `id: ${CURSOR}\nevent: tick\ndata: 1\n\n`);
  assertEquals(frame(CURSOR, "", "1"), `id: ${CURSOR}\ndata: 1\n\n`);
  assertEquals(frame(null, "tick", "1"), "event: tick\ndata: 1\n\n");
  assertEquals(frame(null, "", ""), "data: \n\n");
  assertEquals(frame(null, "", "a\nb"), "data: a\ndata: b\n\n");
  assertEquals(frame(null, "", "a\n"), "data: a\ndata: \n\n");
  assertEquals(frame(null, "", "\n"), "data: \ndata: \n\n");
  assertEquals(frame(null, "", " a"), "data:  a\n\n");
});

test("data is split on CRLF, CR and LF, each one line end", () => {
  const lines = (data: string): string => textOf(encodeFrame(null, "", data));
  const two = "data: a\ndata: b\n\n";
  for (const end of ["\r\n", "\r", "\n"]) assertEquals(lines(`a${end}b`), two);
  assertEquals(lines("a\n\rb"), "data: a\ndata: \ndata: b\n\n");
  assertEquals(lines("a\r\rb"), "data: a\ndata: \ndata: b\n\n");
  assertEquals(lines("a\r\r\nb"), "data: a\ndata: \ndata: b\n\n");
  assertEquals(lines("\r\n\r\n"), "data: \ndata: \ndata: \n\n");
  // What Unicode, but not the event stream, calls a line end.
  assertEquals(lines("a\u2028b\u2029c\u0085d\ve"), "data: a\u2028b\u2029c\u0085d\ve\n\n");
});

test("whatever the id, name and data, a frame is read back as it was, at any split", () => {
  fc.assert(
    fc.property(ids, names, lineyText, someCuts, (id, name, data, cuts) => {
      const bytes = encodeFrame(id, name, data);
      const chunks = cutAt(bytes, scaled(cuts, bytes.length));
      assertEquals(parseAll(chunks), [{ kind: "event", name, data: normalized(data), id }]);
    }),
    { numRuns: 500 },
  );
});

test("short frames are read back at every split point and byte by byte", () => {
  for (const data of ["", "a", "é\r\n😀", "\r", " \n\ttext", "\uFEFFmark", "a\rb\nc\r\nd"]) {
    for (const name of ["", "tick", "größe 😀"]) {
      const bytes = encodeFrame(CURSOR, name, data);
      const whole = [{ kind: "event" as const, name, data: normalized(data), id: CURSOR }];
      for (const chunks of everyCut(bytes)) assertEquals(parseAll(chunks), whole);
    }
  }
});

test("frames one after the other are read back in order, at any split", () => {
  const event = fc.tuple(ids, names, lineyText);
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), someCuts, (events, cuts) => {
      const bytes = joinBytes(events.map(([id, name, data]) => encodeFrame(id, name, data)));
      const expected = events.map(([id, name, data]) => [name, normalized(data), id]);
      assertEquals<unknown>(
        eventsOf(parseAll(cutAt(bytes, scaled(cuts, bytes.length)))),
        expected,
      );
    }),
    { numRuns: 200 },
  );
});

test("no data forges a field, a second event or a comment", () => {
  const attempts = [
    "x\nid: 1",
    "x\n\ndata: second",
    "x\r: comment",
    "x\revent: sse:reset",
    "x\n\n\n",
  ];
  for (const data of attempts) {
    const reports = parseAll([encodeFrame(CURSOR, "tick", data)]);
    assertEquals(reports, [{ kind: "event", name: "tick", data: normalized(data), id: CURSOR }]);
  }
});

test("bytes and the string they stand for make the same frame", () => {
  fc.assert(fc.property(names, lineyText, (name, data) => {
    assertEquals(encodeFrame(CURSOR, name, utf8(data)), encodeFrame(CURSOR, name, data));
  }));
});

test("a byte order mark at the start of the data's bytes is data", () => {
  const frame = encodeFrame(null, "", new Uint8Array([0xef, 0xbb, 0xbf, 0x61]));
  assertEquals(eventsOf(parseAll([frame])), [["", "\uFEFFa", null]]);
});

test("the caller may use its buffer again: the frame keeps what was in it", () => {
  const buffer = utf8("first");
  const frame = encodeFrame(null, "", buffer);
  buffer.fill(0x78);
  assertEquals(textOf(frame), "data: first\n\n");
  const backing = utf8("[inner]");
  assertEquals(textOf(encodeFrame(null, "", backing.subarray(1, 6))), "data: inner\n\n");
});

test("a frame of exactly the cap is sent, one byte more is refused with its size and the cap", () => {
  assertEquals(MAX_FRAME_BYTES, 1_048_576);
  const overhead = encodeFrame(CURSOR, "tick", "").length;
  const fits = encodeFrame(CURSOR, "tick", "x".repeat(MAX_FRAME_BYTES - overhead));
  assertEquals(fits.length, MAX_FRAME_BYTES);
  const error = assertThrows(
    () => encodeFrame(CURSOR, "tick", "x".repeat(MAX_FRAME_BYTES - overhead + 1)),
    FrameTooLargeError,
  );
  assertEquals([error.size, error.cap], [MAX_FRAME_BYTES + 1, MAX_FRAME_BYTES]);
});

test("the cap counts bytes of UTF-8 and every line's field, not characters", () => {
  const euros = assertThrows(() => encodeFrame(null, "", "€".repeat(349_523)), FrameTooLargeError);
  assertEquals(euros.size, 6 + 3 * 349_523 + 2);
  assertEquals(encodeFrame(null, "", "€".repeat(349_522)).length, 6 + 3 * 349_522 + 2);

  // 149 796 line ends make 149 797 lines of seven bytes: 1 048 579, and the blank line.
  const lines = assertThrows(() => encodeFrame(null, "", "\n".repeat(149_796)), FrameTooLargeError);
  assertEquals(lines.size, 149_797 * 7 + 1);
  assertEquals(encodeFrame(null, "", "\n".repeat(149_795)).length, 149_796 * 7 + 1);
});

test("the size in a refusal is that of the frame, at any distance from the cap", () => {
  fc.assert(
    fc.property(fc.nat({ max: 3000 }), fc.constantFrom("x", "é", "\n", "😀"), (count, unit) => {
      const padding = "y".repeat(MAX_FRAME_BYTES - 1000);
      const data = padding + unit.repeat(count);
      const size = utf8(`data: ${data.split("\n").join("\ndata: ")}\n\n`).length;
      if (size <= MAX_FRAME_BYTES) {
        assertEquals(encodeFrame(null, "", data).length, size);
      } else {
        const error = assertThrows(() => encodeFrame(null, "", data), FrameTooLargeError);
        assertEquals(error.size, size);
      }
    }),
    { numRuns: 20 },
  );
});

test("a frame of exactly the cap is read back, in pieces of any size", () => {
  const overhead = encodeFrame(CURSOR, "tick", "").length;
  const one = encodeFrame(CURSOR, "tick", "x".repeat(MAX_FRAME_BYTES - overhead));
  const many = encodeFrame(null, "", "\n".repeat(149_795));
  for (const bytes of [one, many]) {
    for (const size of [1460, 65_536, MAX_FRAME_BYTES]) {
      assertEquals(eventsOf(parseAll(piecesOf(bytes, size))).length, 1);
    }
  }
});

test("data that is not Unicode is refused before its size is looked at", () => {
  const long = "x".repeat(2 * MAX_FRAME_BYTES);
  const error = assertThrows(() => encodeFrame(null, "", long + "\ud800"), InvalidUtf8Error);
  assertEquals(error.index, long.length);
});

test("a name of the library's, with CR, LF or NUL, or the keepalive's is a TypeError", () => {
  const refused = ["sse:", "sse:hello", "sse:x", "a\rb", "a\nb", "a\0b", "\n", "ping", "\ud800"];
  for (const name of refused) {
    assertThrows(() => checkEventName(name, "ping"), TypeError, "Cannot name the event");
  }
  for (const name of ["", "tick", "SSE:hello", "ssehello", " sse:x", "message", "größe 😀"]) {
    checkEventName(name, "ping");
  }
  assertThrows(() => checkEventName(KEEPALIVE_EVENT, KEEPALIVE_EVENT), TypeError);
  // The comment form has no name that an event could take.
  checkEventName("", "");
});

test("every name that is not refused is read back as it was", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 12 }), (name) => {
    try {
      checkEventName(name, "ping");
    } catch (error) {
      assert(error instanceof TypeError);
      return;
    }
    assertEquals(eventsOf(parseAll([encodeFrame(null, name, "x")])), [[name, "x", null]]);
  }));
});

test("a comment has one line for each line of its text, and dispatches nothing", () => {
  assertEquals(textOf(encodeComment("dropped 3")), ": dropped 3\n\n");
  assertEquals(textOf(encodeComment("a\r\nb\rc\nd")), ": a\n: b\n: c\n: d\n\n");
  assertEquals(textOf(encodeComment("")), ": \n\n");
  fc.assert(fc.property(lineyText, (text) => {
    const expected = normalized(text).split("\n").map((line) => ({ kind: "comment", text: line }));
    assertEquals<unknown>(parseAll([encodeComment(text)]), expected);
  }));
});

test("an id alone and a retry are one line and a blank one", () => {
  assertEquals(textOf(encodeIdOnly(CURSOR)), `id: ${CURSOR}\n\n`);
  assertEquals(parseAll([encodeIdOnly(CURSOR)]), [{ kind: "id", id: CURSOR }]);
  assertEquals(textOf(encodeRetry(1500)), "retry: 1500\n\n");
  assertEquals(parseAll([encodeRetry(1500)]), [{ kind: "retry", ms: 1500 }]);
});

test("joining keeps every byte in order, and does not copy a single chunk", () => {
  const chunk = utf8("one");
  assert(joinBytes([chunk]) === chunk);
  assertEquals(joinBytes([]), new Uint8Array(0));
  fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 10 }), (chunks) => {
    assertEquals([...joinBytes(chunks)], chunks.flatMap((bytes) => [...bytes]));
  }));
});
