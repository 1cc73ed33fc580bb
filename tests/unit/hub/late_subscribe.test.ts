import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { HistoryRequest } from "../../../src/hub/types.ts";
import { JournalClient } from "../../model/journal_client.ts";
import { checkClient, type Episode, type Known, type Told } from "../../model/journal_rules.ts";
import { test } from "../../support/test.ts";
import { bench, gate, settle } from "./harness.ts";

type Move =
  | { readonly do: "publish"; readonly topic: string; readonly size: number }
  | {
    readonly do: "connect";
    readonly lag: boolean;
    readonly ready: boolean;
    readonly back: number | null;
    readonly hook: boolean;
    readonly everything: boolean;
    readonly history: HistoryRequest | null;
  }
  | {
    readonly do: "subscribe";
    readonly client: number;
    readonly topic: string;
    readonly history: HistoryRequest | { readonly back: number } | null;
  }
  | { readonly do: "unsubscribe"; readonly client: number; readonly topic: string }
  | { readonly do: "accept" | "acceptOne" | "refuse" | "open"; readonly client: number }
  | { readonly do: "wait"; readonly ms: number };

const client = fc.nat({ max: 4 });
const history: fc.Arbitrary<HistoryRequest> = fc.oneof(
  fc.constant<HistoryRequest>(true),
  fc.record({ last: fc.nat({ max: 6 }) }),
  fc.record({ sinceMs: fc.constant(3_600_000) }),
);
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      topic: fc.constantFrom("", "a", "b", "c"),
      size: fc.oneof(
        { weight: 12, arbitrary: fc.nat({ max: 50 }) },
        { weight: 1, arbitrary: fc.constantFrom(40_000, 70_000) },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("connect" as const),
      ...{ lag: fc.boolean(), ready: fc.boolean(), hook: fc.boolean() },
      everything: fc.constantFrom(true, false, false, false),
      back: fc.option(fc.nat({ max: 20 }), { nil: null }),
      history: fc.option(history, { nil: null }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("subscribe" as const),
      ...{ client, topic: fc.constantFrom("b", "c") },
      history: fc.option(
        fc.oneof(history, fc.record({ back: fc.nat({ max: 20 }) })),
        { nil: null, freq: 5 },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("unsubscribe" as const),
      ...{ client, topic: fc.constantFrom("b", "c") },
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "accept" as const,
        "acceptOne" as const,
        "refuse" as const,
        "open" as const,
      ),
      client,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(10, 300) }),
  },
);

interface Guest extends Told {
  readonly client: JournalClient;
  readonly hook: ReturnType<typeof gate>;
}

