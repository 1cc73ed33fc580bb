import { assertEquals } from "@std/assert";
import { cutAt, everyCut, utf8 } from "../../model/chunks.ts";
import { eventsOf, parseAll, type Report } from "../../model/reports.ts";
import { test } from "../../support/test.ts";

const parse = (text: string): Report[] => parseAll([utf8(text)]);
const events = (text: string): [string, string, string | null][] => eventsOf(parse(text));

test("an event ends at its blank line, whichever terminator ends its lines", () => {
  for (const end of ["\n", "\r", "\r\n"]) {
    const text = ["id: 7", "event: tick", "data: a", "data: b", "", ""].join(end);
    assertEquals(events(text), [["tick", "a\nb", "7"]]);
  }
});

test("terminators may be mixed, and CR LF is one of them", () => {
  assertEquals(events("data: a\rdata: b\ndata: c\r\n\r"), [["", "a\nb\nc", null]]);
  assertEquals(events("data: a\r\n\ndata: b\n\r\n"), [["", "a", null], ["", "b", null]]);
  // CR, then LF CR LF: a blank line after each of the first two.
  assertEquals(events("data: a\n\rdata: b\r\rdata: c\n\n"), [
    ["", "a", null],
    ["", "b", null],
    ["", "c", null],
  ]);
});

test("every split point of every terminator gives the same reports", () => {
  for (const a of ["\n", "\r", "\r\n"]) {
    for (const b of ["\n", "\r", "\r\n"]) {
      const text = `: note${a}retry: 10${b}id: 1${a}event: é😀${b}data: x${a}${b}data: y${b}${a}`;
      const bytes = utf8(text);
      const whole = parseAll([bytes]);
      for (const chunks of everyCut(bytes)) assertEquals(parseAll(chunks), whole, text);
    }
  }
});

test("a CR at the end of a chunk dispatches at once, and swallows one LF of the next", () => {
  const reports: Report[] = [];
  parseAll([utf8("data: a\r\r")], {}, reports);
  assertEquals(eventsOf(reports), [["", "a", null]]);
  assertEquals(eventsOf(parseAll([utf8("data: a\r"), utf8("\n\r"), utf8("\ndata: b\n\n")])), [
    ["", "a", null],
    ["", "b", null],
  ]);
  // One LF, not two: the second is a blank line.
  assertEquals(eventsOf(parseAll([utf8("data: a\r"), utf8("\n\n")])), [["", "a", null]]);
  assertEquals(eventsOf(parseAll([utf8("data: a\r"), utf8(""), utf8("\n"), utf8("\n")])), [
    ["", "a", null],
  ]);
});

test("one byte order mark is stripped, at the very start, however it is split", () => {
  const marked = Uint8Array.from([0xef, 0xbb, 0xbf, ...utf8("data: a\n\n")]);
  for (const chunks of everyCut(marked)) {
    assertEquals(eventsOf(parseAll(chunks)), [["", "a", null]]);
    // Even after an empty first chunk.
    assertEquals(eventsOf(parseAll([new Uint8Array(0), ...chunks])), [["", "a", null]]);
  }
});

test("a second byte order mark, or one later, is text", () => {
  assertEquals(events("\uFEFF\uFEFFdata: a\n\ndata: b\n\n"), [["", "b", null]]);
  assertEquals(events("data: a\n\n\uFEFFdata: b\n\ndata: c\n\n"), [["", "a", null], [
    "",
    "c",
    null,
  ]]);
  assertEquals(events("data: \uFEFFa\n\n"), [["", "\uFEFFa", null]]);
  for (const chunks of everyCut(utf8("data: a\n\ndata: \uFEFF\n\n"))) {
    assertEquals(eventsOf(parseAll(chunks)), [["", "a", null], ["", "\uFEFF", null]]);
  }
});

test("a character split over chunks is one character", () => {
  for (const chunks of everyCut(utf8("event: é\ndata: €😀\n\n"))) {
    assertEquals(eventsOf(parseAll(chunks)), [["é", "€😀", null]]);
  }
});

