import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { relayOpenMetrics } from "../../../src/cluster/join_relay.ts";
import { openHub } from "../../../src/cluster/open_hub.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { decodeEnvelope, encodeEnvelope, type Envelope } from "../../../src/relay/envelope.ts";
import { JournalClient } from "../../model/journal_client.ts";
import { readOpenMetrics } from "../../model/open_metrics.ts";
import { test } from "../../support/test.ts";
import { Client, Lines, settle } from "../hub/harness.ts";
import { event, type Pod, RelayBench } from "./relay_bench.ts";

/** Loses whatever of some kind is sent from one pod to another. */
function lose(
  bench: RelayBench,
  path: string,
  kinds: readonly Envelope["kind"][] = ["event"],
): void {
  const { fate } = bench.world;
  bench.world.fate = (passage) => {
    const usual = fate(passage);
    const reading = decodeEnvelope(passage.message);
    const kind = "envelope" in reading ? reading.envelope.kind : "leave";
    return `${passage.from}>${passage.to}` === path && kinds.includes(kind) ? "drop" : usual;
  };
}

const gaps = ({ membership }: Pod): number => membership.metrics().gaps;

test("after a loss who understands it is told, and others are sent away to be told", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other", { spreadMs: 1000 })];
  const clients = [true, false].map((lag) => new Client(other.hub, {}, { lag }));
  const { fate } = bench.world;
  one.hub.publish({ data: "1" });
  await settle();
  const cursor = `${other.hub.position().epoch}:${other.hub.position().head}`;
  lose(bench, "one>other");
  one.hub.publish({ data: "lost" });
  await settle();
  bench.world.fate = fate;
  const { sent } = other.membership.metrics();
  one.hub.publish({ data: "3" });
  await bench.pass(2000);
  assertEquals(other.membership.metrics().sent, sent, "there is nobody else to be asked");
  const [told, away] = clients;
  assertEquals(told?.data, ["1", "3"]);
  assertEquals(told?.story.filter((one) => one.startsWith("sse:")), ["sse:hello", "sse:lag"]);
  assert((told?.story.indexOf("sse:lag") ?? 9) < (told?.story.indexOf("3") ?? 0), "where it stood");
  assertEquals(told?.named("sse:lag").map((data) => JSON.parse(data).missed), [null]);
  assertEquals([away?.named("sse:reset").length, away?.sink.ended], [1, true]);
  assertEquals(new Client(other.hub, {}, { cursor }).hello.verdict, "gap_floor");
  assertEquals([gaps(one), gaps(other)], [0, 1]);
  assertEquals(other.logger.lines.length, 1);
  await bench.end(one, other);
});

test("a loss that nothing follows is seen by the next beat", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one", { beatMs: 700 }), await bench.pod("other")];
  lose(bench, "one>other");
  one.hub.publish({ data: "lost" });
  await settle();
  assertEquals(gaps(other), 0);
  await bench.pass(750);
  assertEquals(gaps(other), 1);
  await bench.end(one, other);
});

test("a lost ephemeral event is nobody's loss", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  lose(bench, "one>other");
  one.hub.publish({ data: "lost", ephemeral: true });
  await bench.pass(12_000);
  assertEquals([gaps(one), gaps(other)], [0, 0]);
  await bench.end(one, other);
});

test("what was lost together is told once, when all siblings have said how far they are", async () => {
  const bench = new RelayBench();
  const pods = await Promise.all(["a", "b", "c", "d"].map((name) => bench.pod(name)));
  const [a, b, c, d] = pods as [Pod, Pod, Pod, Pod];
  await bench.pass(3000);
  bench.world.interrupt("d");
  for (const { hub } of [a, b, c]) hub.publish({ data: "lost" });
  await settle();
  bench.world.restore("d");
  await settle();
  assertEquals(gaps(d), 1, "as soon as the last one has answered");
  for (const { hub } of [a, b, c]) hub.publish({ data: "heard" });
  await bench.pass(8000);
  assertEquals([a, b, c, d].map(gaps), [0, 0, 0, 1]);
  assertEquals(d.hub.position().head, 4);
  await bench.end(...pods);
});

test("an interruption is a loss, whether or not anything is missing", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  bench.world.interrupt("one");
  bench.world.restore("one");
  await settle();
  assertEquals(gaps(one), 1);
  await bench.end(one);
});

test("a sibling that does not answer holds nobody up for longer than a second", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  await bench.pass(3000);
  bench.world.interrupt("one", "other");
  bench.world.restore("other");
  await settle();
  await bench.pass(900);
  assertEquals(gaps(other), 0);
  await bench.pass(250);
  assertEquals(gaps(other), 1);
  bench.world.restore("one");
  await bench.end(one, other);
});

