/**
 * Where a journal begins under its bounds.
 *
 * @module
 */
import type { Retention } from "../retention.ts";
import { type Mark, markFrom, type Meta } from "./schema.ts";
import type { SqlStore } from "./store.ts";

/**
 * The oldest offset that may still be read: of the entries that are there, the first that every bound
 * lets stay. It is exact at every instant, however far the deleting has come.
 *
 * The age of an entry counts from the greatest `at` up to it: a publisher's clock that was set back
 * keeps entries longer, and never drops one that stands after a younger one.
 *
 * @param store The database.
 * @param meta What it says now.
 * @param retention The bounds.
 * @param now The time, in milliseconds since the Unix epoch.
 * @returns The floor; `head + 1` when nothing may be read.
 */
export function floorOf(store: SqlStore, meta: Meta, retention: Retention, now: number): number {
  const { first, head, floor, bytes } = meta;
  if (first === null) return head + 1;
  const oldest = now - retention.maxAgeMs;
  const stays = (mark: Mark): boolean =>
    mark.latest >= oldest && bytes - mark.before <= retention.maxBytes;
  const from = Math.max(first.offset, floor, head - retention.maxEntries + 1);
  if (from === first.offset && stays(first)) return from;
  // Those that stay stand behind those that go: halve.
  let [low, high] = [from, head + 1];
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const mark = markFrom(store, middle);
    if (mark === undefined || stays(mark)) high = middle;
    else low = mark.offset + 1;
  }
  return low;
}