test("a character split over chunks is one character, after ASCII and before it", () => {
  const bytes = utf8("data: a\n\ndata: é€😀\n\nid: b\n\n");
  const whole = parseAll([bytes]);
  assertEquals(eventsOf(whole).map(([, data]) => data), ["a", "é€😀"]);
  for (let first = 0; first < bytes.length; first++) {
    for (let second = first; second < bytes.length; second++) {
      assertEquals(parseAll(cutAt(bytes, [first, second])), whole);
    }
  }
});

test("bytes that are not UTF-8 become U+FFFD, and never swallow a line end", () => {
  const broken = Uint8Array.from([...utf8("data: "), 0xff, 0xe2, 0x82, ...utf8("\n\ndata: b\n\n")]);
  for (const chunks of everyCut(broken)) {
    assertEquals(eventsOf(parseAll(chunks)), [["", "\ufffd\ufffd", null], ["", "b", null]]);
  }
});

test("an id with NUL is ignored, and the block's earlier id stays", () => {
  assertEquals(events("id: a\0b\ndata: x\n\n"), [["", "x", null]]);
  assertEquals(events("id: 1\nid: 2\0\ndata: x\n\n"), [["", "x", "1"]]);
  assertEquals(parse("id: \0\n\n"), []);
});

test("an id with NUL is ignored however it is split, and whatever ids came before it", () => {
  for (const text of ["id: 1\n\nid: 2\0\n\nid: 3\ndata: x\n\n", "id: é\n\nid: \0\n\nid: 3\n\n"]) {
    const whole = parse(text);
    assertEquals(whole.map(({ kind }) => kind).join(), text.includes("x") ? "id,event" : "id,id");
    for (const chunks of everyCut(utf8(text))) assertEquals(parseAll(chunks), whole);
  }
});

test("an empty id is reported: it resets what a client holds", () => {
  for (const line of ["id", "id:", "id: "]) {
    assertEquals(events(`${line}\ndata: x\n\n`), [["", "x", ""]]);
    assertEquals(parse(`${line}\n\n`), [{ kind: "id", id: "" }]);
  }
});

test("a block with an id alone reports the id and dispatches nothing", () => {
  assertEquals(parse("id: 5\n\n"), [{ kind: "id", id: "5" }]);
  assertEquals(parse("event: tick\nid: 5\n\n"), [{ kind: "id", id: "5" }]);
  assertEquals(parse("id: 5\nid: 6\n\n"), [{ kind: "id", id: "6" }]);
});

test("an id belongs to its block: the next event without one has none", () => {
  assertEquals(events("id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\n"), [
    ["", "a", "1"],
    ["", "b", null],
    ["", "c", null],
  ]);
});

test("an event's name belongs to its block, dispatched or not", () => {
  assertEquals(events("event: a\ndata: 1\n\ndata: 2\n\nevent: b\n\ndata: 3\n\n"), [
    ["a", "1", null],
    ["", "2", null],
    ["", "3", null],
  ]);
  assertEquals(events("event: a\nevent: b\ndata: 1\n\n"), [["b", "1", null]]);
  assertEquals(events("event: a\nevent\ndata: 1\n\n"), [["", "1", null]]);
});

test("a retry is taken of ASCII digits only", () => {
  assertEquals(parse("retry: 1500\n"), [{ kind: "retry", ms: 1500 }]);
  assertEquals(parse("retry:0\n"), [{ kind: "retry", ms: 0 }]);
  assertEquals(parse("retry: 007\n"), [{ kind: "retry", ms: 7 }]);
  for (const value of ["", " ", "-1", "+1", "1.5", "1e3", " 1", "1 ", "0x10", "٣", "1s", "1\0"]) {
    assertEquals(parse(`retry: ${value}\n\n`), [], JSON.stringify(value));
  }
  assertEquals(parse("retry\n\n"), []);
});

