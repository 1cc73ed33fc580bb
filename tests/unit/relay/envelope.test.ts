import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decodeEnvelope,
  encodeEnvelope,
  encodeHead,
  type Envelope,
  MAX_COMMAND_BYTES,
  MAX_HEAD_BYTES,
  type Message,
  type Stamp,
} from "../../../src/relay/envelope.ts";
import { MAX_OFFSET } from "../../../src/wire/timing.ts";
import { MAX_TOPIC_LENGTH } from "../../../src/wire/topic.ts";
import { test } from "../../support/test.ts";

const RUNS = { numRuns: 400, seed: 20_261_201 };
const encoder = new TextEncoder();
const hex = fc.string({
  unit: fc.constantFrom(..."0123456789abcdef"),
  minLength: 16,
  maxLength: 16,
});
const count = fc.oneof(fc.nat(), fc.constantFrom(0, 1, MAX_OFFSET));
const positive = count.map((n) => Math.max(n, 1));
const stamps: fc.Arbitrary<Stamp> = fc.record({
  origin: fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
  boot: hex,
  seq: positive,
  n: positive,
}, { noNullPrototype: true });
const body = (maxLength: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ maxLength });
const topic = fc.string({ unit: "grapheme", maxLength: 20 }).filter((text) =>
  // deno-lint-ignore no-control-regex -- what a topic must not hold
  !/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/.test(text)
);
const beatMs = fc.integer({ min: 1, max: 2_147_483_647 });
const kind = <K extends Message["kind"]>(name: K): fc.Arbitrary<K> => fc.constant(name);
const messages: fc.Arbitrary<Message> = fc.oneof(
  fc.record({
    kind: kind("event"),
    topic,
    name: fc.string({ unit: "grapheme", maxLength: 40 }),
    ephemeral: fc.boolean(),
    body: body(300),
  }),
  fc.record({ kind: kind("beat"), beatMs }),
  fc.record({ kind: kind("join"), beatMs }),
  fc.record({ kind: kind("leave") }),
  fc.record({ kind: kind("command"), id: hex, body: body(300) }),
  fc.record({ kind: kind("reply"), id: hex, to: hex, body: body(300) }),
);
const STAMP: Stamp = { origin: "pod-1", boot: "00c0ffee00c0ffee", seq: 3, n: 2 };

function read(bytes: Uint8Array): Envelope {
  const reading = decodeEnvelope(bytes);
  if (!("envelope" in reading)) throw new Error(reading.reason);
  return reading.envelope;
}

/** The fault of a head with some fields replaced; `undefined` takes one away. */
function faultOf(fields: Record<string, unknown>, rest = ""): string {
  const head = { v: 1, k: "event", o: "pod-1", b: STAMP.boot, s: 3, n: 2, ...fields };
  const reading = decodeEnvelope(encoder.encode(`${JSON.stringify(head)}\n${rest}`));
  return "envelope" in reading ? "none" : reading.fault;
}

test("what one pod writes another reads, whatever it is", () => {
  fc.assert(
    fc.property(stamps, messages, (stamp, message) => {
      assertEquals(read(encodeEnvelope(stamp, message)), { ...message, stamp });
    }),
    RUNS,
  );
});

test("an event's data stands in its envelope as it is, behind one line", () => {
  const data = encoder.encode('{"a":"\n\\"}');
  const message: Message = { kind: "event", topic: "t", name: "n", ephemeral: false, body: data };
  const bytes = encodeEnvelope(STAMP, message);
  const head = encodeHead(STAMP, message);
  assertEquals(
    new TextDecoder().decode(head),
    '{"v":1,"k":"event","o":"pod-1","b":"00c0ffee00c0ffee","s":3,"n":2,"t":"t","e":"n"}\n',
  );
  assertEquals(bytes.slice(head.length), data);
  assertEquals(bytes.length, head.length + data.length);
});

