/**
 * Joining a topic that is talking: whoever subscribes it on a live stream, at whatever moment, gets the
 * whole of it, each event once and in order.
 *
 * @module
 */
import { assertEquals, assertGreater } from "@std/assert";
import { createStream } from "../../src/client/stream.ts";
import type { FixtureOptions } from "../../src/testing/fixture/options.ts";
import { eventually } from "../support/poll.ts";
import type { Runtime } from "../support/runtimes.ts";
import { type Ground, group } from "./lib/group.ts";
import { runSeed, seeded } from "./lib/random.ts";

const JOINERS = 30;
const EVENTS = 400;
/** What the topic rests between two events, in milliseconds. */
const REST_MS = 2;

/** Where the past of a topic stands: in the ring, or most of it in a journal. */
const PASTS: Readonly<Record<string, FixtureOptions>> = {
  "ring": { replayEvents: 4096, replyMax: 4096 },
  "journal": { journal: "memory", replayEvents: 20 },
};

/** Registers the tests. */
export function lateJoiners(runtime: Runtime): void {
  for (const [past, flags] of Object.entries(PASTS)) {
    group(runtime, `late joiners, from the ${past}`, flags, {
      "at whatever moment of a running topic one joins, one gets it whole, each event once": run,
    });
  }
}

async function run(ground: Ground): Promise<void> {
  const { url } = ground.fixture;
  const random = seeded(runSeed());
  const expected = Array.from({ length: EVENTS }, (_, i) => i + 1);
  let published = 0;
  let late = 0;
  const join = async (at: number): Promise<number[]> => {
    const seen: number[] = [];
    const stream = createStream({
      url: `${url}/events?topic=account`,
      subscribeUrl: `${url}/subscribe`,
      onFrame({ type, data }) {
        if (type === "word") seen.push(Number(data));
      },
    });
    ground.defer(() => stream.stop());
    stream.start();
    const what = `the topic to have said ${at}`;
    await eventually(() => published >= at, { what, timeoutMs: 30_000, everyMs: 1 });
    const { verdict, head } = await stream.subscribe("talk", { history: true });
    assertEquals(verdict, "fresh");
    if (Number(head) > 0) late++;
    return seen;
  };
  const joining = Array.from({ length: JOINERS }, () => join(random.between(0, EVENTS - 1)));
  for (const n of expected) {
    await ground.publish({ topic: "talk", name: "word", data: String(n) });
    published = n;
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
  }
  const joined = await Promise.all(joining);
  const complete = (): boolean => joined.every((seen) => seen.length >= EVENTS);
  // Those that are short are shown by the comparison.
  await eventually(complete, { what: "every joiner to have it whole" }).catch(() => {});
  for (const seen of joined) assertEquals(seen, expected, `seed ${random.seed}`);
  assertGreater(late, JOINERS / 2, "most came late");
}
