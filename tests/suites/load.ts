/**
 * Load: as many idle connections as the table says, and as many busy ones, without loss.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { eventually } from "../support/poll.ts";
import type { Runtime } from "../support/runtimes.ts";
import { openStream } from "../support/stream.ts";
import { group } from "./lib/group.ts";
import { residentBytes } from "./lib/memory.ts";
import { traffic } from "./lib/traffic.ts";
import { elapse } from "./lib/within.ts";

/** How many connections are being opened at once: a listener's backlog is short. */
const WIDTH = 64;
const WARM = 50;
const PER_SECOND = 100;
const SECONDS = 3;
/** How far behind the last client may be when the traffic ends: what falls behind for good shows. */
const MAX_LATE_MS = 3000;
/** Above what any runtime takes for a connection that waits, and far below a buffer of its own. */
const MAX_IDLE_BYTES = 192 * 1024;

/** Registers the tests. */
export function load(runtime: Runtime): void {
  const { idleConnections, loadConnections } = runtime.can;

  group(runtime, "many idle connections", {}, {
    [`${idleConnections} idle connections are held, and one event reaches each`]: async (
      ground,
    ) => {
      let received = 0;
      const open = async (): Promise<void> => {
        const stream = await openStream(`${ground.fixture.url}/events`, {
          keep: false,
          bufferBytes: 1024,
          onBlock: (block) => {
            if (block.kind === "event" && block.id !== null) received++;
          },
        });
        ground.defer(() => stream.close());
        await stream.until("an id", ({ audit }) => audit.cursor);
      };
      await inParallel(WARM, WIDTH, open);
      const before = residentBytes(ground.fixture.pid);
      await inParallel(idleConnections - WARM, WIDTH, open);
      const perConnection = (residentBytes(ground.fixture.pid) - before) /
        (idleConnections - WARM);
      console.log(
        `${runtime.name}: ${idleConnections} idle connections: ` +
          `${(perConnection / 1024).toFixed(1)} KiB each on the server`,
      );
      assertEquals((await ground.fixture.state()).clients, idleConnections);
      await ground.publish({ data: "x" });
      await eventually(() => received >= idleConnections, {
        what: `${idleConnections} events`,
        timeoutMs: 20_000,
      });
      assertEquals(received, idleConnections);
      assertLess(perConnection, MAX_IDLE_BYTES);
    },
  });

  group(runtime, "many busy connections", {}, {
    [`${loadConnections} connections receive ${PER_SECOND} events a second, each once`]: async (
      ground,
    ) => {
      let received = 0;
      const streams = await inParallel(loadConnections, WIDTH, async () => {
        const stream = await openStream(`${ground.fixture.url}/events`, {
          keep: false,
          onBlock: (block, { audit }) => {
            if (block.kind !== "event" || block.id === null) return;
            received++;
            if (audit.offset !== ++last) faults.push(`${last} is missing`);
          },
        });
        let last = 0;
        ground.defer(() => stream.close());
        await stream.until("an id", ({ audit }) => audit.cursor);
        return stream;
      });
      const faults: string[] = [];
      const busy = traffic(ground, { data: "x".repeat(100) }, PER_SECOND);
      await elapse(SECONDS * 1000);
      await busy.stop();
      const [head = NaN] = await ground.publish({ data: "last" });
      const stopped = performance.now();
      await Promise.all(streams.map((stream) => stream.reached(head, 20_000)));
      const lateMs = performance.now() - stopped;
      assertEquals(faults.slice(0, 5), []);
      assertEquals(received, head * loadConnections);
      console.log(
        `${runtime.name}: ${loadConnections} busy connections: ${received} events received, none ` +
          `lost, the last after ${Math.round(lateMs)} ms`,
      );
      assert(head >= PER_SECOND * SECONDS * 0.9, `only ${head} events were published`);
      assertLess(lateMs, MAX_LATE_MS);
    },
  });
}

/** Does something so many times, so many at a time. */
async function inParallel<T>(times: number, width: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let left = times;
  await Promise.all(Array.from({ length: Math.min(width, times) }, async () => {
    while (left-- > 0) results.push(await work());
  }));
  return results;
}
