/**
 * A client whose buffer is full: reset, or left with a hole that it is told of.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import type { Runtime } from "../support/runtimes.ts";
import type { EventStream } from "../support/stream.ts";
import { offsetOf } from "./lib/audit.ts";
import { type Ground, group } from "./lib/group.ts";
import { publishUntil } from "./lib/traffic.ts";

const FRAME = 65_536;
/** More than the kernel and any runtime take for a peer that does not read. */
const FLOOD = 600;

/** Registers the tests. */
export function slow(runtime: Runtime): void {
  group(runtime, "slow clients are reset", { replayEvents: 64, replyMax: 64, clientBuffer: 32 }, {
    "a client that stops reading is evicted, and others get everything": async (ground) => {
      const reader = await ground.open();
      const { stream, tag } = await stalled(ground, "");
      await publishUntil(
        ground,
        { size: FRAME },
        async () => (await ground.fixture.state()).clients === 1,
      );
      const departure = await ground.presence("disconnected", tag);
      assertEquals(departure.cause, "evicted");
      await ground.settle(reader);
      assertContiguous(reader.offsets);
      stream.resume();
      await stream.end(20_000);
      assertContiguous(stream.offsets);
      assert([null, "slow"].includes(stream.audit.reset));
    },

    "a client whose socket takes it is told sse:reset slow, as its last frame": async (ground) => {
      await ground.fixture.control("hook-sleep", { ms: 1500 });
      ground.defer(async () => void await ground.fixture.control("hook-sleep", { ms: 0 }));
      const tag = ground.tag();
      const stream = await ground.open("", { tag });
      await stream.hello();
      await ground.publish({ data: "x", count: 33 });
      const ending = await stream.end();
      assertEquals(stream.blocks.at(-1)?.raw, 'event: sse:reset\ndata: {"reason":"slow"}');
      assertEquals(ending, "complete");
      assertEquals((await ground.presence("disconnected", tag)).cause, "evicted");
    },

    "a client that says it understands lag is reset all the same under this policy": async (
      ground,
    ) => {
      const { stream, tag } = await stalled(ground, "?lag=1");
      await publishUntil(
        ground,
        { size: FRAME },
        async () => (await ground.fixture.state()).clients === 0,
      );
      assertEquals((await ground.presence("disconnected", tag)).cause, "evicted");
      stream.resume();
      await stream.end(20_000);
      assertEquals(stream.audit.lags, []);
    },

    "a replay longer than the buffer does not count against it": async (ground) => {
      const epoch = await ground.epoch();
      await ground.publish({ size: FRAME, count: 64 });
      const stream = await ground.open("", { cursor: `${epoch}:0` });
      await stream.events(64);
      await ground.settle(stream);
      assertContiguous(stream.offsets);
      assertEquals(stream.offsets.length, 65);
    },

    "one evicted client comes back with its cursor and is judged by it": async (ground) => {
      const { stream } = await stalled(ground, "");
      await publishUntil(
        ground,
        { size: FRAME },
        async () => (await ground.fixture.state()).clients === 0,
      );
      stream.resume();
      await stream.end(20_000);
      const again = await ground.open("", { cursor: stream.audit.cursor });
      const { verdict, floor } = await again.hello();
      const covered = offsetOf(stream.audit.cursor) >= Number(floor) - 1;
      assertEquals(verdict, covered ? "resumed" : "gap_floor");
    },
  });

  const lag = { slow: "lag", replayEvents: 32, replyMax: 32, clientBuffer: 16 } as const;
  group(runtime, "slow clients lag", lag, {
    "the hole stands where it is, with the number of the frames that are missing": async (
      ground,
    ) => {
      for (const [query, header] of [["?lag=1", []], ["", [["SSE-Lag", "1"]]]] as const) {
        const { stream, tag } = await stalled(ground, query, header);
        await ground.publish({ size: FRAME, count: FLOOD });
        stream.resume();
        const head = await ground.settle(stream);
        expectHoles(stream, head);
        assertEquals(departures(await ground.fixture.state(), tag), []);
        await stream.close();
      }
    },

    "missed counts the frames of the connection's topics, and not the ephemeral ones": async (
      ground,
    ) => {
      const { stream } = await stalled(ground, "?topic=mine&lag=1");
      let mine = 0;
      for (let i = 0; i < 10; i++) {
        mine += (await ground.publish({ topic: "mine", size: FRAME, count: 40 })).length;
        await ground.publish({ topic: "theirs", size: FRAME, count: 5 });
        await ground.publish({ topic: "mine", data: "x".repeat(1000), ephemeral: true, count: 5 });
        mine += (await ground.publish({ size: FRAME, count: 10 })).length;
      }
      stream.resume();
      await ground.settle(stream);
      const missed = stream.audit.lags.reduce((sum, hole) => sum + (hole.missed ?? NaN), 0);
      assertGreater(missed, 0);
      assertEquals(stream.offsets.length + missed, mine + 1);
    },

    "a client that does not say it understands lag is reset": async (ground) => {
      const { stream, tag } = await stalled(ground, "");
      await publishUntil(
        ground,
        { size: FRAME },
        async () => (await ground.fixture.state()).clients === 0,
      );
      assertEquals((await ground.presence("disconnected", tag)).cause, "evicted");
      stream.resume();
      await stream.end(20_000);
      assertEquals(stream.audit.lags, []);
      assertContiguous(stream.offsets);
    },
  });

  // The ring holds all that a stalled client misses: it must come back without a hole.
  const refill = { slow: "lag", replayEvents: 1000, replyMax: 10, clientBuffer: 16 } as const;
  group(runtime, "slow clients are refilled", refill, {
    "a client that fell behind receives from the ring all that it missed": async (ground) => {
      const { stream } = await stalled(ground, "?lag=1");
      await ground.publish({ size: FRAME, count: FLOOD });
      stream.resume();
      const head = await ground.settle(stream);
      assertEquals(stream.audit.lags, []);
      assertContiguous(stream.offsets);
      assertEquals([stream.offsets[0], stream.offsets.at(-1)], [1, head]);
    },

    "clients that fall behind in turns under traffic lose nothing": async (ground) => {
      const streams = await Promise.all(Array.from({ length: 8 }, async () => {
        const stream = await ground.open("?lag=1");
        await stream.hello();
        return stream;
      }));
      for (let round = 0; round < 8; round++) {
        streams[round]?.pause();
        await ground.publish({ size: FRAME / 2, count: 60 });
        streams[round - 3]?.resume();
      }
      for (const stream of streams) stream.resume();
      const head = await ground.settle(...streams);
      for (const stream of streams) {
        assertEquals(stream.audit.lags, []);
        assertContiguous(stream.offsets);
        assertEquals([stream.offsets[0], stream.offsets.at(-1)], [1, head]);
      }
    },
  });
}

