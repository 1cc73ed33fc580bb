/**
 * The hub: it numbers events, keeps the newest, and sends each to every connection that listens.
 *
 * @module
 */
import { checkWait } from "./leaving.ts";
import { type HubOptions, readOptions } from "./options.ts";
import { Roster } from "./roster.ts";
import { RosterHub } from "./roster_hub.ts";
import type { Hub, PublishEvent } from "./types.ts";

/**
 * Makes a hub.
 *
 * It is inert until it is used: neither randomness nor a timer before the first request or event.
 *
 * @param options What it keeps and how long it waits; every field has a default.
 * @returns The hub.
 * @throws {ConfigError} For options, or pairs of options, that it could not honour.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 *
 * const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
 * assertEquals(hub.publish({ name: "notify", data: '{"n":1}' }), 1);
 *
 * const response = hub.serve(new Request("http://localhost/events"));
 * assertEquals(response.headers.get("Content-Type"), "text/event-stream");
 * await response.body?.cancel();
 * ```
 */
export function createHub(options: HubOptions = {}): Hub {
  return new BroadcastHub(new Roster(readOptions(options)));
}

class BroadcastHub extends RosterHub implements Hub {
  publish(event: PublishEvent): number {
    return this.roster.publish(event, this.roster.siblings);
  }

  ingest(event: PublishEvent): number {
    return this.roster.publish(event, null);
  }

  gap({ spreadMs = 0 }: { readonly spreadMs?: number } = {}): number {
    return this.roster.gap(checkWait("spreadMs", spreadMs));
  }
}
