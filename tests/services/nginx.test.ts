/**
 * Streams through nginx with its default buffering: every event passes at once, and an idle stream
 * outlives a read timeout that is longer than the keepalive.
 *
 * @module
 */
import { assertEquals, assertLess } from "@std/assert";
import { type RunningFixture, startFixture } from "../support/fixture.ts";
import { RUNTIMES } from "../support/runtimes.ts";
import { type EventStream, openStream, type StreamOptions } from "../support/stream.ts";
import { test } from "../support/test.ts";
import { Ground } from "../suites/lib/group.ts";
import { elapse } from "../suites/lib/within.ts";
import { NGINX, startNginx } from "./nginx_server.ts";

const READ_TIMEOUT_MS = 20_000;
/** Above the read timeout; the default keepalive of 15 s must carry the stream over it. */
const IDLE_MS = 27_000;
const AT_ONCE_MS = 1000;

test(
  "through nginx each event passes before the next, an idle stream lives on, and a leaving client is seen",
  async () => {
    const fixtures = await Promise.all(RUNTIMES.map((runtime) => startFixture(runtime)));
    const upstreams = Object.fromEntries(fixtures.map(({ runtime, url }) => [runtime.name, url]));
    const nginx = await startNginx(upstreams, `${READ_TIMEOUT_MS / 1000}s`);
    try {
      const results = await Promise.allSettled(
        fixtures.map((fixture) => passes(fixture, `${nginx.url}/${fixture.runtime.name}/events`)),
      );
      const faults = results.flatMap((result, i) => {
        return result.status === "fulfilled" ? [] : [`${RUNTIMES[i]?.name}: ${result.reason}`];
      });
      assertEquals(faults, []);
    } finally {
      await nginx.stop();
      await Promise.all(fixtures.map((fixture) => fixture.stop()));
    }
  },
  { needs: [NGINX], timeoutMs: 120_000 },
);

async function passes(fixture: RunningFixture, url: string): Promise<void> {
  const ground = new Ground(fixture);
  const open = async (query: string, options: StreamOptions = {}): Promise<EventStream> => {
    const stream = await openStream(`${url}${query}`, options);
    ground.defer(() => stream.close());
    return stream;
  };
  try {
    const tag = ground.tag();
    const leaving = await open("", { tag });
    const idle = await open("?topic=quiet");
    const cursor = await passesAtOnce(ground, open);
    await ground.publish({ topic: "busy", data: "missed" });
    const resumed = await open("", { cursor });
    await resumed.events(1);
    assertEquals((await resumed.hello()).verdict, "resumed");
    await leaving.close();
    await elapse(IDLE_MS);
    assertEquals(idle.ending, null, idle.tail());
    const [offset = NaN] = await ground.publish({ topic: "quiet", data: "still here" });
    await idle.reached(offset);
    await ground.presence("disconnected", tag, 1000);
  } finally {
    await ground.close();
  }
}

/** Publishes an event only when the one before has arrived; returns the last one's cursor. */
async function passesAtOnce(
  ground: Ground,
  open: (query: string) => Promise<EventStream>,
): Promise<string> {
  const opened = performance.now();
  const stream = await open("");
  await stream.hello();
  assertLess(performance.now() - opened, AT_ONCE_MS);
  assertEquals(stream.headers.get("content-type"), "text/event-stream");
  assertEquals(stream.headers.get("cache-control"), "no-cache, no-transform");
  for (let i = 1; i <= 20; i++) {
    const published = performance.now();
    await ground.publish({ topic: "busy", data: `event ${i}` });
    await stream.events(i);
    assertLess(performance.now() - published, AT_ONCE_MS);
  }
  await stream.close();
  return stream.audit.cursor;
}
