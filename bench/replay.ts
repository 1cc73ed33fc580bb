/**
 * What does it cost to resume one client that missed N events? In process: from the request to the
 * last byte handed to a sink, no socket.
 *
 * A program: it prints one line of JSON per result. `bench/main.ts replay` runs it on each runtime,
 * and asks the same of real sockets.
 *
 * @module
 */
import { createHub } from "../src/hub/hub.ts";
import type { Hub } from "../src/hub/types.ts";
import { FRAME_BYTES, loadEvent } from "./fixtures.ts";
import { type Effort, microsOf, printResults, type Result } from "./lib/inprocess.ts";
import { connectSink, release, type Tally } from "./lib/sink.ts";

/** How many events are missed: none, as after a short cut, as after a deploy, a whole ring. */
const MISSED: readonly number[] = [0, 16, 256, 10_000];
const RING = 10_000;
/** The topics that the ring's events are spread over; a client listens to one or to all. */
const TOPICS = 10;

function filledHub(): Hub {
  const hub = createHub({
    keepaliveMs: 3_600_000,
    replay: { maxEvents: RING, replyMaxEvents: RING, ttlMs: 14_400_000 },
  });
  for (let n = 1; n <= RING; n++) {
    hub.publish({ ...loadEvent(n, 1_700_000_000_000), topic: `topic:${n % TOPICS}` });
  }
  return hub;
}

async function measure(
  hub: Hub,
  missed: number,
  topics: readonly string[],
  effort: Effort,
): Promise<Result> {
  const { epoch, head } = hub.position();
  const cursor = `${epoch}:${head - missed}`;
  const frames = topics.length === 0 ? missed : Math.floor(missed / TOPICS);
  const tally: Tally = { chunks: 0, bytes: 0 };
  const micros = await microsOf(effort, () => {
    const before = tally.bytes;
    const peer = connectSink(hub, tally, { cursor, topics });
    const bytes = tally.bytes - before;
    // The retry line, the hello and an id alone come on top; they are less than 600 bytes.
    const beyond = bytes - frames * FRAME_BYTES;
    if (beyond < 0 || beyond > 600) throw new Error(`${bytes} bytes for ${frames} frames`);
    peer.left();
    release();
  });
  return {
    name: topics.length === 0
      ? `${missed.toLocaleString("en-US")} missed, all topics`
      : `${missed.toLocaleString("en-US")} missed, one topic in ten`,
    values: { microsPerResume: micros, microsPerFrame: micros / Math.max(1, frames) },
  };
}

async function replay(effort: Effort): Promise<Result[]> {
  const hub = filledHub();
  const results: Result[] = [];
  for (const missed of MISSED) results.push(await measure(hub, missed, [], effort));
  results.push(await measure(hub, RING, ["topic:3"], effort));
  await hub.shutdown();
  return results;
}

await printResults(replay);
