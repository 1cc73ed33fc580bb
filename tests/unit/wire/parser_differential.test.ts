import { assert, assertEquals } from "@std/assert";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { cutAt, scaled, someCuts, utf8 } from "../../model/chunks.ts";
import { eventsOf, parseAll, type Report } from "../../model/reports.ts";
import { test } from "../../support/test.ts";

/**
 * What eventsource-parser reports of a stream, in our terms. Every known difference is levelled here
 * and in {@linkcode shared}, nowhere else; the last tests of this file show each to be one. Sections
 * are those of the WHATWG HTML standard.
 *
 * 1. It reads text and looks for a BOM as the three Latin-1 characters U+00EF, U+00BB, U+00BF. 9.2.5:
 *    streams are decoded by "UTF-8 decode", which strips one BOM; those characters are text. So the
 *    decoder strips the BOM, and an empty first chunk ends the peer's own search.
 * 2. It keeps back a CR at the end of a chunk, and what follows until another line ends. 9.2.5: a CR
 *    by itself ends a line, so ours reports at once. A last CR goes to the peer with the next text,
 *    and at the end of the stream with the LF that it waits for, which begins no line of its own.
 * 3. A name or an id that is not there is `undefined`, ours is `""` and `null`: two spellings.
 * 4. `retry:` is taken at any size. 9.2.6 names no bound; ours stops at the largest safe integer, so
 *    that a client can count with it. Both are cut there.
 * 5. Unknown fields and other values of `retry:` go to `onError`. 9.2.6: they are ignored.
 */
function readByPeer(chunks: Iterable<Uint8Array>): Report[] {
  const reports: Report[] = [];
  const parser = createParser({
    onEvent: ({ event = "", data, id = null }) =>
      reports.push({ kind: "event", name: event, data, id }),
    onComment: (text) => reports.push({ kind: "comment", text }),
    onRetry: (ms) => reports.push({ kind: "retry", ms: Math.min(ms, Number.MAX_SAFE_INTEGER) }),
  });
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let atStart = true;
  let lastCr = "";
  parser.feed("");
  for (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (text !== "" && atStart) {
      atStart = false;
      if (text.startsWith("\uFEFF")) text = text.slice(1);
    }
    text = lastCr + text;
    lastCr = text.endsWith("\r") ? "\r" : "";
    parser.feed(lastCr === "" ? text : text.slice(0, -1));
  }
  if (lastCr !== "") parser.feed("\r\n");
  return reports;
}

/**
 * Our reports without those that the peer has no word for: an id alone. 9.2.6, "dispatch the event",
 * sets the last event ID before it looks whether there is data, so ours is right to report it. The
 * comparison with the naive reading of the standard covers it.
 */
function shared(reports: readonly Report[]): Report[] {
  return reports.filter((report) => report.kind !== "id");
}

const text = (...texts: string[]): fc.Arbitrary<number[]> =>
  fc.constantFrom(...texts).map((one) => [...utf8(one)]);

const end = fc.oneof(
  { weight: 3, arbitrary: text("\n", "\r", "\r\n") },
  { weight: 1, arbitrary: text("\n\n", "\r\r", "\r\n\r\n", "\n\r", "\r\n\n") },
);
const name = text("data", "data", "event", "id", "retry", "", "dat", "datax", "Data", "events");
const colon = text(":", ":", ": ", ": ", "", ":  ", "::", " :", ":\t", "=");
const value = fc.oneof(
  text("7", "0", "007", "1500", "9007199254740993"),
  text("", "1e3", "-1", "1 ", "1\0", "٣", "x", "a: b", "\0", "a\0"),
  text("\uFEFF", "ï»¿", "é", "€", "😀", "日本", "\u2028", "\u0085", "data: ", "plain words"),
  fc.constantFrom<number[]>([0xff], [0xc3], [0xe2, 0x82], [0xf0, 0x9f], [0x80], [0xef, 0xbb]),
  fc.array(fc.nat({ max: 255 }), { maxLength: 4 }),
);
/** Bytes that mean something to a parser, or nearly: whole lines, and parts of one anywhere. */
const token: fc.Arbitrary<number[]> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(name, colon, value, end).map((parts) => parts.flat()) },
  { weight: 2, arbitrary: fc.oneof(name, colon, value, end) },
);
const soup: fc.Arbitrary<Uint8Array> = fc.array(token, { maxLength: 40, size: "max" })
  .map((tokens) => Uint8Array.from(tokens.flat()));

const line = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }).map((value) => `data: ${value}`),
  fc.constantFrom("data", "data:", "event: a", "event:b", "event", "id: 1", "id", "id: \0", "x: y"),
  fc.constantFrom(": note", ":", "retry: 5", "retry: 99999999999999999999", "retry", "", "", ""),
);
/** Lines that are well formed, most of them ended by the same terminator. */
const stream: fc.Arbitrary<Uint8Array> = fc.tuple(
  fc.array(fc.tuple(line, fc.constantFrom("", "", "", "\n", "\r", "\r\n")), {
    maxLength: 40,
    size: "max",
  }),
  fc.constantFrom("\n", "\n", "\r", "\r\n"),
).map(([lines, usual]) => utf8(lines.map(([words, end]) => words + (end || usual)).join("")));