test("the longest topic leaves a head room for a long name", () => {
  const stamp = { origin: "o".repeat(64), boot: "f".repeat(16), seq: MAX_OFFSET, n: MAX_OFFSET };
  const message: Message = {
    ...{ kind: "event", topic: "\ufffd".repeat(MAX_TOPIC_LENGTH), name: "n".repeat(2048) },
    ...{ ephemeral: true, body: new Uint8Array() },
  };
  assert(encodeHead(stamp, message).length <= MAX_HEAD_BYTES);
});

test("no bytes make a reader throw, and none are taken for an envelope that they are not", () => {
  const mangled = fc.tuple(stamps, messages, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 }))))
    .map(([stamp, message, changes]) => {
      const bytes = encodeEnvelope(stamp, message);
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    });
  const json = fc.json().map((text) => encoder.encode(`${text}\n`));
  fc.assert(
    fc.property(fc.oneof(body(200), json, mangled), (bytes) => {
      const reading = decodeEnvelope(bytes);
      if (!("envelope" in reading)) return;
      // What was taken says the same when it is written again.
      const { stamp, ...message } = reading.envelope;
      assertEquals(read(encodeEnvelope(stamp, message)), reading.envelope);
    }),
    { ...RUNS, numRuns: 1500 },
  );
});

test("each rule of the head is asked", () => {
  assertEquals(faultOf({}), "none");
  assertEquals(faultOf({ later: [1] }), "none", "a field of a later version does no harm");
  const broken: Record<string, unknown>[] = [
    ...[undefined, 0, -1, 1.5, "1", null].map((v) => ({ v })),
    ...[undefined, "", "events", 1].map((k) => ({ k })),
    ...[undefined, "", "a b", "a".repeat(65), "ä", 1].map((o) => ({ o })),
    ...[undefined, "", "00C0FFEE00C0FFEE", "0".repeat(15), 1].map((b) => ({ b })),
    ...[undefined, 0, -1, 1.5, "1", MAX_OFFSET + 1].map((s) => ({ s })),
    ...[undefined, 0, -1, 1.5, "1", MAX_OFFSET + 1].map((n) => ({ n })),
    ...["a\nb", "a".repeat(257), 1, null, "\ud800"].map((t) => ({ t })),
    ...[1, null, []].map((e) => ({ e })),
    ...[2, true, null, "1"].map((x) => ({ x })),
    ...[undefined, 0, -1, 2 ** 31, "1"].map((w) => ({ k: "beat", w })),
    ...[undefined, "1", "f".repeat(17)].map((i) => ({ k: "command", i })),
    ...[undefined, "1", 2].map((to) => ({ k: "reply", i: STAMP.boot, to })),
  ];
  for (const fields of broken) {
    assertEquals([fields, faultOf(fields)], [fields, "malformed"]);
  }
  assertEquals(faultOf({ n: 0, x: 1 }), "none", "an ephemeral event is not counted");
  for (const k of ["beat", "join", "leave"]) {
    assertEquals([k, faultOf({ k, w: 1 })], [k, "none"]);
    assertEquals([k, faultOf({ k, w: 1 }, "x")], [k, "malformed"]);
  }
  const id = STAMP.boot;
  assertEquals(faultOf({ k: "command", i: id }, "x".repeat(MAX_COMMAND_BYTES)), "none");
  assertEquals(faultOf({ k: "command", i: id }, "x".repeat(MAX_COMMAND_BYTES + 1)), "malformed");
});

test("an envelope of another version is told from one that is broken", () => {
  assertEquals(faultOf({ v: 2, k: "what it may be then", o: 7 }), "version");
  assertEquals(faultOf({ v: 0 }), "malformed");
});

test("a head that does not end within its bound is not looked at", () => {
  const long = encoder.encode(`{"v":1,"later":"${"x".repeat(MAX_HEAD_BYTES)}"}\n`);
  const reading = decodeEnvelope(long);
  assert("fault" in reading);
  assertEquals(reading, { fault: "malformed", reason: "there is no head within 4096 bytes" });
  assertEquals("fault" in decodeEnvelope(new Uint8Array()), true);
  assertEquals("fault" in decodeEnvelope(Uint8Array.of(0xff, 10)), true);
});
