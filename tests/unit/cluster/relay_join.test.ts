import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { joinRelay } from "../../../src/cluster/join_relay.ts";
import type { JoinOptions } from "../../../src/cluster/types.ts";
import { ConfigError } from "../../../src/errors.ts";
import { RelayError } from "../../../src/errors/relay.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { encodeEnvelope } from "../../../src/relay/envelope.ts";
import type { Relay, RelayListener, RelaySubscription } from "../../../src/relay/relay.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { test } from "../../support/test.ts";
import { Client, Lines, settle } from "../hub/harness.ts";
import { event, RelayBench } from "./relay_bench.ts";

/** A relay whose subscription is what a test makes of it. */
function relayOf(listen: Relay["listen"]): Relay {
  return { maxBytes: Infinity, send: () => {}, listen, close: () => Promise.resolve() };
}

test("an event reaches the clients of all pods, each once, and its own pod at once", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  const clients = [one, other].map(({ hub }) => new Client(hub, { topics: ["a"] }));
  one.hub.publish({ topic: "a", name: "said", data: "1\n2" });
  one.hub.publish({ topic: "b", data: "not theirs" });
  one.hub.publish({ data: new TextEncoder().encode("ü"), ephemeral: true });
  await settle();
  for (const client of clients) assertEquals(client.data, ["1\n2", "ü"]);
  assertEquals(clients[1]?.events[0]?.name, "said");
  assertEquals([one.hub.position().head, other.hub.position().head], [2, 2]);
  const { echoes, sent } = one.membership.metrics();
  assertEquals(echoes, sent, "its own came back, and were dropped");
  assertEquals(other.membership.metrics().sent, 1, "nothing is sent on: its own join alone");
  await bench.end(one, other);
  assertEquals(bench.clock.pending, 0);
});

test("ready settles when the broker has confirmed, and what was published before is sent", async () => {
  const bench = new RelayBench();
  const other = await bench.pod("other");
  bench.world.interrupt("one");
  const one = bench.join("one", createHub({ clock: bench.clock }));
  let ready = false;
  void one.membership.ready.then(() => ready = true);
  await bench.pass(3000);
  assertEquals(ready, false);
  bench.world.restore("one");
  one.hub.publish({ data: "early" });
  await settle();
  assertEquals([ready, other.hub.snapshot().map(({ event }) => event.data)], [true, ["early"]]);
  assertEquals(other.membership.metrics().gaps, 0);
  await bench.end(one, other);
});

test("a broker that does not confirm in time leaves the hub by itself", async () => {
  const clock = new FakeClock();
  const logger = new Lines();
  const hub = createHub({ clock });
  let closed = 0;
  let confirm = (_: RelaySubscription): void => {};
  // One that does not heed the signal, and confirms when nobody waits any more.
  const relay = relayOf(() => new Promise((resolve) => confirm = resolve));
  const membership = joinRelay(hub, relay, { readyMs: 500, clock, logger });
  await settle();
  clock.advance(499);
  await settle();
  assertEquals(logger.lines, []);
  clock.advance(1);
  const error = await assertRejects(() => membership.ready, RelayError, "within 500 ms");
  assertEquals(error.fault, "unavailable");
  assertEquals(logger.lines.length, 1);
  confirm({ close: () => Promise.resolve(void closed++) });
  await settle();
  assertEquals([closed, clock.pending], [1, 0]);
  // It can join another one.
  hub.relayTo({ check: () => {}, send: () => {} });
  await membership.leave();
});

test("who has published and could not join says goodbye, so that nobody takes it for dead", async () => {
  const bench = new RelayBench();
  const other = await bench.pod("other");
  const relay: Relay = {
    ...bench.world.relay("one"),
    listen: () => new Promise(() => {}),
  };
  const hub = createHub({ clock: bench.clock });
  const options = { readyMs: 500, clock: bench.clock, logger: new Lines() };
  const membership = joinRelay(hub, relay, options);
  hub.publish({ data: "1" });
  await settle();
  assertEquals(other.membership.siblings().map(({ n }) => n), [1]);
  await bench.pass(500);
  await assertRejects(() => membership.ready, RelayError);
  hub.publish({ data: "2" });
  await bench.pass(30_000);
  const { gaps, siblings } = other.membership.metrics();
  assertEquals([gaps, siblings, other.hub.position().head], [0, 0, 1]);
  await bench.end(other);
});

test("a relay that refuses says why, however it does", async () => {
  const hub = createHub();
  const logger = new Lines();
  const refuse = async (listen: Relay["listen"]): Promise<RelayError> =>
    await assertRejects(() => joinRelay(hub, relayOf(listen), { logger }).ready, RelayError);
  const own = new RelayError("closed", "it has been closed");
  assertEquals(await refuse(() => Promise.reject(own)), own);
  const thrown = await refuse(() => {
    throw new Error("no rights");
  });
  assertEquals([thrown.fault, String(thrown.cause)], ["failed", "Error: no rights"]);
});

test("who leaves says goodbye once, and is by itself then", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  const client = new Client(one.hub);
  const leaving = one.membership.leave();
  assertEquals(one.membership.leave(), leaving);
  await leaving;
  assertEquals(bench.sent.filter(({ kind }) => kind === "leave").length, 1);
  one.hub.publish({ data: "here" });
  other.hub.publish({ data: "there" });
  await bench.pass(30_000);
  assertEquals(client.data, ["here"]);
  assertEquals(other.hub.snapshot().map(({ event }) => event.data), ["there"]);
  const { gaps, siblings } = other.membership.metrics();
  assertEquals([gaps, siblings], [0, 0], "a goodbye is no crash");
  assertEquals(await one.membership.ask({ do: "disconnect", user: "ann" }, 0), null);
  await bench.end(one, other);
  assertEquals(bench.clock.pending, 0);
});

