import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import { systemClock } from "../../../src/hub/clock.ts";
import { cap, type HubOptions, type HubSettings, readOptions } from "../../../src/hub/options.ts";
import { test } from "../../support/test.ts";

const MIB = 1_048_576;
const MINUTES = 60_000;
const RING = { maxEvents: 1024, ttlMs: 10 * MINUTES };

/** Reads options as a program without types would pass them. */
const read = (options: unknown): HubSettings => readOptions(options as HubOptions);

function refusal(options: unknown): ConfigError {
  return assertThrows(() => read(options), ConfigError);
}

test("the defaults are those of the table", () => {
  assertEquals(readOptions({}), {
    maxEvents: 0,
    ttlMs: Infinity,
    maxBytes: 64 * MIB,
    replyMaxEvents: 0,
    clientBuffer: 256,
    clientBufferBytes: 4 * MIB,
    maxClients: Infinity,
    keepaliveMs: 15_000,
    keepaliveEvent: "sse:keepalive",
    reconnectDelayMs: 1500,
    reconnectJitterMs: 0,
    writeTimeoutMs: 30_000,
    revalidateSpreadMs: 0,
    versionEpoch: null,
    slow: "reset",
    onPresence: null,
    logger: console,
    clock: systemClock,
  });
});

test("defaults that follow another option follow it", () => {
  const ring = readOptions({ replay: RING });
  assertEquals([ring.replyMaxEvents, ring.clientBuffer], [256, 1024]);
  const small = readOptions({ replay: { ...RING, maxEvents: 10 } });
  assertEquals([small.replyMaxEvents, small.clientBuffer], [10, 256]);
  assertEquals(readOptions({ keepaliveMs: 1000 }).writeTimeoutMs, 2000);
  assertEquals(readOptions({ slow: "lag" }).writeTimeoutMs, 60_000);
  assertEquals(readOptions({ slow: "lag", keepaliveMs: 40_000 }).writeTimeoutMs, 80_000);
});

test("undefined and null keep every default", () => {
  const names: (keyof HubOptions)[] = [
    ...["replay", "clientBuffer", "clientBufferBytes", "maxClients", "keepaliveMs"] as const,
    ...["keepaliveEvent", "reconnectDelayMs", "reconnectJitterMs", "writeTimeoutMs"] as const,
    ...["revalidateSpreadMs", "versionEpoch", "slow", "onPresence", "logger", "clock"] as const,
  ];
  const defaults = readOptions({});
  for (const nothing of [undefined, null]) {
    assertEquals(read(Object.fromEntries(names.map((name) => [name, nothing]))), defaults);
    const replay = {
      maxEvents: nothing,
      ttlMs: nothing,
      maxBytes: nothing,
      replyMaxEvents: nothing,
    };
    assertEquals(read({ replay }), defaults);
  }
});

