import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CursorError } from "../../../src/errors.ts";
import { formatCursor, isEpoch, parseCursor } from "../../../src/wire/cursor.ts";
import { MAX_OFFSET } from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";

const EPOCH = "00c0ffee00c0ffee";
const epochs = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((bits) => bits.toString(16).padStart(16, "0"));

test("the empty string is no cursor", () => {
  assertEquals(parseCursor(""), null);
});

test("every cursor survives writing and parsing", () => {
  fc.assert(fc.property(epochs, fc.maxSafeNat(), (epoch, offset) => {
    const text = formatCursor({ epoch, offset });
    assert(text.length <= 33, text);
    assertEquals(parseCursor(text), { epoch, offset });
  }));
});

test("the smallest and the largest offset parse exactly", () => {
  assertEquals(parseCursor(`${EPOCH}:0`), { epoch: EPOCH, offset: 0 });
  assertEquals(parseCursor(`${EPOCH}:9007199254740991`), { epoch: EPOCH, offset: MAX_OFFSET });
});

const malformed: readonly (readonly [string, string])[] = [
  ["42", "a bare integer"],
  [":42", "no epoch"],
  [EPOCH, "no colon"],
  [`${EPOCH}:`, "no offset"],
  [`${EPOCH}42`, "no colon before the offset"],
  [`${EPOCH};42`, "another separator"],
  ["00C0FFEE00C0FFEE:42", "upper-case hex"],
  ["00c0ffee00c0ffeE:42", "one upper-case digit"],
  ["00c0ffee00c0ffeg:42", "a letter that is not hex"],
  ["0x00c0ffee00c0ff:42", "a hex prefix"],
  ["00c0ffee00c0ffe:42", "an epoch of 15"],
  ["00c0ffee00c0ffee0:42", "an epoch of 17"],
  [`${EPOCH}:+1`, "a plus sign"],
  [`${EPOCH}:-1`, "a minus sign"],
  [`${EPOCH}:-0`, "minus zero"],
  [`${EPOCH}:01`, "a leading zero"],
  [`${EPOCH}:00`, "two zeros"],
  [`${EPOCH}:1.0`, "a fraction"],
  [`${EPOCH}:1e3`, "an exponent"],
  [`${EPOCH}:0x1`, "a hex offset"],
  [`${EPOCH}:1_000`, "a separator in the digits"],
  [`${EPOCH}:1n`, "a BigInt suffix"],
  [`${EPOCH}:NaN`, "a word"],
  [`${EPOCH}:Infinity`, "another word"],
  [`${EPOCH}:٣`, "a digit of another script"],
  [`${EPOCH}:４２`, "full-width digits"],
  [`${EPOCH}:9007199254740992`, "2^53"],
  [`${EPOCH}:9999999999999999`, "16 digits above the bound"],
  [`${EPOCH}:10000000000000000`, "17 digits"],
  [` ${EPOCH}:42`, "a space before"],
  [`${EPOCH}:42 `, "a space after"],
  [`${EPOCH}: 42`, "a space within"],
  [`${EPOCH} :42`, "a space before the colon"],
  [`${EPOCH}:42\n`, "a line end after"],
  [`${EPOCH}:42\r`, "a carriage return after"],
  [`${EPOCH}:42\0`, "a NUL after"],
  [`${EPOCH}:4\n2`, "a line end within"],
  [`\uFEFF${EPOCH}:42`, "a byte order mark before"],
  [`${EPOCH}:42, ${EPOCH}:42`, "a comma-joined double header"],
  [`${EPOCH}:1,${EPOCH}:2`, "the same without a space"],
  [`${EPOCH}:1:2`, "two offsets"],
  [" ", "a space"],
  ["\0", "a NUL"],
  ["null", "a word that a program may have printed"],
  ["undefined", "another"],
];

test("every malformed cursor is refused, and the message never repeats it", () => {
  for (const [text, what] of malformed) {
    const error = assertThrows(() => parseCursor(text), CursorError);
    assert(text.length < 3 || !error.message.includes(text), what);
  }
});

test("the refusal says which rule was broken", () => {
  assertThrows(() => parseCursor("42"), CursorError, "colon");
  assertThrows(() => parseCursor("00C0FFEE00C0FFEE:42"), CursorError, "epoch");
  assertThrows(() => parseCursor(`${EPOCH}:01`), CursorError, "leading zero");
  assertThrows(() => parseCursor(`${EPOCH}:9007199254740992`), CursorError, "9007199254740991");
  assertThrows(() => parseCursor(`${EPOCH}:${"1".repeat(17)}`), CursorError, "33");
});

test("whatever parses is what formatCursor writes: no string has two spellings", () => {
  const alphabet = fc.constantFrom(..."0123456789abcdefABCDEF:+-. \n\r\0,_xe".split(""));
  const near = fc.tuple(epochs, fc.maxSafeNat(), fc.nat({ max: 40 }), alphabet).map(
    ([epoch, offset, at, character]) => {
      const text = `${epoch}:${offset}`;
      return text.slice(0, at) + character + text.slice(at + 1);
    },
  );
  fc.assert(
    fc.property(fc.oneof(near, fc.string({ maxLength: 40 })), (text) => {
      let cursor;
      try {
        cursor = parseCursor(text);
      } catch (error) {
        assert(error instanceof CursorError);
        return;
      }
      assertEquals(cursor === null ? "" : formatCursor(cursor), text);
    }),
    { numRuns: 1000 },
  );
});

test("a very long value is refused without being looked at closely", () => {
  assertThrows(() => parseCursor(`${EPOCH}:${"0".repeat(1_000_000)}`), CursorError, "1000017");
});

test("an epoch is exactly 16 lowercase hex characters", () => {
  fc.assert(fc.property(epochs, (epoch) => assert(isEpoch(epoch))));
  for (const text of ["", "0", EPOCH + "0", EPOCH.slice(1), EPOCH.toUpperCase(), EPOCH + "\n"]) {
    assert(!isEpoch(text), JSON.stringify(text));
  }
});
