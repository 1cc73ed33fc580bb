/**
 * Gaps: a hello that did not resume has the application fetch, and the stream goes on from there.
 *
 * @module
 */
import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import type { ClientStream } from "../../support/client_stream.ts";
import { RETRY_MS } from "../../../src/wire/timing.ts";
import { traffic } from "../lib/traffic.ts";
import { causes, cursorOf, give } from "./connect.ts";
import type { Pair, Scenarios } from "./pair.ts";

const FRAME = 65_536;
/** More than the kernel and any runtime take for a peer that does not read. */
const FLOOD = 600;

/** What {@linkcode gaps} expects of the fixture. */
export const TIGHT = {
  keepaliveMs: 200,
  replayEvents: 16,
  replyMax: 8,
  clientBuffer: 16,
  slow: "lag",
} as const;

/** Scenarios on a fixture with {@linkcode TIGHT}. */
export const gaps: Scenarios = {
  "what the server no longer holds is a gap, and what the digest can tell needs no full fetch": (
    pair,
  ) => misses(pair, TIGHT.replayEvents + 4, "gap_floor"),

  "more than a reply may carry is a gap": (pair) => misses(pair, TIGHT.replyMax + 1, "gap_budget"),

  "as many as a reply may carry are no gap": async (pair) => {
    const stream = await pair.open();
    const seen = await give(pair, stream, 2);
    await stream.order({ do: "stop" });
    const missed = await pair.publish({ data: "missed", count: TIGHT.replyMax });
    await stream.order({ do: "start" });
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, [...seen, ...missed]);
  },

  "a restarted hub is another epoch: versions are cleared, and everything is fetched": async (
    pair,
  ) => {
    const subject = { kind: "chat", ref: pair.server.tag() };
    const stream = await pair.open({ application: pair.url("") });
    await stream.order({ do: "show", subjects: [subject] });
    await give(pair, stream, 2);
    const before = await stream.order({ do: "look" });
    assertEquals(before.versions?.subjects.length, 1);
    await stream.order({ do: "plan", plans: ["work"] });
    const { epoch } = await pair.fixture.control("restart") as { epoch: string };

    assertEquals((await stream.next("reset")).reason, "shutdown");
    assertGreaterOrEqual((await stream.becomes("backoff")).waitMs ?? 0, RETRY_MS);
    await stream.order({ do: "reconnect" });
    const hello = await stream.next("hello");
    assertEquals([hello.verdict, hello.epoch, hello.head], ["epoch_changed", epoch, "0"]);
    await stream.until("the run", () => stream.told("revalidated")[1]);
    assertEquals(causes(stream)[1], { cause: "hello", full: true });
    const after = await stream.order({ do: "look" });
    assertEquals(after.versions, { epoch, subjects: [{ ...subject, version: "1" }] });
    assertEquals(after.cursor, `${epoch}:0`);
    const [fresh] = await pair.publish({ data: "of the new epoch" });
    await stream.until("its frame", () => stream.frames.at(-1)?.id === `${epoch}:${fresh}`);
  },

  "a client that lags is told how much it missed, and fetches because of it": async (pair) => {
    await pair.fault("hook-sleep", { ms: 700 });
    const busy = traffic(pair.server, { data: "x" }, 400);
    pair.defer(() => busy.stop());
    const stream = await pair.create();
    await stream.order({ do: "start" });
    // While the hook sleeps the connection is live, and its queue waits.
    await stream.next("lag");
    await busy.stop();
    await expectHoles(pair, stream);
    // Holes that are told while a run is under way share the next one.
    await stream.until("the run", () => stream.told("revalidated")[1]);
    assertEquals(new Set(causes(stream).slice(1).map(({ cause }) => cause)), new Set(["lag"]));
    assertEquals(await cursorOf(stream), stream.frames.at(-1)?.id);
    assertEquals(stream.records("disconnected"), []);
  },
};

/** Scenarios that take more of the machine. */
export const dearGaps: Scenarios = {
  "a client that is stopped for a while is told how much it missed, on the same connection": async (
    pair,
  ) => {
    // Not by way of the proxy, whose sockets would take some more megabytes.
    const stream = await pair.open({ url: `${pair.fixture.url}/events` });
    pair.defer(() => pair.client.kill("SIGCONT"));
    pair.client.kill("SIGSTOP");
    for (let sent = 0; sent < FLOOD; sent += 20) await pair.publish({ size: FRAME, count: 20 });
    pair.client.kill("SIGCONT");
    await stream.next("lag");
    const { given, missed } = await expectHoles(pair, stream);
    console.log(`${pair.client.runtime.name}: stopped: ${given} frames given, ${missed} missed`);
    await stream.until("the run", () => stream.told("revalidated")[1]);
    assertEquals(causes(stream)[1]?.cause, "lag");
    assertEquals(stream.records("disconnected"), []);
  },
};

/** Checks that what came, and the holes that were told, cover every offset once. */
async function expectHoles(
  pair: Pair,
  stream: ClientStream,
): Promise<{ readonly given: number; readonly missed: number }> {
  const [head = NaN] = await pair.publish({ data: "last" });
  await stream.until(`offset ${head}`, () => stream.offsets.at(-1) === head);

  const lags = stream.told("lag").map(({ lag }) => lag);
  const missed = lags.reduce((sum, lag) => sum + (lag.missed ?? NaN), 0);
  const first = Number(stream.records("hello")[0]?.head) + 1;
  assertEquals(missed + stream.offsets.length, head - first + 1);
  assertEquals(new Set(stream.offsets).size, stream.offsets.length);
  for (const { missed, from, to } of lags) {
    const [low, high] = [from, to].map((cursor) => Number(cursor.slice(17)));
    assertEquals(missed, (high ?? NaN) - (low ?? NaN));
    assertEquals(stream.offsets.filter((each) => each > (low ?? NaN) && each <= (high ?? NaN)), []);
  }
  assertEquals(stream.records("lag").map(({ missed }) => missed), lags.map((lag) => lag.missed));
  return { given: stream.offsets.length, missed };
}

/** A client that holds a subject misses events, and another version of the subject. */
async function misses(pair: Pair, count: number, verdict: string): Promise<void> {
  const subject = { kind: "chat", ref: pair.server.tag() };
  const stream = await pair.open({ application: pair.url("") });
  await stream.order({ do: "show", subjects: [subject] });
  const seen = await give(pair, stream, 2);
  await stream.order({ do: "stop" });
  const missed = await pair.publish({ data: "missed", count });
  await pair.fixture.control("mutate", subject);
  await stream.order({ do: "plan", plans: ["work"] });
  await stream.order({ do: "start" });
  const hello = await stream.next("hello");
  assertEquals([hello.verdict, hello.resumed], [verdict, false]);
  await stream.until("the run", () => stream.told("revalidated")[1]);
  assertEquals(causes(stream)[1], { cause: "hello", full: false });
  const { cursor, shown } = await stream.order({ do: "look" });
  assertEquals(cursor, `${hello.epoch}:${missed.at(-1)}`);
  assertEquals(shown, { [`chat/${subject.ref}`]: "v2" });
  await pair.expectExactly(stream, seen);
}
