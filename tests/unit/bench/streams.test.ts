import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import {
  type BenchStream,
  benchStream,
  STREAM_KINDS,
  type StreamEvent,
  type StreamKind,
} from "../../../bench/streams.ts";
import { pieces } from "../../../bench/fixtures.ts";
import { joinBytes } from "../../../src/wire/frame.ts";
import { Parser } from "../../../src/wire/parser.ts";
import { test } from "../../support/test.ts";

const kinds = fc.constantFrom<StreamKind>(...STREAM_KINDS);
const seeds = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const counts = fc.integer({ min: 1, max: 30 });
const texts = ({ chunks }: BenchStream): string[] =>
  chunks.map((chunk) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(chunk));

function eventsIn(chunks: readonly Uint8Array[]): StreamEvent[] {
  const seen: StreamEvent[] = [];
  const parser = new Parser({ onEvent: (event) => seen.push(event) });
  for (const chunk of chunks) parser.feed(chunk);
  return seen;
}

test("every stream holds exactly the events that it says, however it is cut", () => {
  fc.assert(
    fc.property(kinds, counts, seeds, counts, (kind, count, seed, size) => {
      const { chunks, events } = benchStream(kind, count, seed);
      assertEquals(eventsIn(chunks), [...events]);
      assertEquals(eventsIn(pieces(joinBytes([...chunks]), size)), [...events]);
    }),
    { numRuns: 100 },
  );
});

test("the parser that ours is measured beside sees the same events in every stream", () => {
  fc.assert(
    fc.property(kinds, counts, seeds, (kind, count, seed) => {
      const { chunks, events } = benchStream(kind, count, seed);
      const seen: StreamEvent[] = [];
      const parser = createParser({
        onEvent: ({ event = "", data, id = null }) => seen.push({ name: event, data, id }),
      });
      const decoder = new TextDecoder();
      for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
      assertEquals(seen, [...events]);
    }),
    { numRuns: 100 },
  );
});

test("the same seed gives the same stream of every kind, another seed gives another", () => {
  for (const kind of STREAM_KINDS) {
    assertEquals(benchStream(kind, 20, 11), benchStream(kind, 20, 11), kind);
    assertNotEquals(benchStream(kind, 20, 11), benchStream(kind, 20, 12), kind);
  }
});

test("no read of any stream is empty, and every kind has as many events as asked for", () => {
  const more: { readonly [K in StreamKind]: (count: number) => number } = {
    tokens: (count) => count + 1,
    named: (count) => count + 3,
    identified: (count) => count,
    scripts: (count) => count,
    heartbeats: (count) => count,
    idle: () => 1,
    crumbs: (count) => count + 1,
    mixed: (count) => count * 6,
  };
  fc.assert(
    fc.property(kinds, counts, seeds, (kind, count, seed) => {
      const { chunks, events } = benchStream(kind, count, seed);
      assert(chunks.every((chunk) => chunk.length > 0));
      assertEquals(events.length, more[kind](count));
    }),
    { numRuns: 100 },
  );
});

test("where a read is an event, every read is one whole event", () => {
  for (const kind of ["tokens", "named", "identified", "scripts"] as const) {
    const stream = benchStream(kind, 10, 3);
    assertEquals(stream.chunks.length, stream.events.length);
    for (const [i, chunk] of stream.chunks.entries()) {
      assertEquals(eventsIn([chunk]), stream.events.slice(i, i + 1));
    }
  }
});

test("a kind is what it is called", () => {
  const { chunks, events } = benchStream("tokens", 5, 1);
  assertEquals(chunks.length, 6);
  assert(events.slice(0, 5).every(({ data }) => typeof JSON.parse(data) === "object"));
  assert(new Set(benchStream("named", 5, 1).events.map(({ name }) => name)).size >= 3);
  assert(benchStream("identified", 5, 1).events.every(({ id }) => id !== null && id !== ""));
  assert(
    benchStream("scripts", 5, 1).events.every(({ data }) =>
      /\p{Extended_Pictographic}/u.test(data)
    ),
  );
  assertEquals(texts(benchStream("heartbeats", 2, 1)).filter((read) => read[0] === ":").length, 8);
  assertEquals(texts(benchStream("idle", 5, 1)).slice(0, 5), [":", ":", ":", ":", ":"]);
  assert(benchStream("crumbs", 20, 1).chunks.every((chunk) => chunk.length <= 15));
  const mixed = texts(benchStream("mixed", 1, 1));
  assert(mixed.some((read, i) => read.endsWith("\r") && mixed[i + 1]?.startsWith("\n") === true));
  assert(mixed.some((read) => /\r[^\n]/.test(read)), "a CR by itself");
});
