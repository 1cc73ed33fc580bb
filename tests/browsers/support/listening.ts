/**
 * What tests do with a page that has an `EventSource` of the browser's own.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { NativeProbe } from "../page/native.ts";
import type { LifeEvent } from "../page/recorder.ts";
import type { Ground } from "./ground.ts";
import type { ProbedTab } from "./probe.ts";

/** A tab with the page `native`. */
export type NativeTab = ProbedTab<NativeProbe>;

/** A page that listens to the stream, and has heard its hello. */
export async function listening(ground: Ground): Promise<NativeTab> {
  const tab = await ground.open<NativeProbe>("native");
  await tab.ask("listen", "/events");
  await hears(tab, "sse:hello", /./);
  return tab;
}

/** Waits until the page's source has brought an event. */
export async function hears(tab: NativeTab, name: string, data: RegExp): Promise<void> {
  await tab.until(
    "events",
    (events) => events.some((event) => event.type === name && data.test(event.data)),
    { what: `${name} with ${data}` },
  );
}

/** Waits until something happened to the page; returns all that happened to it. */
export async function told(
  tab: NativeTab,
  name: string,
  detail?: string,
): Promise<readonly LifeEvent[]> {
  return await tab.until(
    "life",
    (life) =>
      life.some((event) => event.type === name && (detail ?? event.detail) === event.detail),
    { what: `${name} ${detail ?? ""}` },
  );
}

/** Leaves a page, and comes back to it. Says whether it was kept meanwhile. */
export async function leaveAndReturn(
  ground: Ground,
  tab: NativeTab,
  first?: "lock" | "greet",
): Promise<boolean> {
  if (first !== undefined) await tab.ask(first);
  await tab.goto(`${ground.origin}/blank`);
  await tab.back();
  const life = await told(tab, "pageshow");
  const last = life.findLast(({ type }) => type === "pageshow");
  // A page that was kept remembers how it was left.
  assertEquals(life.some(({ type }) => type === "pagehide"), last?.detail === "persisted");
  return last?.detail === "persisted";
}