test("a relay that loses all the time sends clients away no more often than it may", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other", { spreadMs: 2000 })];
  await bench.pass(3000);
  let n = 0;
  bench.world.fate = ({ from, to }) =>
    from === "one" && to === "other" && n++ % 2 ? "drop" : "deliver";
  for (let i = 0; i < 40; i++) {
    one.hub.publish({ data: String(i) });
    await bench.pass(250);
  }
  assert(gaps(other) >= 4 && gaps(other) <= 6, `${gaps(other)} in 10 s`);
  await bench.end(one, other);
});

test("a pod that dies without a word is a loss, one that says goodbye is none", async () => {
  for (const [how, expected] of [["crash", 1], ["leave", 0]] as const) {
    const bench = new RelayBench();
    const [one, other] = [await bench.pod("one"), await bench.pod("other")];
    if (how === "crash") await one.relay.close();
    await one.membership.leave();
    await bench.pass(14_000);
    assertEquals(gaps(other), 0);
    await bench.pass(7000);
    assertEquals([how, gaps(other), other.membership.siblings()], [how, expected, []]);
    await bench.end(one, other);
  }
});

test("who joins late takes its siblings as they are", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  for (let i = 0; i < 5; i++) one.hub.publish({ data: String(i) });
  const other = await bench.pod("other");
  assertEquals(other.membership.siblings().map(({ origin, n }) => [origin, n]), [["one", 5]]);
  one.hub.publish({ data: "5" });
  await bench.pass(8000);
  assertEquals([gaps(other), other.hub.position().head], [0, 1]);
  await bench.end(one, other);
});

test("who was served before the subscription stood is told that it may have missed something", async () => {
  const bench = new RelayBench();
  const hub = createHub({ clock: bench.clock, slow: "lag" });
  bench.world.interrupt("one");
  const one = bench.join("one", hub);
  const client = new Client(hub, {}, { lag: true });
  await settle();
  bench.world.restore("one");
  await bench.pass(500);
  assertEquals([client.named("sse:lag").length, gaps(one)], [1, 1]);
  await bench.end(one);
});

test("pods of one name hear each other, and are found out", async () => {
  const bench = new RelayBench();
  const pods = [];
  for (const name of ["one", "two"]) pods.push(await bench.pod(name, { origin: "same" }));
  const [one, two] = pods as [Pod, Pod];
  await bench.pass(20_000);
  one.hub.publish({ data: "1" });
  two.hub.publish({ data: "2" });
  await bench.pass(20_000);
  for (const { hub, logger, membership } of [one, two]) {
    assertEquals(hub.position().head, 2);
    assertEquals(logger.lines.filter((line) => line.startsWith("error: Two pods")).length, 1);
    assertEquals(membership.metrics().gaps, 0);
  }
  await bench.end(one, two);
});

test("a pod that starts again under its name is not taken for a twin of itself", async () => {
  const bench = new RelayBench();
  const other = await bench.pod("other");
  const one = await bench.pod("one", { origin: "same" });
  await one.membership.leave();
  const again = await bench.pod("again", { origin: "same" });
  again.hub.publish({ data: "1" });
  await bench.pass(20_000);
  assertEquals(other.hub.position().head, 1);
  for (const { logger } of [other, again]) assertEquals(logger.lines, []);
  assertEquals(gaps(other), 0);
  await bench.end(one, other, again);
});

test("a predecessor's last words are no twin's", async () => {
  const bench = new RelayBench();
  const one = bench.join("one", createHub({ clock: bench.clock, slow: "lag" }));
  await one.membership.ready;
  const client = new Client(one.hub, {}, { lag: true });
  const before = bench.stranger("before");
  before.stamp = { ...before.stamp, origin: "one", seq: 7, n: 3 };
  await before.say(event("last"), 4);
  await before.say({ kind: "beat", beatMs: 5000 });
  await before.say({ kind: "leave" });
  await bench.pass(30_000);
  assertEquals([client.data, one.logger.lines, gaps(one)], [["last"], [], 0]);
  await bench.end(one);
});

test("who leaves while siblings are still asked tells its clients first", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  const client = new Client(other.hub, {}, { lag: true });
  bench.world.interrupt("one", "other");
  bench.world.restore("other");
  await settle();
  assertEquals(gaps(other), 0);
  await other.membership.leave();
  await settle();
  assertEquals([gaps(other), client.named("sse:lag").length], [1, 1]);
  await bench.end(one, other);
  assertEquals(bench.clock.pending, 0);
});