const anyBytes: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 200, size: "max" });

/** Cuts, some of them twice, which makes an empty chunk. */
const cutsWithEmpty: fc.Arbitrary<number[]> = fc.tuple(someCuts, fc.nat({ max: 4 }))
  .map(([cuts, twice]) => [...cuts, ...cuts.slice(0, twice)]);

function assertSame(chunks: readonly Uint8Array[]): void {
  assertEquals(shared(parseAll(chunks)), readByPeer(chunks));
}

for (const [what, bytes] of Object.entries({ "any bytes": anyBytes, soup, stream })) {
  test(`${what}: however it is split, both parsers report the same in the same order`, () => {
    fc.assert(
      fc.property(bytes, cutsWithEmpty, (whole, cuts) => {
        assertSame(cutAt(whole, scaled(cuts, whole.length)));
      }),
      { numRuns: 700 },
    );
  });

  test(`${what}: byte by byte, both parsers report the same in the same order`, () => {
    fc.assert(
      fc.property(bytes, (whole) => {
        assertSame(cutAt(whole, Array.from(whole, (_, at) => at)));
      }),
      { numRuns: 200 },
    );
  });
}

test("long runs of one kind of chunk, then another, are read the same by both", () => {
  const chunk = fc.oneof(
    text(
      "data: plain\n\n",
      ": beat\n",
      "id: 1\ndata: a\ndata: b\n\n",
      "data: half",
      "\n",
      ":",
      "data: c\n\n\n",
    ),
    text("data: é€\n\n", "id: 日\n", "event: 😀\n", "data: €", "id: \0\n", "data: a\r\n\r\n"),
    token,
  ).map((bytes) => Uint8Array.from(bytes));
  const runs = fc.array(fc.tuple(chunk, fc.integer({ min: 1, max: 4 })), {
    maxLength: 20,
    size: "max",
  });
  fc.assert(
    fc.property(runs, (list) => {
      assertSame(list.flatMap(([bytes, times]) => Array<Uint8Array>(times).fill(bytes)));
    }),
    { numRuns: 400 },
  );
});

test("the bytes compared hold events, comments, retries and ids in plenty", () => {
  for (const bytes of [soup, stream]) {
    const counts = { event: 0, id: 0, comment: 0, retry: 0 };
    let named = 0;
    for (const whole of fc.sample(bytes, { numRuns: 500, seed: 1 })) {
      for (const report of parseAll([whole])) {
        counts[report.kind]++;
        if (report.kind === "event" && report.name !== "" && report.id !== null) named++;
      }
    }
    for (const [kind, count] of Object.entries(counts)) assert(count >= 20, `${count} × ${kind}`);
    assert(named >= 5, `${named} events with a name and an id`);
  }
});

test("difference 1: the peer takes three Latin-1 characters for a byte order mark", () => {
  const seen: string[] = [];
  createParser({ onEvent: ({ data }) => seen.push(data) }).feed("ï»¿data: a\n\n");
  assertEquals(seen, ["a"]);
  assertEquals(parseAll([utf8("ï»¿data: a\n\n")]), []);
  assertEquals(readByPeer([utf8("ï»¿data: a\n\n")]), []);
});

test("difference 2: the peer waits after a CR at the end of a chunk", () => {
  const seen: string[] = [];
  const peer = createParser({ onEvent: ({ data }) => seen.push(data) });
  for (const chunk of ["data: a\r\r", "data: b"]) peer.feed(chunk);
  assertEquals(seen, []);
  assertEquals(eventsOf(parseAll([utf8("data: a\r\r")])), [["", "a", null]]);
  assertEquals(eventsOf(readByPeer([utf8("data: a\r\r")])), [["", "a", null]]);
});

test("differences 3, 4 and 5: what is absent, too large or ignored", () => {
  const seen: unknown[] = [];
  const peer = createParser({
    onEvent: ({ event, id }) => seen.push(event, id),
    onRetry: (ms) => seen.push(ms),
    onError: ({ type }) => seen.push(type),
  });
  const bytes = utf8("data: a\n\nretry: 18014398509481984\nretry: x\nunknown: y\n");
  peer.feed(new TextDecoder().decode(bytes));
  assertEquals(seen, [undefined, undefined, 2 ** 54, "invalid-retry", "unknown-field"]);
  assertEquals(parseAll([bytes]), [
    { kind: "event", name: "", data: "a", id: null },
    { kind: "retry", ms: Number.MAX_SAFE_INTEGER },
  ]);
});

test("the difference of ids: the peer says nothing of a block with an id alone", () => {
  assertEquals(readByPeer([utf8("id: 5\n\n")]), []);
  assertEquals(parseAll([utf8("id: 5\n\n")]), [{ kind: "id", id: "5" }]);
});
