import { assert, assertEquals } from "@std/assert";
import { digestHandler } from "../../../src/hub/digest.ts";
import { test } from "../../support/test.ts";
import { asked, EPOCH, home, same, send, subject, unasked } from "./digest_requests.ts";

/** One broken request for each rule, in the wire's order. */
const good = subject(1);
const RULES: readonly (readonly [string, unknown])[] = [
  ["epoch", { epoch: "x", subjects: [good] }],
  ["subjects is missing", { epoch: EPOCH }],
  ["most is 256", { epoch: EPOCH, subjects: Array.from({ length: 257 }, (_, i) => subject(i)) }],
  ["kind", { epoch: EPOCH, subjects: [{ ...good, kind: "Chat" }] }],
  ["ref", { epoch: EPOCH, subjects: [{ ...good, ref: "x".repeat(513) }] }],
  ["version", { epoch: EPOCH, subjects: [{ ...good, version: "" }] }],
  ["same kind and ref", { epoch: EPOCH, subjects: [good, { ...good, version: "2" }] }],
];

test("each rule has its refusal, which names it", async () => {
  const handler = digestHandler(home, unasked);
  for (const [rule, request] of RULES) {
    const { status, headers, body } = await send(handler, request);
    assertEquals([status, body.code], [400, "digest_invalid"], rule);
    assert(String(body.error).includes(rule), `${body.error} names ${rule}`);
    assertEquals(headers.get("X-Content-Type-Options"), "nosniff");
  }
});

test("of two broken rules the first in the wire's order is named", async () => {
  const bad = { kind: "Bad", ref: "x".repeat(513), version: "" };
  const many = Array.from({ length: 257 }, () => bad);
  const cases: readonly (readonly [string, unknown])[] = [
    ["epoch", { epoch: "x", subjects: "none" }],
    ["epoch", { epoch: "x", subjects: many }],
    ["most is 256", { epoch: EPOCH, subjects: many }],
    ["kind", { epoch: EPOCH, subjects: [bad] }],
    ["ref", { epoch: EPOCH, subjects: [{ ...bad, kind: "ok" }] }],
    ["version", { epoch: EPOCH, subjects: [good, { ...good, version: "\n" }] }],
    ["same kind and ref", { epoch: EPOCH, subjects: [good, good, bad] }],
    ["subjects[1]: kind", { epoch: EPOCH, subjects: [good, bad, good] }],
  ];
  for (const [rule, request] of cases) {
    const { body } = await send(digestHandler(home, unasked), request);
    assert(String(body.error).includes(rule), `${body.error} names ${rule}`);
  }
});

test("the bounds of a subject are bytes, and are exact", async () => {
  const status = async (changes: Record<string, unknown>): Promise<number> =>
    (await asked([{ ...good, ...changes }])).status;
  for (const kind of ["a", "a".repeat(32), "a_1", "z9_"]) assertEquals(await status({ kind }), 200);
  for (const kind of ["", "a".repeat(33), "_a", "1a", "A", "a-b", "a b", "é", "a\n", 5, null]) {
    assertEquals(await status({ kind }), 400, String(kind));
  }
  for (const ref of ["", "x".repeat(512), "é".repeat(256), "😀".repeat(128), "a b/c:d"]) {
    assertEquals(await status({ ref }), 200, ref);
  }
  for (const ref of ["x".repeat(513), "é".repeat(257), "a\n", "\u2028", "\u202e", "\0", 5, null]) {
    assertEquals(await status({ ref }), 400, String(ref));
  }
  for (const version of ["1", " ", "~".repeat(64)]) assertEquals(await status({ version }), 200);
  for (const version of ["", "~".repeat(65), "é", "a\n", "\u007f", 5, null, undefined]) {
    assertEquals(await status({ version }), 400, String(version));
  }
});

test("what is not a JSON object is refused as invalid, unknown fields are not", async () => {
  const handler = digestHandler(home, same);
  for (const body of ["", "{", "null", "[]", "1", '"x"']) {
    const { status, body: answer } = await send(handler, body);
    assertEquals([status, answer.code], [400, "digest_invalid"], body);
  }
  const extra = { epoch: EPOCH, subjects: [{ ...good, extra: 1 }], more: { nested: true } };
  assertEquals((await send(handler, extra)).status, 200);
});
