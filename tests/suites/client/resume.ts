/**
 * Resuming: whatever ended the connection, what was published meanwhile comes, and comes once.
 *
 * @module
 */
import { assertEquals, assertGreater, assertGreaterOrEqual } from "@std/assert";
import type { ClientStream } from "../../support/client_stream.ts";
import { traffic } from "../lib/traffic.ts";
import { give } from "./connect.ts";
import type { Scenarios } from "./pair.ts";

const CUTS = 20;
const EVENTS = 2000;
const PER_SECOND = 1000;
const CLIENTS = 200;

/** Scenarios on a ring that holds all that a client may miss. */
export const resume: Scenarios = {
  "what was published while the network was gone comes once, and the hello says resumed": async (
    pair,
  ) => {
    const stream = await pair.open();
    const seen = await give(pair, stream, 3);
    pair.proxy.refuse(true);
    pair.proxy.cut();
    assertEquals((await stream.next("disconnected")).reason, "ended");
    const missed = await pair.publish({ data: "missed", count: 10 });
    const { reason, status } = await stream.next("connect_failed");
    assertEquals([reason, status], ["network", null]);
    pair.proxy.refuse(false);
    const { verdict, resumed } = await stream.next("hello");
    assertEquals([verdict, resumed], ["resumed", true]);
    await pair.expectExactly(stream, [...seen, ...missed]);
    assertEquals(stream.told("revalidate").length, 1);
  },

  "a socket that the server drops after each few frames loses none": async (pair) => {
    const stream = await pair.open();
    // retry, hello, the hook's frame, and two events on each connection.
    await pair.fault("close-after", { frames: 5 });
    const due = await pair.publish({ data: "x", count: 12 });
    await stream.until("12 frames", () => stream.offsets.length >= 12);
    await pair.fixture.control("close-after");
    await pair.expectExactly(stream, due);
    const hellos = stream.records("hello");
    assertGreaterOrEqual(hellos.length, 3);
    assertEquals(new Set(hellos.slice(1).map(({ verdict }) => verdict)), new Set(["resumed"]));
  },
};

/** Scenarios that take more of the machine. */
export const dearResume: Scenarios = {
  [`${CUTS} cuts under traffic lose nothing and bring nothing twice`]: async (pair) => {
    const stream = await pair.open();
    const busy = traffic(pair.server, { data: "x".repeat(50) }, PER_SECOND);
    pair.defer(() => busy.stop());
    for (let cut = 0; cut < CUTS; cut++) {
      const before = stream.frames.length;
      await stream.until("frames on this connection", () => stream.frames.length > before + 40);
      pair.proxy.cut();
      assertEquals((await stream.next("hello")).verdict, "resumed");
    }
    await stream.until("enough events", () => busy.published >= EVENTS && stream.frames.length);
    await busy.stop();
    const { lost, twice, given } = await account(stream, () => pair.publish({ data: "last" }));
    console.log(
      `${pair.client.runtime.name}: ${CUTS} cuts, ${given} events: ${lost} lost, ${twice} twice`,
    );
    assertEquals([lost, twice], [0, 0]);
    assertGreater(given, EVENTS);
    assertEquals(stream.told("revalidate").length, 1);
  },

  [`${CLIENTS} clients of one process resume at once`]: async (pair) => {
    const names = Array.from({ length: CLIENTS }, (_, i) => i);
    const streams = await Promise.all(names.map(() => pair.open()));
    const seen = await pair.publish({ data: "seen", count: 5 });
    await Promise.all(streams.map((stream) => has(stream, seen)));
    pair.proxy.refuse(true);
    pair.proxy.cut();
    const missed = await pair.publish({ data: "missed", count: 20 });
    pair.proxy.refuse(false);
    const hellos = await Promise.all(streams.map((stream) => stream.next("hello", 30_000)));
    assertEquals(new Set(hellos.map(({ verdict }) => verdict)), new Set(["resumed"]));
    const live = await pair.publish({ data: "live", count: 5 });
    const due = [...seen, ...missed, ...live];
    await Promise.all(streams.map((stream) => has(stream, due)));
    for (const stream of streams) assertEquals(stream.offsets, due);
    assertEquals((await pair.fixture.state()).clients, CLIENTS);
  },
};

function has(stream: ClientStream, due: readonly number[]): Promise<boolean> {
  const last = due[due.length - 1] ?? NaN;
  return stream.until(`offset ${last}`, () => stream.offsets.at(-1) === last, {
    timeoutMs: 30_000,
  });
}

/** Counts what a stream was given, against every offset since its first hello. */
async function account(
  stream: ClientStream,
  publishLast: () => Promise<number[]>,
): Promise<{ readonly lost: number; readonly twice: number; readonly given: number }> {
  const [last = NaN] = await publishLast();
  await stream.until(`offset ${last}`, () => stream.offsets.includes(last));
  const first = Number(stream.records("hello")[0]?.head) + 1;
  const { offsets } = stream;
  const unique = new Set(offsets);
  return {
    lost: last - first + 1 - unique.size,
    twice: offsets.length - unique.size,
    given: offsets.length,
  };
}
