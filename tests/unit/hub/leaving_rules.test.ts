import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, RING, settle } from "./harness.ts";

/** How much later than it falls due something may come, at the steps in which time passes here. */
const TICK_MS = 250;

/** Lets time pass as an event loop does: between two timers promises settle. */
async function pass(clock: { advance(ms: number): void }, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    clock.advance(Math.min(left, 50));
    await settle();
  }
}

const waits = fc.constantFrom(0, 1, 40, 300, 1000);
const drains = fc.record({
  lameDuckMs: waits,
  spreadMs: waits,
  /** Whether each client declares lag, and after how many steps it comes. */
  clients: fc.array(fc.record({ lag: fc.boolean(), comes: fc.nat({ max: 12 }) }), {
    maxLength: 12,
  }),
  gapAt: fc.nat({ max: 30 }),
});

test("whoever is there when a drain begins to send away is told once and in time, and misses nothing before", async () => {
  const property = fc.asyncProperty(drains, async ({ lameDuckMs, spreadMs, clients, gapAt }) => {
    const { hub, clock } = bench({ replay: RING });
    const began = clock.monotonic();
    let over = false;
    hub.drain({ lameDuckMs, spreadMs }).then(() => over = true);
    const admitted: Client[] = [];
    const published: string[] = [];
    const until = lameDuckMs + spreadMs + 2 * TICK_MS;
    for (let step = 0; step <= until / 50; step++) {
      for (const { lag } of clients.filter(({ comes }) => comes === step)) {
        const serves = hub.state === "lame_duck";
        assertEquals(hub.serve(ask(), {}).status, serves ? 200 : 503);
        if (serves) admitted.push(new Client(hub, {}, { lag }));
      }
      if (step === gapAt && hub.state !== "stopped") hub.gap();
      const data = String(step);
      if (hub.publish({ data }) > 0) published.push(data);
      await pass(clock, 50);
      const elapsed = clock.monotonic() - began;
      if (elapsed < lameDuckMs) assertEquals(hub.state, "lame_duck");
      if (elapsed > lameDuckMs + TICK_MS) assert(hub.state !== "lame_duck");
      for (const { sink, data } of admitted.filter(({ sink }) => !sink.ended)) {
        assertEquals(data.at(-1), published.at(-1), "publishing goes on for those still there");
        assert(!sink.destroyed);
      }
    }
    for (const { story, sink, data } of admitted) {
      assertEquals(sink.ended, true, "told in time");
      assertEquals(story.filter((word) => word === "sse:reset").length, 1, "told once");
      assertEquals(story.at(-1), "sse:reset", "and then nothing");
      const from = published.indexOf(data[0] ?? "");
      assertEquals(data, data.length === 0 ? [] : published.slice(from, from + data.length));
    }
    // The probes were never read: a runtime that takes nothing holds a shutdown for a while, no longer.
    await pass(clock, 30_000 + TICK_MS);
    assertEquals([over, hub.state, clock.pending], [true, "stopped", 0]);
  });
  await fc.assert(property, { numRuns: 30 });
});

const expiries = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("serve" as const), ms: fc.nat({ max: 100_000 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("extend" as const),
        client: fc.nat({ max: 4 }),
        ms: fc.oneof(fc.constant(Infinity), fc.integer({ min: -1000, max: 100_000 })),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("leave" as const), client: fc.nat({ max: 4 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("wait" as const),
        ms: fc.constantFrom(50, 300, 5000, 30_000),
      }),
    },
  ),
  { maxLength: 20 },
);

