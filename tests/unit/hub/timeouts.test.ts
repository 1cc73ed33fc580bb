import { assert, assertEquals } from "@std/assert";
import { createHub } from "../../../src/hub/hub.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { test } from "../../support/test.ts";
import { bench, Client, Lines, RING, settle } from "./harness.ts";

test("a keepalive comes every interval, busy or not, with an id alone before it", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000 });
  const client = new Client(hub);
  const elsewhere = { topic: "elsewhere", data: "x" };
  clock.advance(1000);
  assertEquals(client.story.slice(3), ["#0", "sse:keepalive"]);
  const quiet = new Client(hub, { topics: ["quiet"] });
  hub.publish(elsewhere);
  hub.publish(elsewhere);
  clock.advance(1000);
  await settle();
  assertEquals(quiet.story, ["retry 1500", "sse:hello", "#0", "#2", "sse:keepalive"]);
  for (let i = 0; i < 10; i++) {
    hub.publish({ data: "busy" });
    await settle();
    clock.advance(500);
  }
  assertEquals(client.named("sse:keepalive").length, 7);
  assertEquals(client.named("sse:keepalive")[0], "{}");
});

test("the keepalive has the name it was given, or is a comment", () => {
  const named = bench({ keepaliveMs: 1000, keepaliveEvent: "ping" });
  const a = new Client(named.hub);
  named.clock.advance(1000);
  assertEquals(a.named("ping"), ["{}"]);
  const silent = bench({ keepaliveMs: 1000, keepaliveEvent: "" });
  const b = new Client(silent.hub);
  silent.clock.advance(1000);
  assertEquals(b.story.slice(3), ["#0", ": keepalive"]);
});

test("at most one keepalive waits for a peer that takes nothing", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000, writeTimeoutMs: 60_000 });
  const client = new Client(hub);
  client.sink.refuse();
  clock.advance(30_000);
  client.sink.accept();
  await settle();
  assertEquals(client.named("sse:keepalive").length, 2, "the one answered with no, and the next");
});

test("a peer that takes nothing while bytes wait is dead after the write timeout", async () => {
  const { hub, clock, presence } = bench({ keepaliveMs: 1000, writeTimeoutMs: 5000 });
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "answered with no" });
  await settle();
  hub.publish({ data: "waits" });
  await settle();
  clock.advance(4900);
  assertEquals(hub.clientCount, 1);
  clock.advance(200);
  await settle();
  assertEquals([hub.clientCount, client.sink.destroyed, client.sink.ended], [0, true, false]);
  assertEquals([presence[1]?.cause, presence[1]?.write], ["dead", "frame"]);
  assertEquals([hub.metrics().abandoned, clock.pending], [1, 0]);
});

test("the write timeout counts from the last take", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000, writeTimeoutMs: 5000, replay: RING });
  const client = new Client(hub);
  client.sink.refuse();
  for (let i = 0; i < 20; i++) {
    hub.publish({ data: "x".repeat(60_000) });
    await settle();
  }
  for (let i = 0; i < 15; i++) {
    clock.advance(4500);
    client.sink.acceptOne();
    await settle();
    assertEquals(hub.clientCount, 1, "slow, but alive");
  }
  clock.advance(5100);
  assertEquals(hub.clientCount, 0);
});

test("a peer for which nothing waits is never timed out", async () => {
  const { hub, clock } = bench({ keepaliveMs: 60_000, writeTimeoutMs: 70_000 });
  const client = new Client(hub);
  client.sink.refuse();
  clock.advance(59_000);
  assertEquals(hub.clientCount, 1);
  // A keepalive is a real write: it fills what the runtime takes, and the next one waits.
  clock.advance(1000);
  clock.advance(60_000);
  assertEquals(hub.clientCount, 1);
  clock.advance(80_000);
  await settle();
  assertEquals(hub.clientCount, 0);
});

test("a silent peer on a quiet stream is found by the keepalives, as dead by keepalive", async () => {
  const { hub, clock, presence } = bench({ keepaliveMs: 1000 });
  const client = new Client(hub);
  client.sink.refuse();
  clock.advance(10_000);
  await settle();
  assertEquals([presence[1]?.cause, presence[1]?.write], ["dead", "keepalive"]);
  assertEquals(client.sink.destroyed, true);
});

test("a response whose body nobody ever reads is ended by the write timeout", async () => {
  const { hub, clock, presence } = bench();
  const clients = [new Client(hub, {}, {}, false), new Client(hub, {}, {}, false)];
  clock.advance(29_000);
  assertEquals(hub.clientCount, 2);
  clock.advance(1500);
  await settle();
  assertEquals([hub.clientCount, clock.pending, presence.length], [0, 0, 0]);
  assert(clients.every(({ sink }) => sink.destroyed));
});

test("under lag too the timeout ends the stopped", async () => {
  const { hub, clock } = bench({ slow: "lag", replay: RING, clientBuffer: 2, keepaliveMs: 1000 });
  const client = new Client(hub, {}, { lag: true });
  client.sink.refuse();
  for (let i = 0; i < 50; i++) {
    hub.publish({ data: "x" });
    clock.advance(1000);
    await settle();
  }
  assertEquals(hub.clientCount, 1, "lag keeps the slow for at least a minute");
  clock.advance(15_000);
  await settle();
  assertEquals(hub.clientCount, 0);
});

test("a clock that begins at 0 is a clock like any other", async () => {
  const clock = new FakeClock();
  const hub = createHub({ clock, keepaliveMs: 100, writeTimeoutMs: 1000, logger: new Lines() });
  new Client(hub, {}, {}, false);
  clock.advance(1200);
  await settle();
  assertEquals(hub.clientCount, 0);
});

test("10 000 connections do not all get their keepalive in one tick", () => {
  const { hub, clock } = bench();
  const clients = Array.from({ length: 10_000 }, () => new Client(hub));
  const taken = (): number => clients.reduce((sum, { sink }) => sum + sink.chunks.length, 0);
  let before = taken();
  let most = 0;
  for (let ms = 0; ms < 15_000; ms += 50) {
    clock.advance(50);
    const after = taken();
    most = Math.max(most, after - before);
    before = after;
  }
  assertEquals(before, 20_000, "the opening and one keepalive each");
  assert(most <= 500, `${most} in one tick`);
});
