/**
 * Peers that die, half close or stop: how soon they are noticed, and what they cost until then.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { startPeer } from "../support/peer.ts";
import { eventually } from "../support/poll.ts";
import type { Runtime } from "../support/runtimes.ts";
import { type Ground, group } from "./lib/group.ts";
import { mebibytes, residentBytes } from "./lib/memory.ts";
import { traffic } from "./lib/traffic.ts";
import { elapse } from "./lib/within.ts";

const KEEPALIVE_MS = 500;
/** What a busy machine may add to a bound in time. */
const SLACK_MS = 700;
/** Frames of 64 KiB: 512 MiB, far above the slack, so that a hub which keeps them all is seen. */
const HALF_FLOOD = 8192;
const MEMORY_SLACK = 128 * 1_048_576;

/** Registers the tests. */
export function peers(runtime: Runtime): void {
  group(runtime, "peers that leave", { keepaliveMs: KEEPALIVE_MS }, {
    "a peer that is killed is noticed within a keepalive": async (ground) => {
      const tag = ground.tag();
      const peer = await startPeer(`${ground.fixture.url}/events`, tag);
      ground.defer(() => peer.close());
      const killedAt = Date.now();
      peer.signal("SIGKILL");
      const departure = await ground.presence("disconnected", tag);
      const tookMs = departure.at - killedAt;
      // Where an idle peer's leaving is only seen by a write, the first one may still succeed.
      const beats = ground.can.seesIdlePeerLeave ? 1 : 2;
      assertLess(tookMs, beats * KEEPALIVE_MS + SLACK_MS);
      assert(["closed", "dead"].includes(departure.cause), departure.cause);
      await eventually(async () => (await ground.fixture.state()).clients === 0, {
        what: "no client",
      });
    },

    "a peer that closes its socket while idle is noticed, at once where the host can see it":
      async (ground) => {
        const tag = ground.tag();
        const stream = await ground.open("", { tag });
        await stream.hello();
        await ground.presence("connected", tag);
        const closedAt = Date.now();
        await stream.close();
        const { at } = await ground.presence("disconnected", tag);
        const boundMs = ground.can.seesIdlePeerLeave
          ? KEEPALIVE_MS / 2
          : 2 * KEEPALIVE_MS + SLACK_MS;
        assertLess(at - closedAt, boundMs);
      },

    "a peer that closes only its own direction is noticed within a keepalive": async (ground) => {
      const tag = ground.tag();
      const stream = await ground.open("", { tag });
      await stream.hello();
      await ground.presence("connected", tag);
      let closedAt = Date.now();
      await stream.halfClose();
      if (!ground.can.seesIdlePeerLeave) {
        // Such a host looks at a socket only when it writes, and this one still takes what is written:
        // the peer is served on until it closes the other direction.
        const { keepalives } = stream;
        await stream.until("keepalives", (seen) => seen.keepalives >= keepalives + 3);
        closedAt = Date.now();
        await stream.close();
      }
      const { at } = await ground.presence("disconnected", tag);
      const beats = ground.can.seesIdlePeerLeave ? 1 : 2;
      assertLess(at - closedAt, beats * KEEPALIVE_MS + SLACK_MS);
    },

    "each of 200 clients that come and go arrives once and departs once": async (ground) => {
      const tag = ground.tag();
      const busy = traffic(ground, { data: "x" }, 100);
      ground.defer(() => busy.stop());
      await Promise.all(Array.from({ length: 200 }, async (_, i) => {
        await elapse(i * 5);
        const stream = await ground.open("", { tag });
        await stream.hello();
        if (i % 2 === 0) await stream.until("an id", ({ audit }) => audit.cursor);
        await stream.close();
      }));
      await eventually(async () => (await ground.fixture.state()).clients === 0, {
        what: "no client",
      });
      await busy.stop();
      const { events } = await ground.fixture.state();
      const mine = events.filter((event) => event.tag === tag);
      const of = (kind: string): number[] =>
        mine.filter((event) => event.kind === kind).map((event) => event.client_id).toSorted();
      assertEquals(of("disconnected"), of("connected"));
      assertEquals(new Set(of("connected")).size, of("connected").length);
    },

    "a peer that leaves before its hello leaves nothing behind": async (ground) => {
      for (let i = 0; i < 50; i++) {
        const conn = await Deno.connect(address(ground.fixture.url));
        await conn.write(new TextEncoder().encode("GET /events HTTP/1.1\r\nHost: x\r\n\r\n"));
        conn.close();
      }
      await ground.settle(await ground.open());
      await eventually(async () => (await ground.fixture.state()).clients === 1, {
        what: "one client",
      });
    },
  });

  const flags = { keepaliveMs: 300, writeTimeoutMs: 1000, replayEvents: 32, replyMax: 32 };
  group(runtime, "peers that stop", flags, {
    "a peer that is stopped is noticed within the write timeout once its buffers are full": async (
      ground,
    ) => {
      const tag = ground.tag();
      const peer = await startPeer(`${ground.fixture.url}/events`, tag);
      ground.defer(() => peer.close());
      await ground.presence("connected", tag);
      peer.signal("SIGSTOP");
      // 2 MB/s: the buffer of 4 MiB does not fill within the timeout, so that it is the timeout that
      // ends the stream, and not the slow policy.
      const busy = traffic(ground, { size: 65_536 }, 30);
      ground.defer(() => busy.stop());
      const { lastEmptyAt, departure } = await watch(ground, tag);
      await busy.stop();
      assertEquals([departure.cause, departure.write], ["dead", "frame"]);
      const tookMs = departure.at - lastEmptyAt;
      assertLess(tookMs, flags.writeTimeoutMs + SLACK_MS);
    },

    "a stream to which nothing is published is not taken for dead while it is read": async (
      ground,
    ) => {
      const tag = ground.tag();
      const stream = await ground.open("", { tag });
      await elapse(2 * flags.writeTimeoutMs);
      assertEquals(stream.ending, null);
      assert(stream.keepalives >= 3);
    },
  });

  // The write timeout under this policy is a minute: what bounds the memory is the queue alone.
  const lag = { slow: "lag", replayEvents: 32, replyMax: 32 } as const;
  group(runtime, "peers that stop under traffic", lag, {
    "20 stopped peers do not make the server grow": async (ground) => {
      const { pid } = ground.fixture;
      const streams = await Promise.all(Array.from({ length: 20 }, async () => {
        const stream = await ground.open("?lag=1");
        await stream.hello();
        return stream;
      }));
      for (const stream of streams) stream.pause();
      // The first half fills what the host keeps for each peer, and lets the collector find its level.
      await flood(ground, HALF_FLOOD);
      const before = residentBytes(pid);
      await flood(ground, HALF_FLOOD);
      const after = residentBytes(pid);
      const told = `from ${mebibytes(before)} to ${mebibytes(after)} while ${
        mebibytes(HALF_FLOOD * 65_536)
      } were published`;
      console.log(`${runtime.name}: 20 stopped peers: ${told}`);
      assertLess(after - before, MEMORY_SLACK, told);
      assertEquals((await ground.fixture.state()).clients, 20);
    },
  });
}

async function flood(ground: Ground, frames: number): Promise<void> {
  for (let sent = 0; sent < frames; sent += 64) await ground.publish({ size: 65_536, count: 64 });
}

/** Watches the only client until it departs: when its queue was last seen empty. */
async function watch(
  ground: Ground,
  tag: string,
): Promise<{ lastEmptyAt: number; departure: { at: number; cause: string; write: string } }> {
  let lastEmptyAt = Date.now();
  return await eventually(async () => {
    const asked = Date.now();
    const { queued, events } = await ground.fixture.state();
    const departure = events.find((event) => event.kind === "disconnected" && event.tag === tag);
    if (departure !== undefined) return { lastEmptyAt, departure };
    if (queued === 0) lastEmptyAt = asked;
  }, { what: "the stopped peer's departure", timeoutMs: 40_000, everyMs: 20 });
}

function address(url: string): { hostname: string; port: number } {
  const { hostname, port } = new URL(url);
  return { hostname, port: Number(port) };
}
