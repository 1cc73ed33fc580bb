import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { TicketError } from "../../../src/errors/ticket.ts";
import { checkClaims, readClaims } from "../../../src/tickets/claims.ts";
import type { Claims } from "../../../src/tickets/types.ts";
import { test } from "../../support/test.ts";
import { claims, NOW } from "./claims.ts";

const GOOD: Claims = { user: "ada", topics: ["orders"] };
const LONG = "x".repeat(256);

/** What a program without types, or a store that was written by another hand, may come with. */
const BAD: readonly (readonly [what: string, value: unknown, says: string])[] = [
  ["nothing", undefined, "no object"],
  ["null", null, "no object"],
  ["a text", "ada", "no object"],
  ["no user", { topics: ["t"] }, "no user"],
  ["a user of null", { ...GOOD, user: null }, "user is no string"],
  ["a user of no characters", { ...GOOD, user: "" }, "user has 0 characters"],
  ["a user of 257 characters", { ...GOOD, user: LONG + "x" }, "user has 257 characters"],
  ["a user with a line feed", { ...GOOD, user: "a\nb" }, "user holds a control"],
  ["a user with U+0000", { ...GOOD, user: "a\0b" }, "user holds a control"],
  ["a user with a bidi control", { ...GOOD, user: "a\u202eb" }, "user holds a control"],
  ["a user with half a pair", { ...GOOD, user: "a\ud800" }, "user holds a lone surrogate"],
  ["a number for a user", { ...GOOD, user: 7 }, "user is no string"],
  ["an account of null", { ...GOOD, account: null }, "account is no string"],
  ["an account of no characters", { ...GOOD, account: "" }, "account has 0 characters"],
  ["a long account", { ...GOOD, account: LONG + "x" }, "account has 257"],
  ["an account with a control character", { ...GOOD, account: "\u009f" }, "account holds"],
  ["a session of no characters", { ...GOOD, session: "" }, "session has 0 characters"],
  ["a session that is a list", { ...GOOD, session: ["s"] }, "session is no string"],
  ["a session with a line separator", { ...GOOD, session: "\u2028" }, "session holds"],
  ["no topics", { user: "ada" }, "topics are no list"],
  ["topics of null", { ...GOOD, topics: null }, "topics are no list"],
  ["a text for topics", { ...GOOD, topics: "orders" }, "topics are no list"],
  ["an object for topics", { ...GOOD, topics: { 0: "t", length: 1 } }, "topics are no list"],
  ["an empty list of topics", { ...GOOD, topics: [] }, "there are 0 topics"],
  ["257 topics", { ...GOOD, topics: Array(257).fill("t") }, "there are 257 topics"],
  ["everything for a topic", { ...GOOD, topics: [""] }, "a topic has 0 characters"],
  ["everything among the topics", { ...GOOD, topics: ["t", ""] }, "a topic has 0 characters"],
  ["a long topic", { ...GOOD, topics: [LONG + "x"] }, "a topic has 257 characters"],
  ["a topic with a line feed", { ...GOOD, topics: ["a\nb"] }, "a topic holds a control"],
  ["a topic with half a pair", { ...GOOD, topics: ["\udc00"] }, "lone surrogate"],
  ["a topic of null", { ...GOOD, topics: [null] }, "a topic is no string"],
  ["a list with a hole", { ...GOOD, topics: Array(1) }, "a topic is no string"],
  ["an expiry of null", { ...GOOD, expiresAt: null }, "no finite number"],
  ["an expiry in words", { ...GOOD, expiresAt: String(NOW + 1) }, "no finite number"],
  ["an expiry that is no number", { ...GOOD, expiresAt: NaN }, "no finite number"],
  ["an expiry of never", { ...GOOD, expiresAt: Infinity }, "no finite number"],
  ["an expiry now", { ...GOOD, expiresAt: NOW }, "not in the future"],
  ["an expiry in the past", { ...GOOD, expiresAt: NOW - 1 }, "not in the future"],
  ["an expiry of 0", { ...GOOD, expiresAt: 0 }, "not in the future"],
];

for (const [what, value, says] of BAD) {
  test(`a ticket stands for no claims with ${what}`, () => {
    // The type is what is put to the test.
    const error = assertThrows(() => checkClaims(value as Claims, NOW), TicketError);
    assertEquals(error.fault, "claims");
    assert(error.message.includes(says), error.message);
    assert(error.message.length < 200, error.message);
    assertEquals(readClaims(value, NOW), null);
  });
}

test("claims at their bounds are taken", () => {
  const most = {
    user: LONG,
    account: LONG,
    session: LONG,
    topics: Array.from({ length: 256 }, (_, n) => String(n).padEnd(256, "x")),
    expiresAt: NOW + Number.MIN_VALUE + 1,
  };
  for (const value of [most, GOOD, { ...GOOD, topics: ["t"], user: "x" }]) {
    assertEquals(checkClaims(value, NOW), value);
    assertEquals(readClaims(value, NOW), value);
  }
});

test("what stands beside the claims is not kept, and a field that is undefined is none", () => {
  const more = {
    ...GOOD,
    account: undefined,
    expiresAt: undefined,
    admin: true,
    __proto__: { a: 1 },
  };
  const checked = checkClaims(more, NOW);
  assertEquals(Object.keys(checked), ["user", "topics"]);
  assertEquals(checked, GOOD);
});

test("claims that change after the check have no effect", () => {
  const topics = ["orders"];
  const checked = checkClaims({ user: "ada", topics }, NOW);
  topics.push("");
  assertEquals(checked.topics, ["orders"]);
});

test("every claims within the bounds come back from JSON exactly as they were", () => {
  fc.assert(fc.property(claims, (value) => {
    const checked = checkClaims(value, NOW);
    assertEquals(checked, value);
    assertEquals(readClaims(JSON.parse(JSON.stringify(checked)), NOW), value);
  }));
});

test("an error about claims never repeats a value of them", () => {
  const secret = "s3cr3t";
  const text = fc.string({ unit: "binary", maxLength: 300 }).map((more) => secret + more);
  const value = fc.record({
    user: text,
    account: text,
    session: fc.oneof(text, fc.constant(7)),
    topics: fc.oneof(text, fc.array(text, { maxLength: 3 })),
    expiresAt: fc.oneof(text, fc.double()),
  }, { requiredKeys: [] });
  fc.assert(fc.property(value, (claims) => {
    try {
      checkClaims(claims as unknown as Claims, NOW);
    } catch (error) {
      assert(error instanceof TicketError);
      assert(!error.message.includes(secret), error.message);
    }
  }));
});