test("pods over one journal pass ephemeral events on, and are told of no loss", async () => {
  const bench = new RelayBench();
  const journal = createMemoryJournal();
  const hubs = await Promise.all(
    [1, 2].map(() => openHub({ journal, clock: bench.clock, logger: new Lines() })),
  );
  const pods = hubs.map((hub, i) => bench.join(`pod-${i}`, hub));
  for (const { membership } of pods) await membership.ready;
  const clients = hubs.map((hub) => new JournalClient(hub));
  await hubs[0]?.publish({ data: "kept" });
  await bench.pass(500);
  await hubs[0]?.publish({ data: "flash", ephemeral: true });
  await bench.pass(500);
  for (const client of clients) assertEquals(client.data, ["kept", "flash"]);
  assertEquals(bench.sent.filter(({ kind }) => kind === "event").length, 1);
  bench.world.interrupt("pod-1");
  bench.world.restore("pod-1");
  const stranger = bench.stranger("plain");
  await stranger.say(event("durable"), 1);
  await stranger.say(event("again"), 9);
  await bench.pass(30_000);
  for (const { membership, logger } of pods) {
    assertEquals([membership.metrics().gaps, membership.metrics().refused], [0, 2]);
    assertEquals(logger.lines.length, 1);
    assertStringIncludes(logger.lines[0] ?? "", "plain sends durable events");
  }
  for (const client of clients) assertEquals(client.data, ["kept", "flash"]);
  await bench.end(...pods);
});

test("what is no envelope does no harm, and fills no log", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  const stranger = bench.stranger("stranger");
  for (let i = 0; i < 500; i++) await stranger.raw(Uint8Array.of(i % 256, 10, 0xff));
  assertEquals([one.membership.metrics().malformed, one.logger.lines.length], [500, 1]);
  await bench.pass(61_000);
  await stranger.raw(new Uint8Array());
  assertStringIncludes(one.logger.lines[1] ?? "", "(and 499 times since the last such line)");

  for (let i = 0; i < 3; i++) await stranger.raw(new TextEncoder().encode('{"v":2}\n'));
  assertEquals([one.membership.metrics().foreign, one.logger.lines.length], [3, 3]);
  assertStringIncludes(one.logger.lines[2] ?? "", "it is of version 2");
  assertEquals([one.membership.metrics().received, gaps(one)], [0, 0]);
  await bench.end(one);
});

test("a sibling's event that the hub refuses is missing here, and clients are told", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  const client = new Client(one.hub, {}, { lag: true });
  const stranger = bench.stranger("stranger");
  await stranger.say(event("1", { name: "sse:reset" }), 1);
  await stranger.say(event("2", { body: Uint8Array.of(0xff) }), 2);
  await stranger.say(event("3", { name: "sse:lag", ephemeral: true }));
  await stranger.say(event("4"), 3);
  assertEquals([one.membership.metrics().refused, client.data], [3, ["4"]]);
  assertEquals(client.named("sse:lag").length, 1);
  assertEquals(one.logger.lines.filter((line) => line.includes("refused")).length, 1);
  await bench.end(one);
});

test("however often it is asked, a pod answers ten times a second at most", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one", { beatMs: 60_000 });
  const stranger = bench.stranger("stranger");
  const before = one.membership.metrics().sent;
  for (let i = 0; i < 1000; i++) await stranger.say({ kind: "join", beatMs: 60_000 });
  assertEquals(one.membership.metrics().sent - before, 1);
  for (let i = 0; i < 100; i++) {
    bench.clock.advance(10);
    await stranger.say({ kind: "join", beatMs: 60_000 });
  }
  const { sent } = one.membership.metrics();
  assert(sent - before >= 10 && sent - before <= 11, `${sent - before}`);
  await bench.end(one);
});

test("what cannot be sent any more is counted and does not disturb who publishes", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  const client = new Client(one.hub);
  await one.relay.close();
  for (let i = 0; i < 3; i++) one.hub.publish({ data: String(i) });
  await settle();
  assertEquals([client.data.length, one.membership.metrics().unsent], [3, 3]);
  assertEquals(one.logger.lines.length, 1);
  await bench.end(one);
});

test("an envelope that comes twice is taken once, whatever it says", async () => {
  const bench = new RelayBench();
  const one = await bench.pod("one");
  const client = new Client(one.hub);
  const stranger = bench.stranger("stranger");
  const said = [event("kept"), event("flash", { ephemeral: true })];
  for (const [i, message] of said.entries()) {
    const stamp = { ...stranger.stamp, seq: i + 1, n: 1 };
    for (let times = 0; times < 3; times++) await stranger.raw(encodeEnvelope(stamp, message));
  }
  assertEquals(client.data, ["kept", "flash"]);
  assertEquals(one.membership.metrics().duplicates, 4);
  await bench.end(one);
});

test("the counters are written as OpenMetrics", async () => {
  const bench = new RelayBench();
  const [one, other] = [await bench.pod("one"), await bench.pod("other")];
  one.hub.publish({ data: "1" });
  await settle();
  const metrics = other.membership.metrics();
  const families = readOpenMetrics(relayOpenMetrics(metrics));
  assertEquals(families.size, Object.keys(metrics).length);
  const value = (name: string): number | undefined =>
    families.get(`tidemark_relay_${name}`)?.samples[0]?.value;
  assertEquals([value("siblings"), value("received")], [1, metrics.received]);
  assertEquals(value("timed_out"), 0);
  await bench.end(one, other);
});
