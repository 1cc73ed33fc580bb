/**
 * The bare programs: `hub.handler` at default options, served as the documentation says, without an
 * adapter and without a ring. A smaller suite, for all of them at the same time: it has to be idle.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { type ServerProcess, startBare } from "../support/fixture.ts";
import { eventually } from "../support/poll.ts";
import type { BareRuntime } from "../support/runtimes.ts";
import { type EventStream, openStream } from "../support/stream.ts";
import { fetchRaw } from "./lib/exchange.ts";
import { elapse } from "./lib/within.ts";

const AT_ONCE_MS = 1000;
/** Longer than Bun lets a silent stream live by default, and than one keepalive. */
const IDLE_MS = 22_000;
const KEEPALIVE_MS = 15_000;

/** Programs that differ from the table's in one thing: they say on stderr who comes and goes. */
const WATCHED: Readonly<Partial<Record<BareRuntime["name"], string>>> = {
  "bare-deno": "tests/suites/bare/deno.ts",
  "bare-bun": "tests/suites/bare/bun.ts",
};

/**
 * Registers the tests.
 *
 * @param runtimes The programs.
 */
export function bare(runtimes: readonly BareRuntime[]): void {
  const each = (name: string, work: (runtime: BareRuntime) => Promise<void>): void => {
    Deno.test(`${runtimes.map((runtime) => runtime.name).join(", ")}: ${name}`, async () => {
      const results = await Promise.allSettled(runtimes.map(work));
      const faults = results.flatMap((result, i) => {
        return result.status === "fulfilled" ? [] : [`${runtimes[i]?.name}: ${result.reason}`];
      });
      assertEquals(faults, []);
    });
  };

  each(
    "the handler alone says hello, delivers, judges cursors, and refuses",
    (runtime) =>
      withBare(runtime, async (server, open) => {
        const started = performance.now();
        const first = await open();
        const { epoch, connection: _, ...rest } = await first.hello();
        assertLess(performance.now() - started, AT_ONCE_MS);
        assertEquals(rest, {
          wire: 1,
          floor: "0",
          head: "0",
          resumed: false,
          verdict: "fresh",
          keepalive_ms: KEEPALIVE_MS,
          keepalive_event: "sse:keepalive",
        });
        await first.until("the head as an id alone", ({ audit }) => audit.cursor === `${epoch}:0`);
        const second = await open();
        await second.hello();
        for (const text of ["one", "two", "three"]) await server.line(text);
        for (const stream of [first, second]) {
          const events = await stream.events(3);
          const frames = ["one", "two", "three"].map((text, i) => {
            return `id: ${epoch}:${i + 1}\ndata: ${text}`;
          });
          assertEquals(events.map(({ raw }) => raw), frames);
        }
        const expected = {
          [`${epoch}:3`]: "resumed",
          [`${epoch}:2`]: "gap_floor",
          [`${epoch}:4`]: "gap_ahead",
          "0123456789abcdef:3": "epoch_changed",
          "rubbish": "cursor_invalid",
        };
        for (const [cursor, verdict] of Object.entries(expected)) {
          assertEquals((await (await open({ cursor })).hello()).verdict, verdict, cursor);
        }
        const refused = await fetchRaw(server.url, { method: "DELETE" });
        assertEquals(refused.head.status, 405, refused.text);
        assertEquals((await fetchRaw(server.url, { method: "HEAD" })).head.status, 200);
      }),
  );

  each(
    "an idle stream lives on for longer than the host's own patience",
    (runtime) =>
      withBare(runtime, async (server, open) => {
        const stream = await open();
        await stream.until("an id", ({ audit }) => audit.cursor);
        await elapse(IDLE_MS);
        assertEquals(stream.ending, null, stream.tail());
        assertEquals(stream.keepalives, 1);
        await server.line("still here");
        const [event] = await stream.events(1);
        assertEquals(event?.data, "still here");
      }),
  );

  each("a client that closes its socket departs", async (runtime) => {
    const program = WATCHED[runtime.name];
    // Whoever serves the object is shown by the suite of the fixture, which lives in one as well.
    if (program === undefined) return;
    const [interpreter, ...args] = runtime.command.argv;
    const argv: [string, ...string[]] = [interpreter, ...args.slice(0, -1), program];
    await withBare({ ...runtime, command: { ...runtime.command, argv } }, async (server, open) => {
      const streams = await Promise.all(Array.from({ length: 10 }, () => open()));
      await Promise.all(streams.map((stream) => stream.hello()));
      await eventually(() => count(server, /^connected /gm) === 10, { what: "10 arrivals" });
      await Promise.all(streams.map((stream) => stream.close()));
      await eventually(() => count(server, /^disconnected /gm) === 10, {
        what: "10 departures",
        timeoutMs: 2000,
      });
      assertEquals(count(server, /^disconnected closed$/gm), 10);
    });
  });
}

async function withBare(
  runtime: BareRuntime,
  work: (
    server: ServerProcess,
    open: (options?: { cursor: string }) => Promise<EventStream>,
  ) => Promise<void>,
): Promise<void> {
  const server = await startBare(runtime);
  const streams: EventStream[] = [];
  try {
    await work(server, async (options) => {
      const stream = await openStream(`${server.url}/any/path`, options);
      streams.push(stream);
      return stream;
    });
    for (const stream of streams) await stream.close();
    assert(streams.length > 0);
  } finally {
    for (const stream of streams) await stream.close();
    await server.stop();
  }
}

function count(server: ServerProcess, pattern: RegExp): number {
  return server.log().match(pattern)?.length ?? 0;
}
