/**
 * What our servers have in common: a hub with a ring, as one needs it to resume clients.
 *
 * @module
 */
import { createHub } from "../../../src/hub/hub.ts";
import type { Hub } from "../../../src/hub/types.ts";
import { type BenchServer, control } from "../control.ts";

/**
 * The keepalive is an hour away: no contender sends one while it is measured. The ring and one
 * reply hold what the replay benchmark asks back.
 */
const KEEPALIVE_MS = 3_600_000;
const RING = 16_384;

/** The hub under measurement. */
export const hub: Hub = createHub({
  keepaliveMs: KEEPALIVE_MS,
  replay: { maxEvents: RING, replyMaxEvents: RING, ttlMs: 4 * KEEPALIVE_MS },
});

/**
 * Puts the hub under the benchmark's control.
 *
 * @param port The port that the hub is served on.
 */
export function controlHub(port: number): void {
  const publish: BenchServer["publish"] = (sequence, event) => {
    const offset = hub.publish(event);
    if (offset !== sequence) throw new Error(`event ${sequence} got the offset ${offset}`);
  };
  control({ port, epoch: hub.position().epoch, publish, connections: () => hub.clientCount });
}