test("no authority ends early or more than a look late, nobody is told in vain, and no timer is left", async () => {
  const property = fc.asyncProperty(expiries, async (script) => {
    const { hub, clock } = bench({ replay: RING });
    const made: {
      client: Client;
      end: number;
      set: number;
      gone: boolean;
      sets: number;
      notices: number;
    }[] = [];
    for (const step of script) {
      const one = "client" in step ? made[step.client % Math.max(1, made.length)] : undefined;
      if (step.do === "serve") {
        const expiresAt = clock.now() + step.ms + 1;
        const client = new Client(hub, { expiresAt });
        await settle();
        made.push({ client, end: expiresAt, set: clock.now(), gone: false, sets: 1, notices: 0 });
      } else if (step.do === "leave" && one !== undefined) {
        one.client.sink.leave();
        one.gone = true;
      } else if (step.do === "extend" && one !== undefined) {
        const end = clock.now() + step.ms;
        const { connection = "" } = one.client.hello;
        const known = !one.gone && !one.client.sink.ended;
        assertEquals(hub.extend(connection, end), known);
        if (known) Object.assign(one, { end, set: clock.now(), sets: one.sets + 1 });
      } else if (step.do === "wait") {
        for (let left = step.ms; left > 0; left -= TICK_MS) {
          clock.advance(Math.min(left, TICK_MS));
          await settle();
          judge();
        }
      }
      judge();
    }
    function judge(): void {
      const now = clock.now();
      for (const one of made) {
        const { client, end, set, gone } = one;
        const notices = client.named("sse:expiring");
        if (notices.length > one.notices) {
          const { in_ms: left } = JSON.parse(notices.at(-1) ?? "");
          assert(end - now <= 60_000 && left > 0 && left <= 60_000, `${end - now} left`);
        }
        one.notices = notices.length;
        assert(one.notices <= one.sets, "once for each end that was set");
        if (gone) continue;
        if (client.sink.ended) {
          assert(now >= end, "never early");
          assert(notices.length > 0 || end - set <= TICK_MS, "never without a word");
          one.gone = true;
        } else assert(now <= Math.max(end, set) + TICK_MS, "never more than a look late");
      }
    }
    for (const { client, gone } of made) if (!gone) client.sink.leave();
    await settle();
    assertEquals(clock.pending, 0);
  });
  await fc.assert(property, { numRuns: 60 });
});

test("what is published during a slow client's goodbye is neither covered by an id nor passed as a hole", async () => {
  const made = bench({ slow: "lag", clientBuffer: 2, replay: { ...RING, maxEvents: 4 } });
  const { hub, clock } = made;
  const behind = new Client(hub, {}, { lag: true });
  await settle();
  behind.sink.refuse();
  // Two wait in its queue, and the next four in the ring.
  for (let n = 1; n <= 7; n++) {
    hub.publish({ data: String(n) });
    await pass(clock, 300);
  }
  const silent = new Client(hub, {}, {}, false);
  // The others are told later: so long is the hub open for what is published.
  const others = [new Client(hub), new Client(hub)];
  void hub.drain({ lameDuckMs: 0, spreadMs: 1000 });
  await pass(clock, 300);
  for (let n = 8; n <= 11; n++) hub.publish({ data: String(n) });
  behind.sink.accept();
  silent.sink.accept();
  await settle();
  const [lag] = behind.named("sse:lag").map((data) => JSON.parse(data));
  const first = Number(lag.from.split(":")[1]);
  assertEquals([first + lag.missed, lag.to.split(":")[1]], [7, "7"], "the whole hole is told");
  assertEquals(
    behind.data,
    [...Array(first).keys()].map((n) => String(n + 1)).concat("8 9 10 11".split(" ")),
  );
  assertEquals(
    silent.story.filter((word) => word.startsWith("#")),
    [],
    "an id would cover what it lacks",
  );
  assertEquals(others.map(({ data }) => data.at(-1)), ["11", "11"]);
  assertEquals([behind.story.at(-1), silent.story.at(-1)], ["sse:reset", "sse:reset"]);
});

test("a frame larger than a chunk is not kept back by the gap before it", async () => {
  const { hub } = bench({ replay: RING });
  const [, client] = [new Client(hub), new Client(hub)];
  await settle();
  hub.gap({ spreadMs: 1000 });
  const data = "x".repeat(70_000);
  hub.publish({ data });
  await settle();
  assertEquals(client.data, [data]);
});

test("a gap that could not be spread is refused by name, and consumes nothing", () => {
  const { hub } = bench({ replay: RING });
  for (const spreadMs of [-1, 0.5, NaN, Infinity]) {
    assertThrows(() => hub.gap({ spreadMs }), ConfigError, "spreadMs");
  }
  assertEquals(hub.position().head, 0);
});
