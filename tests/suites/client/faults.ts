/**
 * Faults: silence, servers that keep no promise, and applications that fail. The client notices each,
 * says so in a record, and comes back without a loss.
 *
 * @module
 */
import { assert, assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import { RETRY_MS } from "../../../src/wire/timing.ts";
import { eventually } from "../../support/poll.ts";
import { causes, cursorOf, give } from "./connect.ts";
import type { Scenarios } from "./pair.ts";

/** Below this no silence is judged; above three of the fixture's keepalives. */
const FLOOR_MS = 650;

/** Scenarios on a fixture with a keepalive of 200 ms. */
export const faults: Scenarios = {
  "a stream that has gone silent is given up, and resumed": async (pair) => {
    const timing = { watchdogFloorMs: FLOOR_MS, helloTimeoutMs: 1000, connectTimeoutMs: 1000 };
    const stream = await pair.open({ timing });
    const seen = await give(pair, stream, 2);
    await pair.fault("stall", { on: true });
    const swallowed = await pair.publish({ data: "swallowed", count: 3 });
    const { sinceLastByteMs } = await stream.next("watchdog");
    assertGreaterOrEqual(sinceLastByteMs, FLOOR_MS);
    assertLess(sinceLastByteMs, FLOOR_MS * 3);
    assertEquals((await stream.next("disconnected")).reason, "silent");
    // What was swallowed stays lost for streams that are open: only when none is may it end.
    await stream.becomes("connecting");
    await pair.fixture.control("stall");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, [...seen, ...swallowed]);
  },

  "a network that takes connections and forwards nothing is given up, and resumed": async (
    pair,
  ) => {
    const stream = await pair.open({
      timing: { watchdogFloorMs: FLOOR_MS, connectTimeoutMs: 300 },
    });
    const seen = await give(pair, stream, 2);
    pair.proxy.stall(true);
    const missed = await pair.publish({ data: "missed", count: 3 });
    await stream.next("watchdog");
    const { reason, status } = await stream.next("connect_failed");
    assertEquals([reason, status], ["connect_timeout", null]);
    pair.proxy.stall(false);
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, [...seen, ...missed]);
  },

  "a hello that does not come in time is a failed attempt": async (pair) => {
    const stream = await pair.open({ timing: { helloTimeoutMs: 200 } });
    const seen = await give(pair, stream, 2);
    await pair.fault("delay-hello", { ms: 60_000 });
    await stream.order({ do: "reconnect" });
    const { reason, attempt } = await stream.next("connect_failed");
    assertEquals([reason, attempt], ["hello_timeout", 1]);
    await pair.fixture.control("delay-hello");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, seen);
  },

  "a connect hook that fails ends the stream, which is tried again no sooner than retry: allows":
    async (pair) => {
      const stream = await pair.open({ timing: { stableMs: 30_000 } });
      const seen = await give(pair, stream, 2);
      await pair.fault("hook-sleep", { fail: true });
      await stream.order({ do: "reconnect" });
      assertEquals((await stream.next("hello")).verdict, "resumed");
      assertEquals((await stream.next("disconnected")).reason, "ended");
      const { waitMs } = await stream.becomes("backoff");
      assertGreaterOrEqual(waitMs ?? 0, RETRY_MS);
      await eventually(async () => {
        const { events, position } = await pair.fixture.state();
        return events.some(({ cause, epoch }) => {
          return cause === "hook_failed" && epoch === position.epoch;
        });
      }, { what: "a departure whose hook failed" });
      await pair.fixture.control("hook-sleep");
      await stream.order({ do: "reconnect" });
      assertEquals((await stream.next("hello")).verdict, "resumed");
      await pair.expectExactly(stream, seen);
    },

  "an onFrame that throws is told, the cursor moves on, and a revalidation follows": async (
    pair,
  ) => {
    const stream = await pair.open({ timing: { wakeThrottleMs: 0 } });
    await stream.order({ do: "throwAt", data: "boom" });
    const due = [
      ...await pair.publish({ data: "before" }),
      ...await pair.publish({ name: "bad", data: "boom" }),
      ...await pair.publish({ data: "after" }),
    ];
    const { type, error } = await stream.next("frame_rejected");
    assertEquals([type, String(error).includes("boom")], ["bad", true]);
    await stream.until("the run", () => stream.told("revalidated")[1]);
    assertEquals(causes(stream), [{ cause: "hello", full: true }, { cause: "hello", full: true }]);
    await pair.expectExactly(stream, due);
    assertEquals(await cursorOf(stream), stream.frames.at(-1)?.id);
    assertEquals(stream.records("hello").length, 1);
  },

  "frames are held while a revalidation runs, and come in order when it has settled": async (
    pair,
  ) => {
    const stream = await pair.create();
    await stream.order({ do: "plan", plans: ["hold"] });
    await stream.order({ do: "start" });
    await stream.next("revalidate");
    const held = await pair.publish({ data: "held", count: 20 });
    // An open stream of the same fixture shows that they have left it.
    const witness = await pair.server.open();
    await witness.reached(held.at(-1) ?? NaN);
    assertEquals([stream.frames, await cursorOf(stream)], [[], ""]);
    await stream.order({ do: "release" });
    await stream.until("the held frames", () => stream.offsets.length === held.length);
    await pair.expectExactly(stream, held);
  },

  "a rejected revalidation is owed: the next hello revalidates, though it resumed": async (
    pair,
  ) => {
    const stream = await pair.create();
    await stream.order({ do: "plan", plans: ["fail"] });
    await stream.order({ do: "start" });
    const { cause, error } = await stream.next("revalidate_failed");
    assertEquals([cause, String(error).includes("told to fail")], ["hello", true]);
    const seen = await give(pair, stream, 2);
    await stream.order({ do: "reconnect" });
    await stream.until("the second hello", () => stream.records("hello")[1]);
    await stream.until("the second run", () => stream.records("revalidated")[0]);
    assertEquals(stream.records("hello")[1]?.verdict, "resumed");
    assertEquals(causes(stream).map(({ cause }) => cause), ["hello", "hello"]);
    await stream.order({ do: "reconnect" });
    await stream.until("the third hello", () => stream.records("hello")[2]);
    await pair.expectExactly(stream, seen);
    assertEquals(causes(stream).length, 2);
  },

  "more frames than may be held end the connection, and the next run is a full one": async (
    pair,
  ) => {
    const stream = await pair.open({
      application: pair.url(""),
      timing: { heldMaxFrames: 10, wakeThrottleMs: 0, stableMs: 30_000 },
    });
    await stream.order({
      do: "show",
      subjects: [{ kind: "chat", ref: pair.server.tag() }],
    });
    const seen = await give(pair, stream, 2);
    await stream.order({ do: "plan", plans: ["hold", "work"] });
    await stream.order({ do: "page", signal: "visible" });
    await stream.until("the run", () => stream.told("revalidate")[1]);
    await pair.publish({ data: "held", count: 11 });
    assertEquals((await stream.next("disconnected")).reason, "held_overflow");
    assertEquals((await stream.next("held_discarded")).length, 11);
    await stream.until("the end of the run", () => stream.told("revalidated")[1]);
    assertEquals(stream.told("revalidated")[1]?.how, "aborted");
    assertGreaterOrEqual((await stream.becomes("backoff")).waitMs ?? 0, RETRY_MS);
    await stream.order({ do: "reconnect" });
    // Were they asked for again, they might end the connection again, and so on.
    assertEquals((await stream.next("hello")).verdict, "fresh");
    await stream.until("the full run", () => stream.told("revalidated")[2]);
    assertEquals(causes(stream).slice(1), [
      { cause: "visible", full: false },
      { cause: "hello", full: true },
    ]);
    // They are behind the head of that hello: the full run has covered them.
    await pair.expectExactly(stream, seen);
  },

  "a revalidation that takes too long is aborted, and the connection with it": async (pair) => {
    const stream = await pair.open({ timing: { revalidateTimeoutMs: 300, wakeThrottleMs: 0 } });
    const seen = await give(pair, stream, 2);
    await stream.order({ do: "plan", plans: ["hold"] });
    await stream.order({ do: "page", signal: "visible" });
    assertEquals((await stream.next("revalidate_timeout")).cause, "visible");
    assertEquals((await stream.next("disconnected")).reason, "revalidate_timeout");
    await stream.order({ do: "reconnect" });
    await stream.until("the third run", () => stream.told("revalidated")[2]);
    assertEquals(stream.told("revalidated").map(({ how }) => how), [
      "resolved",
      "aborted",
      "resolved",
    ]);
    assert(stream.records("hello").slice(1).every(({ verdict }) => verdict === "resumed"));
    await pair.expectExactly(stream, seen);
  },
};