/** For each option: values that are refused, and what the message must hold besides the name. */
const REFUSED: readonly (readonly [string, (value: unknown) => unknown, unknown, string])[] = [
  ["replay.maxEvents", (maxEvents) => ({ replay: { ...RING, maxEvents } }), -1, "least is 0"],
  ["replay.ttlMs", (ttlMs) => ({ replay: { ttlMs } }), 0, "least is 1"],
  ["replay.ttlMs", (ttlMs) => ({ replay: { ttlMs } }), -1, "least is 1"],
  ["replay.ttlMs", (ttlMs) => ({ replay: { ttlMs } }), 74_999, "least is 75000"],
  ["replay.ttlMs", (ttlMs) => ({ replay: { maxEvents: 1, ttlMs } }), undefined, "maxEvents"],
  ["replay.maxBytes", (maxBytes) => ({ replay: { maxBytes } }), MIB - 1, `least is ${MIB}`],
  ["replay.replyMaxEvents", (n) => ({ replay: { ...RING, replyMaxEvents: n } }), -1, "least is 0"],
  ["replay.replyMaxEvents", (n) => ({ replay: { ...RING, replyMaxEvents: n } }), 1025, "1024"],
  ["replay.replyMaxEvents", (n) => ({ replay: { replyMaxEvents: n } }), 1, "maxEvents, 0"],
  ["clientBuffer", (clientBuffer) => ({ clientBuffer }), 0, "least is 1"],
  ["clientBuffer", (clientBuffer) => ({ clientBuffer }), -5, "least is 1"],
  ["clientBufferBytes", (n) => ({ clientBufferBytes: n }), MIB - 1, `least is ${MIB}`],
  ["keepaliveMs", (keepaliveMs) => ({ keepaliveMs }), 0, "least is 1"],
  ["keepaliveMs", (keepaliveMs) => ({ keepaliveMs }), -1, "least is 1"],
  ["keepaliveEvent", (keepaliveEvent) => ({ keepaliveEvent }), "a\rb", "CR"],
  ["keepaliveEvent", (keepaliveEvent) => ({ keepaliveEvent }), "a\n", "LF"],
  ["keepaliveEvent", (keepaliveEvent) => ({ keepaliveEvent }), "\0", "NUL"],
  ["reconnectDelayMs", (n) => ({ reconnectDelayMs: n }), 0, "least is 1"],
  ["reconnectDelayMs", (n) => ({ reconnectDelayMs: n }), -1, "least is 1"],
  ["reconnectJitterMs", (n) => ({ reconnectJitterMs: n }), -1, "least is 0"],
  ["writeTimeoutMs", (n) => ({ writeTimeoutMs: n }), 0, "least is 1"],
  ["writeTimeoutMs", (n) => ({ writeTimeoutMs: n }), 15_000, "above keepaliveMs, 15000"],
  ["writeTimeoutMs", (n) => ({ writeTimeoutMs: n }), 14_999, "above keepaliveMs, 15000"],
  ["revalidateSpreadMs", (n) => ({ revalidateSpreadMs: n }), -1, "least is 0"],
  ["versionEpoch", (versionEpoch) => ({ versionEpoch }), "", "16 lowercase hex"],
  ["versionEpoch", (versionEpoch) => ({ versionEpoch }), "00C0FFEE00C0FFEE", "16 lowercase hex"],
  ["versionEpoch", (versionEpoch) => ({ versionEpoch }), "0".repeat(17), "16 lowercase hex"],
  ["slow", (slow) => ({ slow }), "drop", '"reset" or "lag"'],
  ["slow", (slow) => ({ slow }), "", '"reset" or "lag"'],
  ["slow", (slow) => ({ slow }), "LAG", '"reset" or "lag"'],
];

test("each option refuses its own value, and the error names the option and the bound", () => {
  for (const [option, options, value, bound] of REFUSED) {
    const error = refusal(options(value));
    assertEquals(error.option, option);
    assert(error.message.includes(option), error.message);
    assert(error.message.includes(bound), error.message);
  }
});

test("every number refuses what is not a whole number", () => {
  const numbers: readonly (readonly [string, (value: unknown) => unknown])[] = [
    ["replay.maxEvents", (n) => ({ replay: { ...RING, maxEvents: n } })],
    ["replay.ttlMs", (n) => ({ replay: { ...RING, ttlMs: n } })],
    ["replay.maxBytes", (n) => ({ replay: { ...RING, maxBytes: n } })],
    ["replay.replyMaxEvents", (n) => ({ replay: { ...RING, replyMaxEvents: n } })],
    ["clientBuffer", (n) => ({ clientBuffer: n })],
    ["clientBufferBytes", (n) => ({ clientBufferBytes: n })],
    ["keepaliveMs", (n) => ({ keepaliveMs: n })],
    ["reconnectDelayMs", (n) => ({ reconnectDelayMs: n })],
    ["reconnectJitterMs", (n) => ({ reconnectJitterMs: n })],
    ["writeTimeoutMs", (n) => ({ writeTimeoutMs: n })],
    ["revalidateSpreadMs", (n) => ({ revalidateSpreadMs: n })],
  ];
  for (const [option, options] of numbers) {
    for (const value of [1.5, NaN, Infinity, -Infinity, 2 ** 53, "1000", true, {}, [2000]]) {
      assertEquals(refusal(options(value)).option, option, String(value));
    }
  }
});

