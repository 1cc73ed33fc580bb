/**
 * Claims for tests.
 *
 * @module
 */
import fc from "fast-check";
import { hasUnsafeCharacter } from "../../../src/wire/text.ts";
import type { Claims } from "../../../src/tickets/types.ts";

/** When a test's time begins, in milliseconds since the Unix epoch. */
export const NOW = 1_700_000_000_000;

/** Text as a user or a topic may be. */
const name: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 12 }),
  fc.constantFrom("__proto__", " a ", "A", '"', "\\", "null", "a".repeat(256), "漢字", "👩‍👩‍👧"),
).filter((text) => text.length <= 256 && text.isWellFormed() && !hasUnsafeCharacter(text));

/** Any claims within their bounds. */
export const claims: fc.Arbitrary<Claims> = fc.record({
  user: name,
  account: name,
  session: name,
  topics: fc.array(name, { minLength: 1, maxLength: 4 }),
  expiresAt: fc.oneof(fc.integer({ min: 1, max: 1e10 }), fc.double({ min: 1, max: 1e10 }))
    .filter((ms) => !Number.isNaN(ms)).map((ms) => NOW + ms),
}, { requiredKeys: ["user", "topics"], noNullPrototype: true });