/** Opens a stream that has caught up and is not read any more. */
async function stalled(
  ground: Ground,
  query: string,
  headers: readonly (readonly [string, string])[] = [],
): Promise<{ stream: EventStream; tag: string }> {
  const tag = ground.tag();
  const stream = await ground.open(query, { tag, headers });
  await stream.until("an id", ({ audit }) => audit.cursor);
  stream.pause();
  return { stream, tag };
}

/** Checks that what came, and the holes that were told, cover every offset once. */
function expectHoles(stream: EventStream, head: number): void {
  const { lags } = stream.audit;
  assertGreater(
    lags.length,
    0,
    "nothing was lost: the test did not stall its client for long enough",
  );
  let covered = Number(stream.audit.hello?.head);
  for (const block of stream.blocks) {
    if (block.kind !== "event") continue;
    if (block.name === "sse:lag") {
      const { missed, from, to } = JSON.parse(block.data) as Record<string, string | number>;
      assertEquals(offsetOf(String(from)), covered, "the hole does not start at the last frame");
      assertEquals(missed, offsetOf(String(to)) - offsetOf(String(from)));
      covered = offsetOf(String(to));
    } else if (block.id !== null) {
      assertEquals(offsetOf(block.id), covered + 1, "a frame is missing that no hole tells of");
      covered++;
    }
  }
  assertEquals(covered, head);
}

function assertContiguous(offsets: readonly number[]): void {
  const wrong = offsets.findIndex((offset, i) => i > 0 && offset !== (offsets[i - 1] ?? NaN) + 1);
  assertEquals(wrong, -1, `after ${offsets[wrong - 1]} came ${offsets[wrong]}`);
}

function departures(
  state: { events: readonly { kind: string; tag: string }[] },
  tag: string,
): unknown[] {
  return state.events.filter((event) => event.kind === "disconnected" && event.tag === tag);
}
