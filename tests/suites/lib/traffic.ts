/**
 * Traffic: events at full speed or at a rate, until something holds.
 *
 * @module
 */
import type { PublishBody } from "../../support/fixture.ts";
import type { Ground } from "./group.ts";
import { elapse } from "./within.ts";

/**
 * Publishes at full speed until something holds.
 *
 * @param ground Where.
 * @param body What, again and again.
 * @param done Whether it holds.
 * @param most The most events; 5000.
 * @returns How many were published.
 * @throws When it does not hold after so many.
 */
export async function publishUntil(
  ground: Ground,
  body: PublishBody,
  done: () => boolean | Promise<boolean>,
  most = 5000,
): Promise<number> {
  let published = 0;
  while (!await done()) {
    if (published >= most) throw new Error(`It does not hold after ${published} events`);
    published += (await ground.publish({ count: 8, ...body })).length;
  }
  return published;
}

/** Events at a steady rate. */
export interface Traffic {
  /** How many were published so far. */
  readonly published: number;
  /** Stops it. */
  stop(): Promise<void>;
}

/**
 * Publishes at a steady rate until it is stopped. The rate is kept whatever the answers take: what is
 * late is published with the next request.
 *
 * @param ground Where.
 * @param body What, again and again.
 * @param perSecond How many events in a second.
 * @returns The traffic.
 */
export function traffic(ground: Ground, body: PublishBody, perSecond: number): Traffic {
  const started = performance.now();
  let published = 0;
  let over = false;
  const run = async (): Promise<void> => {
    while (!over) {
      const due = Math.floor((performance.now() - started) * perSecond / 1000) + 1;
      if (due > published) {
        published += (await ground.publish({ ...body, count: due - published })).length;
      }
      await elapse(Math.max(1, (published + 1) * 1000 / perSecond - performance.now() + started));
    }
  };
  const running = run();
  running.catch(() => {});
  return {
    get published() {
      return published;
    },
    stop() {
      over = true;
      return running;
    },
  };
}
