/**
 * What tests do with a page that has a stream of the client.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { eventually } from "../../support/poll.ts";
import type { SeenRecord, StreamDescription, StreamProbe } from "../page/stream.ts";
import type { Ground } from "./ground.ts";
import type { ProbedTab } from "./probe.ts";

/** A tab with the page `stream`. */
export type StreamTab = ProbedTab<StreamProbe>;

/** A record of one kind, as the page saw it. */
export type RecordOf<K extends SeenRecord["kind"]> = Extract<SeenRecord, { readonly kind: K }>;

/** Opens a page with a stream, and waits until it is open. */
export async function streaming(
  ground: Ground,
  description: StreamDescription = {},
): Promise<StreamTab> {
  const tab = await ground.open<StreamProbe>("stream");
  await tab.ask("begin", description);
  await opensAgain(tab, 1);
  return tab;
}

const published = new WeakMap<Ground, number>();

/** Publishes events with the data `1`, `2`, … within a test; returns their data. */
export async function publish(ground: Ground, count: number, topic = ""): Promise<string[]> {
  const data = Array.from({ length: count }, (_, i) => `${(published.get(ground) ?? 0) + i + 1}`);
  published.set(ground, (published.get(ground) ?? 0) + count);
  for (const each of data) await ground.publish({ topic, name: "news", data: each });
  return data;
}

/** Waits until the page has seen so many events, and holds them to be just these, in order. */
export async function sees(
  tab: StreamTab,
  data: readonly string[],
  timeoutMs?: number,
): Promise<void> {
  const options = { what: `${data.length} events`, timeoutMs };
  assertEquals(await tab.until("seen", (seen) => seen.length >= data.length, options), data);
  assertEquals(await tab.ask("seen"), data);
}

/**
 * Like {@linkcode sees}, and then one more event: whatever was to come twice has come before it.
 */
export async function seesOnce(
  ground: Ground,
  tab: StreamTab,
  data: readonly string[],
  timeoutMs?: number,
): Promise<void> {
  await sees(tab, data, timeoutMs);
  await sees(tab, [...data, ...await publish(ground, 1)]);
}

/** The records of a kind, once there are so many. */
export async function records<K extends SeenRecord["kind"]>(
  tab: StreamTab,
  kind: K,
  atLeast = 0,
): Promise<readonly RecordOf<K>[]> {
  const of = (all: readonly SeenRecord[]): readonly RecordOf<K>[] =>
    all.filter((record): record is RecordOf<K> => record.kind === kind);
  const what = `${atLeast} records ${kind}`;
  return of(await tab.until("records", (all) => of(all).length >= atLeast, { what }));
}

/** The newest record of a kind, once there is one. */
export async function last<K extends SeenRecord["kind"]>(
  tab: StreamTab,
  kind: K,
): Promise<RecordOf<K>> {
  const found = (await records(tab, kind, 1)).at(-1);
  if (found === undefined) throw new Error(`There is no record ${kind}`);
  return found;
}

/** Waits until the stream is open for the nth time, and is so now. */
export async function opensAgain(tab: StreamTab, times: number): Promise<void> {
  await records(tab, "hello", times);
  await tab.until("state", (state) => state === "open", { what: "open" });
}

/** Waits until the fixture has so many streams. */
export async function clients(ground: Ground, count: number): Promise<void> {
  await eventually(async () => (await ground.fixture.state()).clients === count, {
    what: `${count} clients of the fixture`,
    everyMs: 50,
  });
}
