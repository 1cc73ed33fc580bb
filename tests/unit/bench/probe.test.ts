import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { loadEvent, loadFrame } from "../../../bench/fixtures.ts";
import { readProbe, unchunk } from "../../../bench/load/probe.ts";
import { test } from "../../support/test.ts";

const AT = 1_700_000_000_000;
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const chunk = (text: string): string => `${encode(text).length.toString(16)}\r\n${text}\r\n`;
const frame = (n: number): string => loadFrame(n, loadEvent(n, AT));

test("a probe's reading is clean when every frame arrived once, in order and unharmed", () => {
  const body = [7, 8, 9].map((n) => chunk(frame(n))).join("");
  assertEquals(readProbe(encode(body), [AT + 3, AT + 4, AT + 9]), {
    wrong: null,
    delaysMs: [3, 4, 9],
  });
});

test("a probe's reading is the same however frames are joined into chunks", () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 3 * 190 - 1 }), { maxLength: 8 });
  const whole = frame(1) + frame(2) + frame(3);
  fc.assert(fc.property(cuts, (places) => {
    const edges = [0, ...places.sort((a, b) => a - b), whole.length];
    const chunks = edges.slice(1).map((to, i) => chunk(whole.slice(edges[i], to)));
    const { wrong, delaysMs } = readProbe(encode(chunks.join("")), [AT, AT, AT + 1]);
    assertEquals([wrong, delaysMs], [null, [0, 0, 1]]);
  }));
});

test("a probe tells a lost, a doubled, a damaged and a reordered frame", () => {
  const read = (...frames: string[]): string | null =>
    readProbe(encode(frames.map(chunk).join("")), frames.map(() => AT)).wrong;
  assertEquals(read(frame(1), frame(3)), "frame 3 follows frame 1");
  assertEquals(read(frame(1), frame(1)), "frame 1 follows frame 1");
  assertEquals(read(frame(2), frame(1)), "frame 1 follows frame 2");
  assertEquals(read(frame(1), frame(2).replace("mark", "murk")), "1 whole frames, 2 marks");
});

test("a probe tells a frame that was cut short by a wrong chunk", () => {
  const body = chunk(frame(1)) + chunk(frame(2)).slice(0, -1);
  assertEquals(
    readProbe(encode(body), [AT, AT]).wrong,
    "the body is not a sequence of whole chunks",
  );
});

test("joining chunks keeps a character that is split between two of them", () => {
  const bytes = encode("🌊");
  const parts = [bytes.subarray(0, 1), bytes.subarray(1)];
  const body = parts.flatMap((part) => [
    ...encode(`${part.length.toString(16)}\r\n`),
    ...part,
    ...encode("\r\n"),
  ]);
  assertEquals(unchunk(new Uint8Array(body)), "🌊");
});

test("what is not a chunk's size is refused", () => {
  assertEquals(unchunk(encode("data: x\r\n")), null);
  assertEquals(unchunk(encode("-1\r\nx\r\n")), null);
  assertEquals(unchunk(encode("5\r\nabc")), null);
});
