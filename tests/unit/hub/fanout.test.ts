import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { respond } from "../../../src/hub/respond.ts";
import { readOptions } from "../../../src/hub/options.ts";
import { Roster } from "../../../src/hub/roster.ts";
import { peerOf, type Sink } from "../../../src/hub/sink.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { hears } from "../../model/history.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, settle } from "./harness.ts";

const TOPICS = ["a", "b", "c", "d"];

test("every connection receives exactly what a filter over all events would give it", async () => {
  const topicSets = fc.option(fc.subarray(TOPICS, { minLength: 1 }), { nil: null });
  await fc.assert(
    fc.asyncProperty(
      fc.array(topicSets, { minLength: 1, maxLength: 12 }),
      fc.array(fc.constantFrom("", ...TOPICS, "nobody's"), { maxLength: 40 }),
      async (listeners, published) => {
        const { hub } = bench();
        const clients = listeners.map((topics) =>
          new Client(hub, topics === null ? {} : { topics })
        );
        for (const [i, topic] of published.entries()) hub.publish({ topic, data: String(i) });
        await settle();
        for (const [i, topics] of listeners.entries()) {
          const expected = published.flatMap((topic, n) => hears(topics, topic) ? [String(n)] : []);
          assertEquals(clients[i]?.data, expected);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("replay has the same filter as live frames", () => {
  const { hub } = bench({ replay: { maxEvents: 100, ttlMs: 75_000 } });
  const { epoch } = hub.position();
  for (const topic of ["a", "b", "", "c", "a", "b"]) hub.publish({ topic, data: topic || "all" });
  const replayed = (topics: string[]): string[] =>
    new Client(hub, { topics }, { cursor: `${epoch}:0` }).data;
  assertEquals(replayed(["a"]), ["a", "all", "a"]);
  assertEquals(replayed(["b", "c"]), ["b", "all", "c", "b"]);
  assertEquals(replayed(["nobody's"]), ["all"]);
  assertEquals(replayed([]), ["a", "b", "all", "c", "a", "b"]);
});

test("what is published in one turn leaves in one chunk", async () => {
  const { hub } = bench();
  const { sink } = new Client(hub);
  const opening = sink.chunks.length;
  for (let i = 0; i < 10; i++) hub.publish({ data: String(i) });
  await settle();
  assertEquals(sink.chunks.length - opening, 1);
});

test("a sink that says no is never written to until it asks", async () => {
  const { hub } = bench();
  const client = new Client(hub);
  client.sink.refuse();
  for (let i = 0; i < 5; i++) {
    hub.publish({ data: String(i) });
    await settle();
  }
  assertEquals(client.data, ["0"], "the chunk that was answered with no");
  assertEquals(hub.queuedFrames, 4);
  client.sink.accept();
  assertEquals([client.data, client.sink.overruns], [["0", "1", "2", "3", "4"], 0]);
});

/** A sink that keeps the very arrays it is given. */
class KeepingSink implements Sink {
  readonly chunks: Uint8Array[] = [];

  write(bytes: Uint8Array): boolean {
    this.chunks.push(bytes);
    return false;
  }

  end(): void {}

  destroy(): void {}
}

function crowd(count: number): { roster: Roster; sinks: KeepingSink[]; ready: () => void } {
  const clock = new FakeClock();
  clock.advance(1000);
  const settings = { ...readOptions({}), clock, maxEvents: 100, replyMaxEvents: 100 };
  const roster = new Roster(settings);
  const sinks = Array.from({ length: count }, () => new KeepingSink());
  const peers = sinks.map((sink) => {
    const peer = peerOf(respond(roster, ask(), {}).body);
    assert(peer !== undefined);
    peer.attach(sink);
    peer.ready();
    return peer;
  });
  return { roster, sinks, ready: () => peers.forEach((peer) => peer.ready()) };
}

test("connections with the same frames waiting are given the same bytes, not copies", async () => {
  const { roster, sinks, ready } = crowd(20);
  ready();
  for (let i = 0; i < 5; i++) roster.fanout.offer(roster.log.append({ data: String(i) }));
  await settle();
  const last = sinks.map(({ chunks }) => chunks[chunks.length - 1]);
  assert(last.every((chunk) => chunk !== undefined && chunk === last[0]));
});

test("what was joined is forgotten when the turn is over, also when a sink asked for it", async () => {
  const { roster, sinks, ready } = crowd(2);
  for (let i = 0; i < 5; i++) roster.fanout.offer(roster.log.append({ data: String(i) }));
  await settle();
  // The sinks take what waits only now, and nothing is published afterwards.
  ready();
  await settle();
  const sent = sinks[0]?.chunks[1];
  const again = roster.joiner.join([...roster.log.matching(0, null)]);
  assertEquals(again, sent);
  assert(again !== sent, "a chunk that has left is not kept");
});
