/**
 * Keepalives: on time, idle or busy, each after an id alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Runtime } from "../support/runtimes.ts";
import type { EventStream } from "../support/stream.ts";
import { group } from "./lib/group.ts";
import { traffic } from "./lib/traffic.ts";
import { elapse } from "./lib/within.ts";

const KEEPALIVE_MS = 200;
const WINDOW_MS = 2000;
const DUE = WINDOW_MS / KEEPALIVE_MS;

/** Registers the tests. */
export function keepalive(runtime: Runtime): void {
  group(runtime, "keepalive", { keepaliveMs: KEEPALIVE_MS }, {
    "idle streams get a keepalive each interval, whenever they opened, after the head as an id alone":
      async (ground) => {
        await ground.publish({ data: "x", count: 5 });
        const streams: EventStream[] = [];
        for (let i = 0; i < 8; i++) {
          streams.push(await ground.open());
          await elapse(KEEPALIVE_MS / 8);
        }
        const beats = await Promise.all(streams.map(beatsWithin));
        beats.forEach(assertOnTime);
        const epoch = await ground.epoch();
        for (const { blocks } of streams) {
          for (const [i, block] of blocks.entries()) {
            if (block.kind !== "event" || block.name !== "sse:keepalive") continue;
            assertEquals(block.raw, "event: sse:keepalive\ndata: {}");
            assertEquals(blocks[i - 1]?.raw, `id: ${epoch}:5`);
          }
        }
      },

    "a busy stream gets them too, with no event late or twice": async (ground) => {
      const streams = await Promise.all([
        ground.open(),
        ground.open("?topic=a"),
        ground.open("?topic=b"),
      ]);
      await Promise.all(streams.map((stream) => stream.hello()));
      const busy = traffic(ground, { topic: "a", data: "x" }, 300);
      ground.defer(() => busy.stop());
      const beats = await Promise.all(streams.map(beatsWithin));
      await busy.stop();
      beats.forEach(assertOnTime);
      await ground.settle(...streams);
      const counts = streams.map((stream) => stream.durable.length);
      assertEquals(counts, [busy.published + 1, busy.published + 1, 1]);
    },
  });

  // In the first the backlog of a client that does not read is its queue; in the second it is the ring.
  const queued = { clientBuffer: 4096, clientBufferBytes: 64 * 1_048_576 };
  const refilled = { clientBuffer: 16, slow: "lag" } as const;
  for (const [what, flags] of [["a queue", queued], ["the ring", refilled]] as const) {
    const timing = { keepaliveMs: KEEPALIVE_MS, writeTimeoutMs: 10_000 };
    group(runtime, `keepalive beside ${what}`, { ...timing, ...flags }, {
      "no id alone overtakes a frame that waits, and at most one keepalive waits": async (
        ground,
      ) => {
        const stream = await ground.open("?lag=1");
        await stream.until("an id", ({ audit }) => audit.cursor);
        stream.pause();
        await ground.publish({ size: 65_536, count: 300 });
        await elapse(5 * KEEPALIVE_MS);
        const [before, resumedAt] = [stream.keepalives, performance.now()];
        stream.resume();
        const head = await ground.settle(stream);
        assertEquals(stream.offsets, Array.from({ length: head }, (_, i) => i + 1));
        // One had waited; of those that fell due since, each may have come, and one at either edge.
        const since = (performance.now() - resumedAt) / KEEPALIVE_MS;
        const came = stream.keepalives - before;
        assert(came <= since + 3, `${came} keepalives in ${since} intervals`);
      },
    });
  }
}

/** When keepalives came, over a window that starts now. */
async function beatsWithin(stream: EventStream): Promise<number[]> {
  const from = performance.now();
  await elapse(WINDOW_MS);
  return stream.blocks
    .filter((block) => block.kind === "event" && block.name === "sse:keepalive")
    .map(({ at }) => at - from)
    .filter((at) => at >= 0 && at < WINDOW_MS);
}

/** As many as are due, give or take what a busy machine takes, and never two intervals apart. */
function assertOnTime(beats: readonly number[]): void {
  const told = `${beats.length} keepalives in ${WINDOW_MS} ms at ${beats.map(Math.round)}`;
  assert(beats.length >= DUE - 3 && beats.length <= DUE + 1, told);
  const longest = Math.max(...beats.map((at, i) => at - (beats[i - 1] ?? 0)));
  assert(longest < 3 * KEEPALIVE_MS, `${told}: ${longest} ms apart`);
}
