import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import {
  encodeStream,
  EPOCH,
  events,
  FRAME_BYTES,
  type Kind,
  KINDS,
  loadEvent,
  loadFrame,
  MARK,
  pieces,
  readLoadEvent,
  seededRandom,
  shuffled,
} from "../../../bench/fixtures.ts";
import { encodeFrame } from "../../../src/wire/frame.ts";
import { type ParsedEvent, Parser } from "../../../src/wire/parser.ts";
import { test } from "../../support/test.ts";

const sequences = fc.integer({ min: 1, max: 9_999_999 });
const times = fc.integer({ min: 1_600_000_000_000, max: 1_999_999_999_999 });
const seeds = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const kinds = fc.constantFrom<Kind>("short", "json", "multiline", "utf8");
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

test("every event of the load benchmark is a frame of exactly 190 bytes", () => {
  fc.assert(fc.property(sequences, times, (sequence, at) => {
    const { name, data } = loadEvent(sequence, at);
    const frame = encodeFrame(`${EPOCH}:${sequence}`, name, data);
    assertEquals(frame.length, FRAME_BYTES);
  }));
});

test("servers that frame by themselves send every event as the hub's encoder does", () => {
  fc.assert(fc.property(sequences, times, (sequence, at) => {
    const event = loadEvent(sequence, at);
    const frame = encodeFrame(`${EPOCH}:${sequence}`, event.name, event.data);
    assertEquals(loadFrame(sequence, event), text(frame));
  }));
});

test("the mark stands exactly once in every frame, so a reader counts frames by it", () => {
  fc.assert(fc.property(sequences, times, (sequence, at) => {
    const frame = loadFrame(sequence, loadEvent(sequence, at));
    assertEquals(frame.split(MARK).length - 1, 1);
  }));
});

test("the data of every load event is JSON which other servers may parse and write again", () => {
  fc.assert(fc.property(sequences, times, (sequence, at) => {
    const { data } = loadEvent(sequence, at);
    const parsed = JSON.parse(data) as { readonly n: number; readonly at: number };
    assertEquals([parsed.n, parsed.at], [sequence, at]);
    assertEquals(JSON.stringify(parsed), data);
  }));
});

test("every load event reads back as its number and its time", () => {
  fc.assert(fc.property(sequences, times, (sequence, at) => {
    assertEquals(readLoadEvent(loadEvent(sequence, at).data), { sequence, at });
  }));
});

test("a load event with any one character changed is not read back as itself", () => {
  const place = fc.nat({ max: 10_000 });
  fc.assert(fc.property(sequences, times, place, (sequence, at, nth) => {
    const { data } = loadEvent(sequence, at);
    const i = nth % data.length;
    const other = data.charAt(i) === "0" ? "1" : "0";
    const read = readLoadEvent(data.slice(0, i) + other + data.slice(i + 1));
    assertNotEquals(read, { sequence, at });
  }));
});

test("the same seed gives the same events of every kind, another seed gives others", () => {
  for (const kind of KINDS) {
    assertEquals(events(kind, 3, 11), events(kind, 3, 11), kind);
    assertNotEquals(events(kind, 3, 11), events(kind, 3, 12), kind);
  }
});

test("a seeded generator stays from 0 to below 1 and fills every tenth of it", () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const random = seededRandom(seed);
      const tenths = new Set<number>();
      for (let i = 0; i < 1_000; i++) {
        const value = random();
        assert(value >= 0 && value < 1, String(value));
        tenths.add(Math.floor(value * 10));
      }
      assertEquals(tenths.size, 10);
    }),
    { numRuns: 20 },
  );
});

test("a shuffled list holds exactly the same items, and leaves the given one alone", () => {
  const lists = fc.array(fc.integer(), { maxLength: 30 });
  fc.assert(fc.property(lists, seeds, (list, seed) => {
    const before = [...list];
    const mixed = shuffled(list, seededRandom(seed));
    assertEquals(list, before);
    assertEquals(mixed.sort((a, b) => a - b), before.sort((a, b) => a - b));
  }));
});

test("a shuffle puts each of four items in each place about as often", () => {
  const random = seededRandom(5);
  const counts = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
  for (let i = 0; i < 4_000; i++) {
    shuffled([0, 1, 2, 3], random).forEach((item, place) => {
      const row = counts[item];
      if (row !== undefined) row[place] = (row[place] ?? 0) + 1;
    });
  }
  for (const count of counts.flat()) assert(count > 850 && count < 1_150, String(count));
});

test("every stream parses to exactly the events that it was made of, however it is cut", () => {
  const sizes = fc.integer({ min: 1, max: 3_000 });
  fc.assert(
    fc.property(kinds, seeds, sizes, (kind, seed, size) => {
      const list = events(kind, 60, seed);
      const seen: ParsedEvent[] = [];
      const ids: string[] = [];
      const comments: string[] = [];
      const parser = new Parser({
        onEvent: (event) => seen.push(event),
        onId: (id) => ids.push(id),
        onComment: (comment) => comments.push(comment),
      });
      for (const piece of pieces(encodeStream(list), size)) parser.feed(piece);
      assertEquals(
        seen,
        list.map(({ name, data }, index) => ({ name, data, id: `${EPOCH}:${index + 1}` })),
      );
      assertEquals([ids, comments], [[`${EPOCH}:50`], ["keepalive"]]);
    }),
    { numRuns: 30 },
  );
});

test("a kind is what it is called: lines, characters of four bytes, a large frame", () => {
  assert(events("multiline", 5, 1).every(({ data }) => data.split("\n").length >= 8));
  assert(events("utf8", 5, 1).some(({ data }) => /[\u{10000}-\u{10ffff}]/u.test(data)));
  assert(
    events("utf8", 5, 1).every(({ data }) => encodeFrame(null, "", data).length > data.length),
  );
  assert(events("large", 2, 1).every(({ data }) => data.length === 262_144));
  assert(events("json", 5, 1).every(({ data }) => typeof JSON.parse(data) === "object"));
});

test("pieces of every size join to what was cut, and none is empty", () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(fc.property(bytes, fc.integer({ min: 1, max: 50 }), (whole, size) => {
    const cut = pieces(whole, size);
    assertEquals(cut.flatMap((piece) => [...piece]), [...whole]);
    assert(cut.every((piece) => piece.length > 0 && piece.length <= size));
  }));
});
