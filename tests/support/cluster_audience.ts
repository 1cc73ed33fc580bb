/**
 * One client of each kind on each pod of a cluster, and what each of them is told of a loss.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { createStream } from "../../src/client/stream.ts";
import type { RevalidateCause, Stream } from "../../src/client/types.ts";
import { type Cluster, nth } from "./cluster_pods.ts";
import type { RunningFixture } from "./fixture.ts";
import { eventually } from "./poll.ts";
import { type EventStream, openStream } from "./stream.ts";

const TOPIC = "news";
const PLAIN = `/events?topic=${TOPIC}`;
const DECLARES_LAG = `${PLAIN}&lag=1`;

/** The clients of one pod. */
export interface Seat {
  readonly pod: RunningFixture;
  /** Declares that it can be told of lag. */
  readonly told: EventStream;
  /** Does not. */
  readonly plain: EventStream;
  /** Our client. */
  readonly app: App;
  /** What one that is away would come back with. */
  readonly cursor: string;
}

/** Our client, and what it was told. */
export interface App {
  readonly stream: Stream;
  readonly seen: string[];
  /** The verdict of each hello. */
  readonly verdicts: string[];
  /** The `missed` of each lag. */
  readonly lags: (number | null)[];
  /** Why it had to revalidate. */
  readonly causes: RevalidateCause[];
}

/** What `told` has seen. */
export function seenBy({ told }: Seat): string[] {
  return told.blocks.flatMap((block) =>
    block.kind === "event" && block.name === "n" ? [block.data] : []
  );
}

/** Publishes on the topic that everybody here listens to. */
export async function say(pod: RunningFixture, data: string): Promise<void> {
  await pod.publish({ topic: TOPIC, name: "n", data });
}

/**
 * Seats the clients, each of which has seen an event of each pod.
 *
 * @param cluster The cluster.
 * @param round A name for this time.
 */
export async function seat({ pods }: Cluster, round: string): Promise<Seat[]> {
  const seats = await Promise.all(pods.map(async (pod) => {
    const told = await openStream(`${pod.url}${DECLARES_LAG}`);
    const plain = await openStream(`${pod.url}${PLAIN}`);
    const app = createApp(pod);
    await Promise.all([told.hello(), plain.hello()]);
    await eventually(() => app.verdicts.length === 1, { what: "our client to be open" });
    return { pod, told, plain, app };
  }));
  for (const [p, pod] of pods.entries()) await say(pod, `${round} first ${p}`);
  return await Promise.all(seats.map(async (one) => {
    for (const stream of [one.told, one.plain]) await stream.events(pods.length);
    await eventually(() => one.app.seen.length === pods.length, { what: "our client's events" });
    return { ...one, cursor: one.told.audit.cursor };
  }));
}

/** Ends the clients. */
export async function rise(seats: readonly Seat[]): Promise<void> {
  for (const { app } of seats) app.stream.stop();
  await Promise.all(seats.flatMap(({ told, plain }) => [told.close(), plain.close()]));
}

/**
 * Waits until the clients of a pod were told that something is missing, each in its way.
 *
 * @param one The clients.
 */
export async function checkTold(one: Seat): Promise<void> {
  const { pod, told, plain, app, cursor } = one;
  await told.until("sse:lag", ({ audit }) => audit.lags.length > 0);
  assertEquals(told.audit.lags.map(({ missed }) => missed), [null]);
  await eventually(() => app.lags.length > 0, { what: "our client to be told" });
  assertEquals(app.lags, [null]);
  await eventually(() => app.causes.length > 0, { what: "our client to revalidate" });
  assertEquals(app.causes, ["lag"]);
  // Both have stayed.
  assertEquals([told.ending, app.stream.state(), app.verdicts], [null, "open", ["fresh"]]);
  // Who cannot be told is sent away, and is told when it comes back.
  await plain.end();
  assertEquals(await verdictOf(pod, plain.audit.cursor), "gap_floor");
  // So is who was away.
  assertEquals(await verdictOf(pod, cursor), "gap_floor");
}

/**
 * Checks that the clients of a pod were told of nothing, and that who was away is resumed.
 *
 * @param one The clients.
 */
export async function checkUntold({ pod, told, plain, app, cursor }: Seat): Promise<void> {
  assertEquals([told.audit.lags, app.lags, app.causes], [[], [], []]);
  assertEquals([told.ending, plain.ending, app.verdicts], [null, null, ["fresh"]]);
  assertEquals(await verdictOf(pod, cursor), "resumed");
}

/**
 * Checks that all is as it was: what any pod publishes reaches the clients of each, and a client that
 * leaves is resumed with what it missed.
 *
 * @param cluster The cluster.
 * @param seats The clients that stayed.
 * @param round A name for this time.
 */
export async function checkHealthy(
  { pods }: Cluster,
  seats: readonly Seat[],
  round: string,
): Promise<void> {
  const words = pods.map((_, p) => `${round} after ${p}`);
  for (const [p, pod] of pods.entries()) await say(pod, nth(words, p));
  const after = (list: readonly string[]): string[] =>
    list.filter((data) => words.includes(data)).sort();
  await Promise.all(seats.map(async (one) => {
    await one.told.until("an event of each pod", () => after(seenBy(one)).length >= words.length);
    assertEquals(after(seenBy(one)), words);
    await eventually(() => after(one.app.seen).length >= words.length, {
      what: "our client to have an event of each pod",
    });
    assertEquals(after(one.app.seen), words);
  }));
  const cursors = seats.map(({ told }) => told.audit.cursor);
  for (const [p, pod] of pods.entries()) await say(pod, `${round} away ${p}`);
  await Promise.all(seats.map(async ({ pod, told }, i) => {
    await told.until("all of it", ({ durable }) => {
      return durable.filter(({ data }) => data.startsWith(`${round} away`)).length === pods.length;
    });
    const cursor = nth(cursors, i);
    const back = await openStream(`${pod.url}${DECLARES_LAG}`, { cursor });
    assertEquals((await back.hello()).verdict, "resumed");
    const missed = (await back.events(pods.length)).map(({ data }) => data).sort();
    assertEquals(missed, pods.map((_, p) => `${round} away ${p}`));
    await back.close();
  }));
}

async function verdictOf(pod: RunningFixture, cursor: string): Promise<string> {
  const stream = await openStream(`${pod.url}${DECLARES_LAG}`, { cursor });
  const { verdict } = await stream.hello();
  await stream.close();
  return verdict;
}

function createApp(pod: RunningFixture): App {
  const app = { seen: [], verdicts: [], lags: [], causes: [] } as Omit<App, "stream">;
  const stream = createStream({
    url: `${pod.url}${PLAIN}`,
    timing: { baseMs: 20, capMs: 300 },
    onFrame({ type, data }) {
      if (type === "n") app.seen.push(data);
    },
    onLag: ({ missed }) => app.lags.push(missed),
    revalidate({ cause }) {
      // The first hello, on which everything is fetched, is none of a loss.
      if (cause !== "hello") app.causes.push(cause);
    },
    onLifecycle(record) {
      if (record.kind === "hello") app.verdicts.push(record.verdict);
    },
  });
  stream.start();
  return { ...app, stream };
}