/** A ring that keeps all that a script publishes, and clients that join topics at any moment. */
async function play(script: readonly Move[], tally: Record<string, number>): Promise<void> {
  const { hub, clock } = bench({
    replay: { maxEvents: 1000, ttlMs: 600_000, replyMaxEvents: 1000 },
    clientBuffer: 2,
    slow: "lag",
  });
  const { epoch } = hub.position();
  const log: Known[] = [];
  const guests: Guest[] = [];
  for (const one of script) {
    const guest = "client" in one && guests.length > 0
      ? guests[one.client % guests.length]
      : undefined;
    const { head } = hub.position();
    switch (one.do) {
      case "publish": {
        const data = `${log.length} ${"x".repeat(one.size)}`;
        const offset = hub.publish({ topic: one.topic, data });
        log[offset] = { offset, topic: one.topic, data };
        break;
      }
      case "connect": {
        const cursor = one.back === null ? null : Math.max(0, head - one.back);
        const topics = one.everything ? null : ["a"];
        const hook = gate();
        const made = new JournalClient(
          hub,
          {
            ...(topics && { topics }),
            ...(one.history && { history: one.history }),
            ...(one.hook && { onConnect: () => hook.opened }),
          },
          { lag: one.lag, ...(cursor !== null && { cursor: `${epoch}:${cursor}` }) },
          one.ready,
        );
        guests.push({
          ...{ client: made, hook, cursor, topics, lag: one.lag, headThen: head },
          ...{ atConnect: one.history, seen: { floor: 1, head }, episodes: [] },
        });
        break;
      }
      case "subscribe":
        if (guest !== undefined) join(guest, one);
        break;
      case "unsubscribe": {
        const episode = guest?.episodes.find(({ topic, until }) =>
          topic === one.topic && until === null
        );
        if (guest === undefined || episode === undefined) break;
        hub.unsubscribe(guest.client.connection, one.topic);
        episode.until = head;
        break;
      }
      case "open":
        guest?.hook.open();
        break;
      case "wait":
        clock.advance(one.ms);
        break;
      default:
        guest?.client.sink[one.do]();
    }
    await settle();
  }
  for (let i = 0; i < 20; i++) {
    for (const guest of guests) {
      guest.hook.open();
      if (!guest.client.over) guest.client.sink.accept();
    }
    clock.advance(100);
    await settle();
  }
  const world = { log, epoch, floor: 1, head: hub.position().head, budget: 1000 };
  for (const guest of guests) checkClient(guest.client, guest, world, tally);
  const ended = hub.shutdown();
  for (let i = 0; i < 20; i++) {
    clock.advance(1000);
    await settle();
  }
  await ended;
  assertEquals(clock.pending, 0);

  function join(guest: Guest, one: Extract<Move, { do: "subscribe" }>): void {
    const { connection } = guest.client;
    const known = guest.topics === null ||
      guest.episodes.some(({ topic, until }) => topic === one.topic && until === null);
    if (connection === "" || known) return;
    const { head } = hub.position();
    const back = typeof one.history === "object" && one.history !== null && "back" in one.history
      ? Math.max(0, head - one.history.back)
      : null;
    const request = back === null ? one.history as HistoryRequest | null : null;
    const episode: Episode = {
      ...{ topic: one.topic, head, request, after: back },
      ...{ until: null, verdict: null, failed: false },
    };
    guest.episodes.push(episode);
    const options = {
      ...(back !== null && { after: `${epoch}:${back}` }),
      ...(request !== null && { history: request }),
    };
    hub.subscribe(connection, one.topic, options).then((answer) => {
      if (answer === null) guest.episodes.splice(guest.episodes.indexOf(episode), 1);
      else {
        assertEquals(answer.head, head);
        episode.verdict = answer.verdict;
      }
    });
  }
}

test("a topic joined at any moment comes whole: its history without ids, then what is live, each event once", async () => {
  const tally: Record<string, number> = {};
  const scripts = fc.array(move, { minLength: 10, maxLength: 100, size: "max" });
  await fc.assert(fc.asyncProperty(scripts, (script) => play(script, tally)), {
    ...{ numRuns: 400, seed: 20_261_201 },
  });
  for (const what of ["histories", "resumed", "whole"]) {
    assert((tally[what] ?? 0) >= 50, JSON.stringify(tally));
  }
});

test("a history reaches as far as the ring does, and is kept though the ring goes on", async () => {
  const { hub } = bench({ replay: { maxEvents: 5, ttlMs: 600_000 } });
  for (let i = 1; i <= 12; i++) hub.publish({ topic: i % 2 === 0 ? "even" : "odd", data: `${i}` });
  const late = new JournalClient(hub, { topics: ["odd"] });
  late.sink.refuse();
  hub.publish({ topic: "odd", data: "13" });
  await settle();
  await hub.subscribe(late.connection, "even", { history: true });
  for (let i = 14; i <= 16; i++) hub.publish({ topic: "even", data: `${i}` });
  late.sink.accept();
  await settle();
  assertEquals(late.data, ["13", "10", "12", "14", "15", "16"]);
});

test("asked for again, a history ends where the topic began to come live", async () => {
  const { hub } = bench({ replay: { maxEvents: 50, ttlMs: 600_000 } });
  hub.publish({ topic: "b", data: "1" });
  const late = new JournalClient(hub, { topics: [] });
  await hub.subscribe(late.connection, "b", { history: true });
  hub.publish({ topic: "b", data: "2" });
  await settle();
  const again = await hub.subscribe(late.connection, "b", { history: true });
  await settle();
  assertEquals(again, { verdict: "fresh", head: 1 });
  assertEquals(late.data, ["1", "2", "1"]);
});

test("a connection that receives everything is given a history up to where it began", async () => {
  const { hub } = bench({ replay: { maxEvents: 50, ttlMs: 600_000 } });
  hub.publish({ topic: "b", data: "1" });
  const all = new JournalClient(hub);
  hub.publish({ topic: "b", data: "2" });
  const answer = await hub.subscribe(all.connection, "b", { history: true });
  await settle();
  assertEquals(answer?.head, 1);
  assertEquals(all.data, ["2", "1"]);
});
