/**
 * What a hub says of its connections when all of them have ended, beside what their readers saw.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { HubMetrics } from "../../src/hub/metrics.ts";
import type { PresenceEvent } from "../../src/hub/presence.ts";
import type { Reader } from "./delivery.ts";

/**
 * Judges who was said to be there: everybody who got a hello, once, and nobody else.
 *
 * @param readers All of them.
 * @param presence What the presence hook was told.
 */
export function judgePresence(
  readers: readonly Reader[],
  presence: readonly PresenceEvent[],
): void {
  const told = new Map<string, PresenceEvent[]>();
  for (const event of presence) {
    told.set(event.connection, [...(told.get(event.connection) ?? []), event]);
  }
  const greeted = readers.filter(({ begun }) => begun);
  assertEquals(told.size, greeted.length, "presence for those who got a hello, and no others");
  for (const reader of greeted) {
    const events = told.get(reader.connection) ?? [];
    assertEquals(events.map(({ kind }) => kind), ["connected", "disconnected"]);
    if (reader.reset === null) continue;
    const cause = reader.reset === "slow" ? "evicted" : "shutdown";
    assertEquals(events[1]?.cause, cause);
  }
}

/**
 * Judges what was counted.
 *
 * @param readers All of them.
 * @param metrics What the hub counted.
 * @param gaps How often events of other pods were lost.
 */
export function judgeMetrics(
  readers: readonly Reader[],
  metrics: HubMetrics,
  gaps: number,
): void {
  const { verdicts, departures, lagNotices, lagMissed } = metrics;
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((total, count) => total + count, 0);
  assertEquals([sum(verdicts), sum(departures)], [readers.length, readers.length]);
  assertEquals(metrics.gaps, gaps);
  const lags = readers.reduce((total, reader) => total + reader.lags, 0);
  const missed = readers.reduce((total, reader) => total + reader.missed, 0);
  // A notice may have been cut off with its client, so it was counted and not read.
  assert(lagNotices >= lags && lagMissed >= missed);
}

/**
 * Whether a stream ends behind a whole frame.
 *
 * @param chunks All that was written to it.
 */
export function endsWhole(chunks: readonly Uint8Array[]): boolean {
  // The last byte may have had a chunk to itself.
  const end = chunks.slice(-2).flatMap((chunk) => [...chunk.subarray(-2)]).slice(-2);
  return end.length === 0 || (end[0] === 10 && end[1] === 10);
}
