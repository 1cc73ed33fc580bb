/**
 * A second reader beside the page: it takes its time, so that the hub has to drop frames for it, and
 * says so.
 */
import { frames } from "/lib/client.js";

/**
 * Reads the bursts' topic for a while, then to its end, and counts.
 *
 * @param {number} ms For how long it takes nothing.
 * @param {AbortSignal} signal Ends it.
 * @param {() => void} ready Called when it is connected.
 * @param {() => number} last The counter of the last event to wait for; Infinity while unknown.
 * @returns {Promise<{ received: number, missed: number, told: number }>}
 */
export async function readSlowly(ms, signal, ready, last) {
  const sum = { received: 0, missed: 0, told: 0 };
  let n = 0;
  const reader = frames("/events?topic=burst", {
    signal,
    onLifecycle: (record) => record.kind === "hello" && ready(),
    onGap: ({ missed }) => {
      sum.told += missed ?? 0;
    },
  });
  for await (const { type, data } of reader) {
    if (type !== "burst") continue;
    const event = JSON.parse(data);
    // The first one that it takes lets it sleep, with all the others behind it.
    if (sum.received === 0) await new Promise((resolve) => setTimeout(resolve, ms));
    else sum.missed += event.n - n - 1;
    sum.received++;
    n = event.n;
    if (n >= last()) break;
  }
  return sum;
}