test("who has left hears nothing, even of a relay that goes on talking", async () => {
  const hub = createHub();
  let listener: RelayListener = { message: () => {}, resumed: () => {} };
  const relay = relayOf((given) => {
    listener = given;
    return Promise.resolve({ close: () => Promise.reject(new Error("not now")) });
  });
  const logger = new Lines();
  const membership = joinRelay(hub, relay, { logger });
  await membership.ready;
  const stamp = { origin: "other", boot: "5".repeat(16), n: 1 };
  listener.message(encodeEnvelope({ ...stamp, seq: 1 }, event("1")));
  assertEquals(hub.position().head, 1);
  await membership.leave();
  listener.message(encodeEnvelope({ ...stamp, seq: 2, n: 2 }, event("2")));
  listener.resumed();
  assertEquals([hub.position().head, membership.metrics().received], [1, 1]);
  assertEquals(logger.lines, ["warn: The relay's subscription did not end: Error: not now"]);
});

test("who leaves before it has joined never joins", async () => {
  const bench = new RelayBench();
  bench.world.interrupt("one");
  const { hub, membership, logger } = bench.join("one", createHub({ clock: bench.clock }));
  await settle();
  await membership.leave();
  const error = await assertRejects(() => membership.ready, RelayError);
  assertEquals([error.fault, logger.lines], ["closed", []]);
  bench.world.restore("one");
  await settle();
  hub.publish({ data: "1" });
  await settle();
  assertEquals(bench.sent, []);
  assertEquals(bench.clock.pending, 0);
});

test("who leaves while the broker's word is on its way ends the subscription", async () => {
  const hub = createHub();
  let closed = 0;
  const relay = relayOf(() => Promise.resolve({ close: () => Promise.resolve(void closed++) }));
  for (let turns = 0; turns < 12; turns++) {
    closed = 0;
    const membership = joinRelay(hub, relay, { logger: new Lines() });
    for (let i = 0; i < turns; i++) await Promise.resolve();
    await membership.leave();
    await membership.ready.catch(() => {});
    await settle();
    assertEquals([turns, closed], [turns, 1]);
  }
});

test("a hub joins one relay at a time", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  assertThrows(() => joinRelay(one.hub, bench.world.relay("two")), TypeError, "siblings already");
  await one.membership.leave();
  const again = bench.join("one", one.hub);
  await again.membership.ready;
  await bench.end(again);
});

test("an event that the relay cannot carry reaches nobody", async () => {
  const bench = new RelayBench({ maxBytes: 5000 });
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  const client = new Client(one.hub);
  for (const data of ["x".repeat(4950), "ü".repeat(2475), new Uint8Array(4950).fill(65)]) {
    const error = assertThrows(() => one.hub.publish({ data }), RelayError, "the most is 5000");
    assertEquals(error.fault, "too_large");
  }
  const named = { name: "n".repeat(5000), data: "" };
  assertThrows(() => one.hub.publish(named), RelayError, "a head of");
  assertEquals(one.hub.publish({ data: "x".repeat(4700) }), 1, "no offset was consumed");
  assertEquals(one.hub.publish({ data: "1" }), 2);
  await settle();
  assertEquals([client.data.length, other.hub.position().head], [2, 2]);
  assertEquals(one.membership.metrics().unsent, 0);
  assertEquals(other.membership.metrics().gaps, 0, "nobody was counted");
  await bench.end(one, other);
});

test("an event that another pod's longer id would make too large is refused here", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  const room = 1_048_576 - `id: ${"f".repeat(16)}:1\ndata: \n\n`.length;
  assertThrows(() => one.hub.publish({ data: "x".repeat(room) }), Error, "the cap is 1048576");
  assertEquals(one.hub.publish({ data: "x".repeat(room), ephemeral: true }), 0);
  assertEquals(one.hub.publish({ data: "x".repeat(room - 15) }), 1);
  await bench.end(one);
});

test("options out of bounds are refused by name", () => {
  const hub = createHub();
  const relay = relayOf(() => Promise.reject(new Error()));
  const bad: JoinOptions[] = [
    ...["", "a b", "a".repeat(65)].map((origin) => ({ origin })),
    ...[-1, 1.5, NaN, 2 ** 31].map((spreadMs) => ({ spreadMs })),
    ...[0, -1, Infinity].map((readyMs) => ({ readyMs })),
    ...[0, 2 ** 31].map((beatMs) => ({ beatMs })),
  ];
  for (const options of bad) {
    const error = assertThrows(() => joinRelay(hub, relay, options), ConfigError);
    assertEquals(error.option, Object.keys(options)[0]);
  }
  // What opens a relay may be asynchronous, and not have been awaited.
  const unawaited = Promise.resolve(relay) as unknown as Relay;
  assertEquals(assertThrows(() => joinRelay(hub, unawaited), ConfigError).option, "relay");
  assert(
    joinRelay(hub, relay, { logger: new Lines() }).origin.length === 16,
    "none is left joined",
  );
});
