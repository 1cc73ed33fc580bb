import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ProtocolError } from "../../../src/errors.ts";
import { formatHello, type Hello, parseHello, VERDICTS } from "../../../src/wire/hello.ts";
import { test } from "../../support/test.ts";

const EPOCH = "00c0ffee00c0ffee";

const epochs = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((bits) => bits.toString(16).padStart(16, "0"));
const positive = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const hellos: fc.Arbitrary<Hello> = fc.record({
  wire: positive,
  epoch: epochs,
  floor: fc.maxSafeNat(),
  head: fc.maxSafeNat(),
  resumed: fc.boolean(),
  verdict: fc.constantFrom(...VERDICTS),
  keepaliveMs: positive,
  keepaliveEvent: fc.string({ unit: "binary" }),
  connection: fc.option(fc.string(), { nil: undefined }),
  repair: fc.constantFrom(true, undefined),
  revalidateSpreadMs: fc.option(positive, { nil: undefined }),
  versionEpoch: fc.option(epochs, { nil: undefined }),
}, { noNullPrototype: true });

const WIRE = {
  wire: 1,
  epoch: EPOCH,
  floor: "3",
  head: "9",
  resumed: true,
  verdict: "resumed",
  keepalive_ms: 15_000,
  keepalive_event: "sse:keepalive",
};

test("a hello is written as the wire's JSON, offsets as decimal strings", () => {
  const hello: Hello = {
    wire: 1,
    epoch: EPOCH,
    floor: 0,
    head: 9_007_199_254_740_991,
    resumed: false,
    verdict: "fresh",
    keepaliveMs: 15_000,
    keepaliveEvent: "",
  };
  assertEquals(
    formatHello(hello),
    `{"wire":1,"epoch":"${EPOCH}","floor":"0","head":"9007199254740991","resumed":false,` +
      '"verdict":"fresh","keepalive_ms":15000,"keepalive_event":""}',
  );
  const more = { connection: "c", repair: true, revalidateSpreadMs: 5, versionEpoch: EPOCH };
  assertEquals(
    formatHello({ ...hello, ...more }).split('"keepalive_event":"",')[1],
    `"connection":"c","repair":true,"revalidate_spread_ms":5,"version_epoch":"${EPOCH}"}`,
  );
});

test("what is false or 0 among the optional fields is left out", () => {
  const text = formatHello({
    ...parseHello(JSON.stringify(WIRE)),
    repair: false,
    revalidateSpreadMs: 0,
  });
  assertEquals(JSON.parse(text), WIRE);
});

test("a hello of the seed's hub, without our fields, is read", () => {
  assertEquals(parseHello(JSON.stringify(WIRE)), {
    wire: 1,
    epoch: EPOCH,
    floor: 3,
    head: 9,
    resumed: true,
    verdict: "resumed",
    keepaliveMs: 15_000,
    keepaliveEvent: "sse:keepalive",
    connection: undefined,
    repair: undefined,
    revalidateSpreadMs: undefined,
    versionEpoch: undefined,
  });
});

test("every hello survives writing and reading", () => {
  fc.assert(fc.property(hellos, (hello) => assertEquals(parseHello(formatHello(hello)), hello)));
});

test("a hello is one line whatever its fields hold: it fits one data line", () => {
  fc.assert(fc.property(hellos, (hello) => assert(!/[\r\n]/.test(formatHello(hello)))));
});

test("unknown fields and unknown verdicts are a newer hub's, and are no harm", () => {
  const newer = { ...WIRE, wire: 2, verdict: "gap_moon", extra: { nested: [1] }, toString: "x" };
  const hello = parseHello(JSON.stringify(newer));
  assertEquals<unknown>([hello.wire, hello.verdict, hello.resumed], [2, "gap_moon", true]);
  assertEquals(Object.hasOwn(hello, "extra"), false);
});

const REQUIRED = Object.keys(WIRE);

test("every missing field is named", () => {
  for (const name of REQUIRED) {
    const { [name]: _gone, ...rest } = { ...WIRE } as Record<string, unknown>;
    assertThrows(() => parseHello(JSON.stringify(rest)), ProtocolError, `hello's ${name} `);
  }
});

const NOT_A_NUMBER: readonly unknown[] = [0, -1, 1.5, 2 ** 53, "15000", null, true, [1]];
const NOT_AN_EPOCH: readonly unknown[] = [
  "",
  EPOCH + "0",
  EPOCH.toUpperCase(),
  5,
  null,
  "g".repeat(16),
];
const NOT_AN_OFFSET: readonly unknown[] = [
  ...["", "-1", "01", "1.0", "1e3", " 1", "1 ", "0x1", "9007199254740992", "99999999999999999"],
  ...[3, null, true, ["3"]],
];
const OUT_OF_BOUNDS: Readonly<Record<string, readonly unknown[]>> = {
  wire: NOT_A_NUMBER,
  epoch: NOT_AN_EPOCH,
  floor: NOT_AN_OFFSET,
  head: NOT_AN_OFFSET,
  resumed: ["true", 0, 1, null, {}],
  verdict: [0, null, true, ["fresh"]],
  keepalive_ms: NOT_A_NUMBER,
  keepalive_event: [0, null, true, {}],
  connection: [0, null, {}],
  repair: ["true", 0, null],
  revalidate_spread_ms: NOT_A_NUMBER,
  version_epoch: NOT_AN_EPOCH,
};

test("every field out of bounds is named", () => {
  for (const [name, values] of Object.entries(OUT_OF_BOUNDS)) {
    for (const value of values) {
      const data = JSON.stringify({ ...WIRE, [name]: value });
      assertThrows(() => parseHello(data), ProtocolError, `hello's ${name} `);
    }
  }
});

test("a field that only a prototype has is missing", () => {
  const data = JSON.stringify(WIRE).replace('"wire":1,', '"__proto__":{"wire":1},');
  assertThrows(() => parseHello(data), ProtocolError, "hello's wire ");
});

test("what is not a JSON object is refused", () => {
  for (const data of ["", "{", "null", "[]", "1", '"hello"', "true", "undefined", "{}x"]) {
    assertThrows(() => parseHello(data), ProtocolError, "hello is not");
  }
});

test("a refusal is always a ProtocolError, whatever the data", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (data) => {
    assertThrows(() => parseHello(data), ProtocolError);
  }));
});

test("the seven verdicts are listed in the order in which they are judged", () => {
  assertEquals<readonly string[]>(VERDICTS, [
    ...["fresh", "cursor_invalid", "epoch_changed", "gap_ahead", "gap_floor", "gap_budget"],
    "resumed",
  ]);
});
