import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { InvalidUtf8Error } from "../../../src/errors.ts";
import {
  checkedText,
  forLog,
  hasUnsafeCharacter,
  loneSurrogateIndex,
} from "../../../src/wire/text.ts";
import { utf8 } from "../../model/chunks.ts";
import { firstInvalidByte, firstLoneSurrogate } from "../../model/utf8_model.ts";
import { test } from "../../support/test.ts";

/** Any UTF-16, lone surrogates included. */
const anyUtf16 = fc.array(
  fc.oneof(
    fc.integer({ min: 0xd800, max: 0xdfff }),
    fc.integer({ min: 0, max: 0xffff }),
    fc.integer({ min: 0x61, max: 0x7a }),
  ),
  { maxLength: 20 },
).map((units) => String.fromCharCode(...units));

/** Bytes at the borders of every rule of UTF-8. */
const borderBytes = fc.constantFrom(
  ...[0x00, 0x61, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1],
  ...[0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xfe, 0xff],
);
const nearUtf8 = fc.array(
  fc.oneof(
    borderBytes.map((byte) => [byte]),
    fc.string({ unit: "binary", maxLength: 4 }).map((text) => [...utf8(text)]),
  ),
  { maxLength: 12 },
).map((parts) => Uint8Array.from(parts.flat()));

test("a string with a lone surrogate is refused with the surrogate's index", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["\ud800", 0],
    ["\udc00", 0],
    ["ab\ud83d", 2],
    ["ab\ude00c", 2],
    ["😀\ud83d", 2],
    ["\ud83d😀", 0],
    ["😀\ude00", 2],
    ["\ude00\ud83d", 0],
    ["x\ud83d\ud83d\ude00", 1],
  ];
  for (const [text, index] of cases) {
    assertEquals(assertThrows(() => checkedText(text), InvalidUtf8Error).index, index);
  }
});

test("the index of the first lone surrogate is what a character by character search finds", () => {
  fc.assert(
    fc.property(anyUtf16, (text) => {
      assertEquals(loneSurrogateIndex(text), firstLoneSurrogate(text));
    }),
    { numRuns: 1000 },
  );
});

test("bytes that are not UTF-8 are refused with the index of the first broken sequence", () => {
  const cases: readonly (readonly [string, readonly number[], number])[] = [
    ["a continuation byte by itself", [0x80], 0],
    ["a byte that no sequence has", [0x61, 0xff], 1],
    ["an overlong slash", [0x61, 0xc0, 0xaf], 1],
    ["an overlong sequence of three", [0xe0, 0x80, 0xaf], 0],
    ["an overlong sequence of four", [0xf0, 0x8f, 0xbf, 0xbf], 0],
    ["a surrogate", [0x61, 0xed, 0xa0, 0x80], 1],
    ["a code point above U+10FFFF", [0xf4, 0x90, 0x80, 0x80], 0],
    ["a sequence cut short by the end", [0x61, 0x62, 0xe2, 0x82], 2],
    ["a sequence cut short by a letter", [0xe2, 0x82, 0x61], 0],
    ["a good sequence before a broken one", [0xe2, 0x82, 0xac, 0xe2, 0x28, 0xa1], 3],
    ["the second half of a pair of sequences", [0xf0, 0x9f, 0x98, 0x80, 0x80], 4],
  ];
  for (const [what, bytes, index] of cases) {
    const error = assertThrows(() => checkedText(Uint8Array.from(bytes)), InvalidUtf8Error);
    assertEquals(error.index, index, what);
  }
});

test("bytes are taken or refused, and where, as a brute-force judge says", () => {
  fc.assert(
    fc.property(fc.oneof(nearUtf8, fc.uint8Array({ maxLength: 16 })), (bytes) => {
      const index = firstInvalidByte(bytes);
      if (index === -1) {
        assertEquals([...utf8(checkedText(bytes))], [...bytes]);
      } else {
        assertEquals(assertThrows(() => checkedText(bytes), InvalidUtf8Error).index, index);
      }
    }),
    { numRuns: 1500 },
  );
});

test("a refusal leaves nothing behind: the next bytes are read from their start", () => {
  for (const broken of [[0xe2, 0x82], [0xf0, 0x9f], [0xef, 0xbb], [0xff]]) {
    assertThrows(() => checkedText(Uint8Array.from(broken)), InvalidUtf8Error);
    assertEquals(checkedText(utf8("€ok")), "€ok");
  }
});

test("a well-formed string comes back as it is", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    assertEquals(checkedText(text), text);
  }));
});

const UNSAFE = [
  ...Array.from({ length: 0x20 }, (_, i) => i),
  ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i),
  ...[0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e],
  ...[0x2066, 0x2067, 0x2068, 0x2069],
];

test("exactly the control, line-separator and bidi characters are unsafe", () => {
  const found: number[] = [];
  for (let code = 0; code < 0xd800; code++) {
    if (hasUnsafeCharacter(String.fromCharCode(code))) found.push(code);
  }
  assertEquals(found, UNSAFE);
});

test("a value for a log loses what is unsafe and keeps the rest", () => {
  assertEquals(forLog("plain text"), "plain text");
  assertEquals(forLog("a\r\nb\u202ec\u2028d\u001b[31me\u0085f\u061cg"), "abcd[31mefg");
  assertEquals(forLog(""), "");
  assertEquals(forLog("größe 😀"), "größe 😀");
});

test("a value for a log is cut at a character's edge, within its bytes", () => {
  assertEquals(forLog("abcdef", 4), "abcd");
  assertEquals(forLog("aé€😀", 1), "a");
  assertEquals(forLog("aé€😀", 2), "a");
  assertEquals(forLog("aé€😀", 3), "aé");
  assertEquals(forLog("aé€😀", 5), "aé");
  assertEquals(forLog("aé€😀", 6), "aé€");
  assertEquals(forLog("aé€😀", 9), "aé€");
  assertEquals(forLog("aé€😀", 10), "aé€😀");
  assertEquals(forLog("x".repeat(200)).length, 128);
  assertEquals(forLog("x".repeat(10_000_000)).length, 128);
  assertEquals(utf8(forLog("😀".repeat(100))).length, 128);
});

test("a whole character at the edge is never replaced by a half", () => {
  // Characters that vanish move the edge: the one that stands on it must still be whole, or absent.
  fc.assert(fc.property(fc.nat({ max: 40 }), fc.nat({ max: 20 }), (gone, kept) => {
    const logged = forLog("\u0007".repeat(gone) + "x".repeat(kept) + "😀".repeat(20), 16);
    assert(!logged.includes("\ufffd"), logged);
    assert(logged.isWellFormed(), logged);
  }));
});

test("whatever a request holds, a log gets a bounded, well-formed, safe piece of it, in order", () => {
  fc.assert(
    fc.property(
      fc.oneof(anyUtf16, fc.string({ unit: "binary", maxLength: 300 })),
      fc.integer({ min: 0, max: 140 }),
      (text, maxBytes) => {
        const logged = forLog(text, maxBytes);
        assert(utf8(logged).length <= maxBytes);
        assert(logged.isWellFormed());
        assert(!hasUnsafeCharacter(logged));
        const safe = [...text.toWellFormed()].filter((c) => !hasUnsafeCharacter(c)).join("");
        assert(safe.startsWith(logged), JSON.stringify([text, logged]));
      },
    ),
    { numRuns: 500 },
  );
});
