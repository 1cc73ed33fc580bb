/**
 * Shutdown: every client hears of it, and nothing hangs.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { startFixture } from "../support/fixture.ts";
import { startPeer } from "../support/peer.ts";
import type { Runtime } from "../support/runtimes.ts";
import { type EventStream, openStream } from "../support/stream.ts";
import { eventually } from "../support/poll.ts";
import { Ground, type Tests } from "./lib/group.ts";
import { traffic } from "./lib/traffic.ts";
import { within } from "./lib/within.ts";

const CLIENTS = 100;
const GOODBYE = 'event: sse:reset\ndata: {"reason":"shutdown"}';
/** What the fixture's contract gives it from the signal to its end. */
const STOP_MS = 5000;

/** At the default settings. */
export const restartTests: Tests = {
  "each of 100 clients is told of the shutdown, last of all, and its stream ends": async (
    ground,
  ) => {
    const streams = await openAll(ground);
    await ground.fixture.control("restart");
    await expectGoodbye(streams);
  },

  "each is told under traffic too, after the last event it got": async (ground) => {
    const streams = await openAll(ground);
    const busy = traffic(ground, { data: "x" }, 1000);
    ground.defer(() => busy.stop());
    await Promise.all(streams.map((stream) => stream.events(20)));
    await ground.fixture.control("restart");
    await expectGoodbye(streams);
    for (const { offsets } of streams) {
      assertEquals(offsets, Array.from(offsets, (_, i) => (offsets[0] ?? NaN) + i));
    }
  },

  "each departs with the cause shutdown, and the new hub has none of them": async (ground) => {
    const tag = ground.tag();
    const streams = await openAll(ground, tag);
    await ground.fixture.control("restart");
    await expectGoodbye(streams);
    const causes = await eventually(async () => {
      const { events, clients } = await ground.fixture.state();
      assertEquals(clients, 0);
      const departures = events.filter((event) => event.tag === tag && event.cause !== "");
      return departures.length < CLIENTS ? undefined : departures.map(({ cause }) => cause);
    }, { what: `${CLIENTS} departures` });
    assertEquals(new Set(causes), new Set(["shutdown"]));
  },

  "a client in its connect hook is told after the hook": async (ground) => {
    await ground.fixture.control("hook-sleep", { ms: 800 });
    ground.defer(async () => void await ground.fixture.control("hook-sleep", { ms: 0 }));
    const stream = await ground.open();
    await stream.hello();
    await ground.fixture.control("restart");
    await stream.end();
    assertEquals(stream.blocks.at(-1)?.raw, GOODBYE);
  },
};

/** Registers the tests that need a server of their own. */
export function shutdown(runtime: Runtime): void {
  if (!runtime.can.stopsOnSignal) return;
  Deno.test(`${runtime.name}: a stopped server`, async (context) => {
    await context.step(
      "each of 100 clients is told before the process ends on SIGTERM",
      () =>
        onServer(runtime, {}, async (ground) => {
          const streams = await openAll(ground);
          const stopped = await ground.fixture.stop();
          await expectGoodbye(streams);
          assertEquals([stopped.code, stopped.killed], [0, false]);
          assertLess(stopped.afterMs, STOP_MS);
        }),
    );

    await context.step(
      "stopped peers, hooks and traffic do not hold the process",
      () =>
        onServer(runtime, { slow: "lag" }, async (ground) => {
          const peer = await startPeer(`${ground.fixture.url}/events?lag=1`, "peer");
          ground.defer(() => peer.close());
          const unread = await ground.open("?lag=1");
          await unread.hello();
          unread.pause();
          peer.signal("SIGSTOP");
          await ground.publish({ size: 65_536, count: 300 });
          await ground.fixture.control("hook-sleep", { ms: 60_000 });
          const inHook = await ground.open();
          await inHook.hello();
          const reader = await openStream(`${ground.fixture.url}/events`);
          await reader.hello();
          const stopped = await ground.fixture.stop();
          assertEquals([stopped.code, stopped.killed], [0, false]);
          assertLess(stopped.afterMs, STOP_MS + 500);
          await reader.end();
          assertEquals(reader.audit.reset, "shutdown");
        }),
    );
  });
}

async function onServer(
  runtime: Runtime,
  flags: Parameters<typeof startFixture>[1],
  work: (ground: Ground) => Promise<void>,
): Promise<void> {
  const fixture = await startFixture(runtime, flags);
  const ground = new Ground(fixture);
  try {
    await within(30_000, () => work(ground));
  } catch (error) {
    if (error instanceof Error) error.message += `\n[server]\n${fixture.log()}`;
    throw error;
  } finally {
    await ground.close();
    await fixture.stop();
  }
}

async function openAll(ground: Ground, tag?: string): Promise<EventStream[]> {
  return await Promise.all(Array.from({ length: CLIENTS }, async () => {
    const stream = await ground.open("", { tag });
    await stream.until("an id", ({ audit }) => audit.cursor);
    return stream;
  }));
}

async function expectGoodbye(streams: readonly EventStream[]): Promise<void> {
  const endings = await Promise.all(streams.map((stream) => stream.end()));
  const goodbyes = streams.filter((stream) => stream.blocks.at(-1)?.raw === GOODBYE).length;
  assertEquals(goodbyes, streams.length, streams.find(({ audit }) => audit.reset === null)?.tail());
  assert(endings.every((ending) => ending === "complete"), [...new Set(endings)].join());
}
