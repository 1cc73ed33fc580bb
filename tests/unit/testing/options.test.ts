import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  fixtureFlags,
  type FixtureOptions,
  hubOptions,
  parseFixtureArguments,
} from "../../../src/testing/fixture/options.ts";
import { readOptions } from "../../../src/hub/options.ts";
import { test } from "../../support/test.ts";

test("without flags it binds a free port of 127.0.0.1, drives directly, and keeps every default", () => {
  assertEquals(parseFixtureArguments([]), {
    hostname: "127.0.0.1",
    port: 0,
    direct: true,
    stopWithStdin: false,
    drain: null,
    options: {},
  });
  const settings = readOptions(hubOptions({}));
  assertEquals(
    [settings.maxEvents, settings.ttlMs, settings.replyMaxEvents, settings.clientBuffer],
    [1024, 600_000, 256, 4096],
  );
});

test("every settings object comes back from the flags it is written as", () => {
  const count = fc.nat();
  const settings = fc.record({
    keepaliveMs: count,
    replayEvents: count,
    replayTtlMs: count,
    replayBytes: count,
    replyMax: count,
    clientBuffer: count,
    clientBufferBytes: count,
    maxClients: count,
    writeTimeoutMs: count,
    slow: fc.constantFrom("reset" as const, "lag" as const),
    journal: fc.constantFrom("memory", "sqlite:events.db", "nats:nats://127.0.0.1:4222/room1"),
    relay: fc.constantFrom("nats:nats://127.0.0.1:4222/room1", "redis:redis://127.0.0.1:6379/a"),
    origin: fc.constantFrom("pod-1", "b"),
    tickets: fc.constantFrom("memory", "redis:redis://127.0.0.1:6379/a"),
  }, { requiredKeys: [] });
  fc.assert(fc.property(settings, (options: FixtureOptions) => {
    assertEquals({ ...parseFixtureArguments(fixtureFlags(options)).options }, { ...options });
  }));
});

test("a small ring takes its reply cap along, so that it stands alone on a command line", () => {
  assertEquals(readOptions(hubOptions({ replayEvents: 8 })).replyMaxEvents, 8);
  assertEquals(readOptions(hubOptions({ replayEvents: 0 })).replyMaxEvents, 0);
});

test("an address and the Node switch are read", () => {
  const parsed = parseFixtureArguments(["--addr", "127.0.0.2:8080", "--direct", "off"]);
  assertEquals([parsed.hostname, parsed.port, parsed.direct], ["127.0.0.2", 8080, false]);
});

test("tickets alone are kept where the pods share a Redis already, else in memory", () => {
  const tickets = (...argv: string[]): string | undefined =>
    parseFixtureArguments(argv).options.tickets;
  const redis = "redis:redis://127.0.0.1:6379/a";
  assertEquals(tickets("--tickets"), "memory");
  assertEquals(tickets("--tickets", "--relay", redis, "--origin", "a"), redis);
  assertEquals(tickets("--journal", redis, "--tickets"), redis);
  assertEquals(tickets("--relay", "nats:nats://127.0.0.1:4222", "--tickets"), "memory");
  assertEquals(tickets("--tickets", redis), redis);
  assertEquals(tickets(), undefined);
});

test("a drain is asked for by either of its parts; the other one is then none", () => {
  const drain = (...argv: string[]): unknown => parseFixtureArguments(argv).drain;
  const [duck, spread] = [["--lame-duck-ms", "500"], ["--drain-spread-ms", "2000"]] as const;
  assertEquals(drain(...duck), { lameDuckMs: 500, spreadMs: 0 });
  assertEquals(drain(...spread), { lameDuckMs: 0, spreadMs: 2000 });
  assertEquals(drain(...spread, ...duck), { lameDuckMs: 500, spreadMs: 2000 });
  assertThrows(() => drain("--lame-duck-ms", "soon"), TypeError, "a whole number");
});

test("a relay of the name none is no relay", () => {
  assertEquals(parseFixtureArguments(["--relay", "none"]).options, {});
});

test("an unknown flag, a missing value and a value out of bounds are refused", () => {
  const refused: [string[], string][] = [
    [["--nonsense", "1"], "--nonsense"],
    [["--max-clients"], "its value is missing"],
    [["--max-clients", "-1"], "a whole number"],
    [["--max-clients", "1.5"], "a whole number"],
    [["--max-clients", ""], "a whole number"],
    [["--slow", "down"], "reset or lag"],
    [["--direct", "yes"], "on or off"],
    [["--addr", "8080"], "HOST:PORT"],
    [["--addr", "127.0.0.1:70000"], "HOST:PORT"],
    [["--addr", "127.0.0.1:x"], "a whole number"],
  ];
  for (const [argv, message] of refused) {
    assertThrows(() => parseFixtureArguments(argv), TypeError, message);
  }
});