test("values at the bound are taken", () => {
  readOptions({ replay: { maxEvents: 1, ttlMs: 75_000, maxBytes: MIB, replyMaxEvents: 0 } });
  readOptions({ replay: { maxEvents: 0 } });
  readOptions({ replay: { ...RING, replyMaxEvents: 1024 } });
  readOptions({ clientBuffer: 1, clientBufferBytes: MIB, reconnectDelayMs: 1 });
  readOptions({ keepaliveMs: 1, writeTimeoutMs: 2 });
  readOptions({ keepaliveEvent: "", versionEpoch: "00c0ffee00c0ffee" });
});

test("a ring's age must outlive a client's watchdog, whatever the keepalive", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 3_600_000 }), (keepaliveMs) => {
    const floor = Math.max(3 * keepaliveMs, 15_000) + 30_000;
    const options = (ttlMs: number): HubOptions => ({
      keepaliveMs,
      replay: { maxEvents: 9, ttlMs },
    });
    assertEquals(readOptions(options(floor)).ttlMs, floor);
    const error = refusal(options(floor - 1));
    assertEquals(error.option, "replay.ttlMs");
    assert(error.message.includes(String(floor)), error.message);
  }));
});

test("maxClients is never refused: what is not positive means no cap", () => {
  for (const value of [0, -1, -Infinity, Infinity, undefined, null, NaN]) {
    assertEquals(read({ maxClients: value }).maxClients, Infinity, String(value));
  }
  assertEquals(readOptions({ maxClients: 3 }).maxClients, 3);
  assertEquals([cap(0), cap(-7), cap(12)], [Infinity, Infinity, 12]);
});

test("the order in which options are written never changes the answer", () => {
  const good: HubOptions = {
    writeTimeoutMs: 3000,
    keepaliveMs: 1000,
    slow: "lag",
    clientBuffer: 5,
    revalidateSpreadMs: 10,
    reconnectJitterMs: 5,
  };
  const mixed = { ...good, writeTimeoutMs: 1000 };
  const replay = { replyMaxEvents: 4, maxBytes: MIB, maxEvents: 4, ttlMs: 45_000 };
  const shuffled = <T extends object>(object: T): fc.Arbitrary<T> =>
    fc.shuffledSubarray(Object.entries(object), { minLength: Object.keys(object).length })
      .map((entries) => Object.fromEntries(entries) as T);
  fc.assert(
    fc.property(shuffled(good), shuffled(mixed), shuffled(replay), (fine, wrong, ring) => {
      assertEquals(readOptions({ ...fine, replay: ring }), readOptions({ ...good, replay }));
      assertEquals(readOptions({ replay: ring, ...fine }), readOptions({ ...good, replay }));
      assertEquals(refusal({ ...wrong, replay: ring }).option, "writeTimeoutMs");
      assertEquals(refusal({ replay: ring, ...wrong }).option, "writeTimeoutMs");
    }),
    { numRuns: 50 },
  );
});

test("an option's own value is refused before any rule between two", () => {
  // The write timeout breaks the rule with the keepalive too, but the keepalive is wrong by itself.
  assertEquals(refusal({ writeTimeoutMs: 1, keepaliveMs: 0 }).option, "keepaliveMs");
  const replay = { maxEvents: 5, replyMaxEvents: 9 };
  assertEquals(refusal({ replay, slow: "x" }).option, "slow");
});

test("no derived wait is longer than a timer can hold", () => {
  for (const keepaliveMs of [1_073_741_823, 1_073_741_824, 2_147_483_646]) {
    assert(readOptions({ keepaliveMs }).writeTimeoutMs <= 2_147_483_647, String(keepaliveMs));
  }
});

test("a keepalive name that UTF-8 cannot carry is refused: the hello could not say it", () => {
  assertEquals(refusal({ keepaliveEvent: "a\ud800" }).option, "keepaliveEvent");
});

test("hooks, logger and clock are kept as they were handed in", () => {
  const onPresence = (): void => {};
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const clock = { ...systemClock };
  const settings = readOptions({ onPresence, logger, clock });
  assert(settings.onPresence === onPresence);
  assert(settings.logger === logger && settings.clock === clock);
});