test("a retry beyond the largest safe integer is cut to it", () => {
  for (const digits of ["9007199254740991", "9007199254740992", "9".repeat(400)]) {
    assertEquals(parse(`retry: ${digits}\n`), [{ kind: "retry", ms: Number.MAX_SAFE_INTEGER }]);
  }
  assertEquals(parse("retry: 9007199254740990\n"), [{ kind: "retry", ms: 9007199254740990 }]);
});

test("an unfinished event at the end of the stream is discarded", () => {
  for (
    const text of ["data: a", "data: a\n", "id: 1\n", "id: 1", "retry: 5", ": note", "data: a\r"]
  ) {
    assertEquals(parse(text), [], JSON.stringify(text));
  }
  assertEquals(events("data: a\n\nid: 2\ndata: b\n"), [["", "a", null]]);
});

test("empty data dispatches, no data does not", () => {
  for (const line of ["data", "data:", "data: "]) {
    assertEquals(events(`${line}\n\n`), [["", "", null]]);
  }
  assertEquals(events("data\ndata\n\n"), [["", "\n", null]]);
  assertEquals(events("event: tick\n\n"), []);
  assertEquals(events("\n\n\n"), []);
  assertEquals(events("unknown: x\n\n"), []);
});

test("more than one blank line between events is no event, however it is split", () => {
  for (const chunks of everyCut(utf8("data: a\n\n\ndata: b\n\n\n\ndata: c\n\n\n"))) {
    assertEquals(eventsOf(parseAll(chunks)).map(([, data]) => data), ["a", "b", "c"]);
  }
});

test("one space after the colon is not part of the value, a second one is", () => {
  assertEquals(events("data:a\n\n"), [["", "a", null]]);
  assertEquals(events("data: a\n\n"), [["", "a", null]]);
  assertEquals(events("data:  a \n\n"), [["", " a ", null]]);
  assertEquals(events("data:\ta\n\n"), [["", "\ta", null]]);
  assertEquals(events("data: a: b\n\n"), [["", "a: b", null]]);
});

test("field names are exact: another case, a space or a prefix makes another field", () => {
  for (
    const line of ["Data: x", "DATA: x", " data: x", "data : x", "datax: x", "dat: x", "\0data: x"]
  ) {
    assertEquals(parse(`${line}\n\n`), [], line);
  }
});

test("a field name that differs in any one letter is another field's", () => {
  for (const name of ["data", "event", "id", "retry"]) {
    for (let at = 0; at < name.length; at++) {
      const other = name.slice(0, at) + "x" + name.slice(at + 1);
      for (const line of [`${other}: 1`, other]) {
        for (const end of ["\n", "\r"]) {
          const text = [line, "data: y", "", ""].join(end);
          assertEquals(parse(text), [{ kind: "event", name: "", data: "y", id: null }], text);
        }
      }
    }
  }
});

test("a comment is reported with or without its space, and ends no event", () => {
  assertEquals(parse(":\n"), [{ kind: "comment", text: "" }]);
  assertEquals(parse(": keepalive\n\n"), [{ kind: "comment", text: "keepalive" }]);
  assertEquals(parse(":dropped 3\n"), [{ kind: "comment", text: "dropped 3" }]);
  assertEquals(parse(":  two\n"), [{ kind: "comment", text: " two" }]);
  assertEquals(parse("::\n"), [{ kind: "comment", text: ":" }]);
  assertEquals(events("data: a\n: note\ndata: b\n\n"), [["", "a\nb", null]]);
});

test("reports come in the order of the stream", () => {
  assertEquals(parse("retry: 9\n\n: a\ndata: x\n: b\n\nid: 3\n\n: c\n"), [
    { kind: "retry", ms: 9 },
    { kind: "comment", text: "a" },
    { kind: "comment", text: "b" },
    { kind: "event", name: "", data: "x", id: null },
    { kind: "id", id: "3" },
    { kind: "comment", text: "c" },
  ]);
});

test("handlers that are not given are not missed", () => {
  assertEquals(parseAll([utf8("retry: 1\n: c\nid: 1\n\ndata: x\n\n")]).length, 4);
});
