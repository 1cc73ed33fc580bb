import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Metrics, openMetrics } from "../../../src/hub/metrics.ts";
import { readOpenMetrics } from "../../model/open_metrics.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, RING, settle } from "./harness.ts";

const GAUGES = { clients: 1, queuedFrames: 2, ringEvents: 3, ringBytes: 4, head: 5 };

test("a fresh hub has counted nothing, and says 0 for every verdict and cause", () => {
  const { hub } = bench();
  const { writeDelay, ...metrics } = hub.metrics();
  assertEquals(metrics, {
    clients: 0,
    queuedFrames: 0,
    ringEvents: 0,
    ringBytes: 0,
    head: 0,
    published: 0,
    delivered: 0,
    appendFailures: 0,
    turnedAway: 0,
    refused: 0,
    gaps: 0,
    lagNotices: 0,
    lagMissed: 0,
    abandoned: 0,
    verdicts: {
      fresh: 0,
      cursor_invalid: 0,
      epoch_changed: 0,
      gap_ahead: 0,
      gap_floor: 0,
      gap_budget: 0,
      resumed: 0,
    },
    departures: { closed: 0, dead: 0, evicted: 0, shutdown: 0, hook_failed: 0 },
  });
  assertEquals([writeDelay.count, writeDelay.sum], [0, 0]);
});

test("what happens is counted", async () => {
  const { hub, clock } = bench({ replay: RING, maxClients: 3 });
  const { epoch } = hub.position();
  hub.publish({ data: "1" });
  const clients = ["", "x", `${epoch}:0`].map((cursor) => new Client(hub, {}, { cursor }));
  hub.serve(ask());
  hub.publish({ data: "2" });
  hub.publish({ data: "typing", ephemeral: true });
  await settle();
  clients[0]?.sink.leave();
  clients[1]?.sink.refuse();
  hub.publish({ data: "3" });
  await settle();
  hub.publish({ data: "4" });
  await settle();
  const metrics = hub.metrics();
  assertEquals([metrics.clients, metrics.queuedFrames, metrics.head], [2, 1, 4]);
  assertEquals([metrics.ringEvents, metrics.published, metrics.refused], [4, 5, 1]);
  const { fresh, cursor_invalid, resumed } = metrics.verdicts;
  assertEquals([fresh, cursor_invalid, resumed], [1, 1, 1]);
  assertEquals(metrics.departures.closed, 1);
  // One replayed frame; two to three clients; one to two; one to the one that takes.
  assertEquals(metrics.delivered, 1 + 2 * 3 + 2 + 1);
  const bytes = hub.snapshot().length;
  assertEquals([bytes, metrics.ringBytes > 0], [4, true]);
  clock.advance(600_001);
  assertEquals([hub.metrics().ringEvents, hub.metrics().ringBytes], [0, 0], "it evicts first");
});

test("the delay from publish to write falls into its bucket", async () => {
  const { hub, clock } = bench();
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "at once" });
  await settle();
  hub.publish({ data: "waits" });
  clock.advance(300);
  client.sink.accept();
  await settle();
  const { buckets, count, sum } = hub.metrics().writeDelay;
  const under = (le: number): number => buckets.find((bucket) => bucket.le === le)?.count ?? NaN;
  assertEquals([count, sum], [2, 0.3]);
  assertEquals([under(0.0005), under(0.25), under(0.5), under(Infinity)], [1, 1, 2, 2]);
});

test("a bucket's bound belongs to it: less than or equal", () => {
  const metrics = new Metrics();
  for (const ms of [0.5, 500, 10_000, 10_000.001]) metrics.wrote(1, ms);
  const { buckets } = metrics.read(GAUGES).writeDelay;
  const under = (le: number): number => buckets.find((bucket) => bucket.le === le)?.count ?? NaN;
  assertEquals([under(0.0005), under(0.25), under(0.5), under(10), under(Infinity)], [
    1,
    1,
    2,
    3,
    4,
  ]);
});

test("what was read is a copy: later events do not change it", () => {
  const metrics = new Metrics();
  const before = metrics.read(GAUGES);
  metrics.judged("fresh");
  metrics.departed("dead");
  metrics.published();
  metrics.wrote(3, 10);
  assertEquals([before.verdicts.fresh, before.departures.dead, before.published], [0, 0, 0]);
  assertEquals(before.writeDelay.count, 0);
});

test("whatever was counted, the text is valid OpenMetrics and says the same numbers", () => {
  const delay = fc.oneof(
    fc.double({ min: 0, max: 1e6, noNaN: true }),
    fc.constantFrom(0, 0.5, 1e-9),
  );
  fc.assert(
    fc.property(
      fc.array(delay, { maxLength: 30 }),
      fc.nat(),
      fc.maxSafeNat(),
      (delays, n, head) => {
        const metrics = new Metrics();
        for (const ms of delays) metrics.wrote(2, ms);
        for (let i = 0; i < n % 5; i++) metrics.judged("gap_budget");
        metrics.departed("hook_failed");
        metrics.lagged(n);
        metrics.refused();
        metrics.abandoned();
        const read = metrics.read({ ...GAUGES, head });
        const families = readOpenMetrics(openMetrics(read));
        const value = (
          family: string,
          sample: string,
          labels: Record<string, string> = {},
        ): number => {
          const samples = families.get(`tidemark_${family}`)?.samples ?? [];
          const found = samples.filter((one) =>
            one.name === `tidemark_${sample}` &&
            JSON.stringify(one.labels) === JSON.stringify(labels)
          );
          assertEquals(found.length, 1, sample);
          return found[0]?.value ?? NaN;
        };
        assertEquals(value("head", "head"), head);
        assertEquals(value("clients", "clients"), 1);
        assertEquals(value("delivered", "delivered_total"), delays.length * 2);
        assertEquals(value("lag_missed", "lag_missed_total"), n);
        assertEquals(value("connections", "connections_total", { verdict: "gap_budget" }), n % 5);
        assertEquals(value("departures", "departures_total", { cause: "hook_failed" }), 1);
        assertEquals(value("departures", "departures_total", { cause: "dead" }), 0);
        assertEquals(value("write_delay_seconds", "write_delay_seconds_count"), delays.length);
        assertEquals(value("write_delay_seconds", "write_delay_seconds_sum"), read.writeDelay.sum);
      },
    ),
    { numRuns: 50 },
  );
});

test("the strict reader refuses what a scraper would", () => {
  const good = "# TYPE a counter\n# HELP a A.\na_total 1\n# EOF\n";
  assertEquals(readOpenMetrics(good).get("a")?.samples.length, 1);
  const bad = [
    good.replace("# EOF\n", ""),
    good.replace("# EOF\n", "# EOF"),
    good.replace("a_total", "a"),
    good.replace("a_total 1", "a_total one"),
    good.replace("a_total 1", "a_total -1"),
    good.replace("# EOF", "a_total 1\n# EOF"),
    good.replace("a_total", 'a_total{x="1",x="2"}'),
    good.replace("counter", "histogram"),
    "a_total 1\n# EOF\n",
    good.replace("# HELP a A.\n", ""),
  ];
  for (const text of bad) assertThrows(() => readOpenMetrics(text), Error);
});

test("a hub's own metrics are valid OpenMetrics", async () => {
  const { hub } = bench({ replay: RING });
  new Client(hub);
  hub.publish({ data: "x" });
  await settle();
  const families = readOpenMetrics(openMetrics(hub.metrics()));
  assert(families.size >= 13);
  assertEquals(families.get("tidemark_published")?.samples[0]?.value, 1);
});
