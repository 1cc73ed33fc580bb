/**
 * A server at its limits: one that has no place, one that resets who is slow, one that stops, and one
 * that comes back elsewhere.
 *
 * @module
 */
import { assert, assertEquals, assertGreaterOrEqual } from "@std/assert";
import { RETRY_MS } from "../../../src/wire/timing.ts";
import { eventually } from "../../support/poll.ts";
import { traffic } from "../lib/traffic.ts";
import { give } from "./connect.ts";
import type { Scenarios } from "./pair.ts";

/** What {@linkcode capacity} expects of the fixture. */
export const SMALL = { keepaliveMs: 200, clientBuffer: 16, maxClients: 2, slow: "reset" } as const;

/** A refusal asks for whole seconds, and no less than the stream's `retry:`. */
const RETRY_AFTER_MS = Math.ceil(RETRY_MS / 1000) * 1000;

const FRAME = 65_536;
/** More than the kernel and any runtime take for a peer that does not read. */
const FLOOD = 600;
/** How late a record may be told of what began a wait. */
const SLACK_MS = 100;

/** Scenarios on a fixture with {@linkcode SMALL}. The last one replaces the server. */
export const capacity: Scenarios = {
  "a server without a place is asked again no sooner than it allows": async (pair) => {
    const raw = await Promise.all([pair.server.open(), pair.server.open()]);
    await Promise.all(raw.map((stream) => stream.hello()));
    const stream = await pair.create();
    await stream.order({ do: "start" });
    const { reason, status } = await stream.next("connect_failed");
    assertEquals([reason, status], ["status", 503]);
    const { refusal } = stream.told("refused")[0] ?? {};
    assertEquals(refusal, { status: 503, final: false, ticketed: false });
    assertGreaterOrEqual((await stream.becomes("backoff")).waitMs ?? 0, RETRY_AFTER_MS);
    // No wake cuts it short; whoever asks for it by name may.
    for (const signal of ["hidden", "visible", "pageshow"] as const) {
      assertEquals((await stream.order({ do: "page", signal })).state, "backoff");
    }
    assertEquals((await stream.order({ do: "network", on: true })).state, "backoff");
    await raw[0]?.close();
    await eventually(async () => (await pair.fixture.state()).clients === 1, { what: "a place" });
    await stream.order({ do: "reconnect" });
    assertEquals((await stream.next("hello")).verdict, "fresh");
    await pair.expectExactly(stream, []);
  },

  "a client that is reset because it is slow comes back and goes on from where it was": async (
    pair,
  ) => {
    const stream = await pair.open();
    const seen = await give(pair, stream, 2);
    await pair.fault("hook-sleep", { ms: 2000 });
    await stream.order({ do: "reconnect" });
    await stream.next("hello");
    // While the hook sleeps the connection is live, and its queue waits.
    const busy = traffic(pair.server, { data: "x" }, 200);
    pair.defer(() => busy.stop());
    assertEquals((await stream.next("reset")).reason, "slow");
    await pair.fixture.control("hook-sleep");
    await busy.stop();
    assertEquals((await stream.next("disconnected")).reason, "ended");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    const due = Array.from({ length: busy.published }, (_, i) => (seen.at(-1) ?? NaN) + 1 + i);
    await pair.expectExactly(stream, [...seen, ...due]);
  },

  "a server that stops says so, and another in its place is found, on whatever port": async (
    pair,
  ) => {
    const stream = await pair.open();
    await give(pair, stream, 2);
    const { epoch } = (await pair.fixture.state()).position;
    await pair.place.replace();
    const end = await stream.next("disconnected");
    const told = pair.fixture.runtime.can.stopsOnSignal ? ["shutdown"] : [];
    assertEquals(stream.records("reset").map(({ reason }) => reason), told);
    const next = await stream.becomes("connecting");
    if (told.length > 0) {
      assertGreaterOrEqual(next.at - end.at, RETRY_MS - SLACK_MS, "sooner than retry: allows");
    }
    const hello = await stream.next("hello", 20_000);
    assertEquals([hello.verdict, hello.epoch === epoch], ["epoch_changed", false]);
    await stream.until("the run", () => stream.records("revalidated")[1]);
    const fresh = await pair.publish({ data: "of the new server" });
    await stream.until("its frame", () => stream.offsets.length === 3);
    assertEquals(stream.frames.at(-1)?.id, `${hello.epoch}:${fresh[0]}`);
  },
};

/** Scenarios that take more of the machine. */
export const dearCapacity: Scenarios = {
  "a client that is stopped while much is published is dropped, and is told of the gap": async (
    pair,
  ) => {
    const tag = pair.server.tag();
    // Not by way of the proxy, whose sockets would take some more megabytes.
    const url = `${pair.fixture.url}/events`;
    const stream = await pair.open({ url, headers: { "SSE-Client": tag } });
    pair.defer(() => pair.client.kill("SIGCONT"));
    pair.client.kill("SIGSTOP");
    for (let sent = 0; sent < FLOOD; sent += 20) await pair.publish({ size: FRAME, count: 20 });
    const { cause } = await pair.server.presence("disconnected", tag);
    assert(["evicted", "dead"].includes(cause), cause);
    pair.client.kill("SIGCONT");
    assertEquals((await stream.next("disconnected")).reason, "ended");
    const { verdict, head } = await stream.next("hello");
    // The reply's cap is far below what it missed.
    assertEquals([verdict, head], ["gap_budget", String(FLOOD)]);
    await stream.until("the second run", () => stream.records("revalidated")[1]);
    const given = stream.offsets.length;
    assertEquals(stream.offsets, Array.from({ length: given }, (_, i) => i + 1));
    await pair.expectExactly(stream, stream.offsets);
  },
};
