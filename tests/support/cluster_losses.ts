/**
 * What a cluster loses, and who is told: the broker dies and comes back, or drops envelopes in silence.
 *
 * @module
 */
import { assertEquals, assertLess } from "@std/assert";
import {
  checkHealthy,
  checkTold,
  checkUntold,
  rise,
  say,
  type Seat,
  seat,
  seenBy,
} from "./cluster_audience.ts";
import { type Cluster, nth } from "./cluster_pods.ts";

/** Events of each pod while the broker is away. */
const DURING = 20;
/** How late the clients of the very pod may have an event, on a machine that does much else. */
const LOCAL_MS = 1000;

/**
 * Kills the broker and starts it again.
 *
 * @param cluster The cluster.
 * @returns How long the slowest local delivery took meanwhile, and how soon everybody was told, in
 * milliseconds.
 */
export async function checkOutage(cluster: Cluster): Promise<Record<string, number>> {
  const { broker, pods } = cluster;
  const seats = await seat(cluster, "outage");
  try {
    await broker.kill();
    const slowest = Math.max(...await Promise.all(seats.map((one, p) => sayAlone(one, p))));
    assertLess(slowest, LOCAL_MS);
    await broker.revive();
    const revived = performance.now();
    await Promise.all(seats.map(checkTold));
    const toldMs = Math.round(performance.now() - revived);
    for (const [p, one] of seats.entries()) {
      for (const seen of [seenBy(one), one.app.seen]) checkSeen(seen, p, pods.length);
    }
    await checkHealthy(cluster, seats, "outage");
    // Nobody was told twice.
    for (const { told, app } of seats) {
      assertEquals([told.audit.lags.length, app.lags.length, app.verdicts.length], [1, 1, 1]);
    }
    return { localMs: Math.round(slowest), toldMs };
  } finally {
    await rise(seats);
  }
}

/** What was said on this pod came once. Of the siblings nearly all is gone, for a relay is no log. */
function checkSeen(seen: readonly string[], own: number, pods: number): void {
  for (let p = 0; p < pods; p++) {
    const of = seen.filter((data) => data.startsWith(`outage ${p} `));
    if (p !== own) {
      // What a driver had taken when the broker died may come yet, once and in order.
      assertLess(of.length, DURING / 2);
      assertEquals(of, [...new Set(of)].sort((a, b) => numberOf(a) - numberOf(b)));
    } else assertEquals(of, Array.from({ length: DURING }, (_, n) => `outage ${p} ${n}`));
  }
}

function numberOf(data: string): number {
  return Number(data.split(" ").at(-1));
}

/** Publishes one by one, and waits for each on this pod alone. Returns the longest wait. */
async function sayAlone({ pod, told, plain }: Seat, p: number): Promise<number> {
  let slowest = 0;
  for (let n = 0; n < DURING; n++) {
    const data = `outage ${p} ${n}`;
    const began = performance.now();
    await say(pod, data);
    for (const stream of [told, plain]) {
      await stream.until(data, ({ durable }) => durable.at(-1)?.data === data);
    }
    slowest = Math.max(slowest, performance.now() - began);
  }
  return slowest;
}

/**
 * Drops two envelopes on their way to the third pod, and nobody says so.
 *
 * @param cluster The cluster.
 * @returns How soon the clients there were told, in milliseconds.
 */
export async function checkDroppedInbound(cluster: Cluster): Promise<Record<string, number>> {
  const { proxy, pods } = cluster;
  const seats = await seat(cluster, "inbound");
  try {
    const lost = ["inbound 3", "inbound 4"];
    const dropped = proxy.dropped;
    proxy.judge = ({ way, kind, data }) => {
      const hit = way === "toPod" && kind === "event" && lost.some((word) => data.includes(word));
      return hit ? "drop" : "pass";
    };
    const began = performance.now();
    const words = Array.from({ length: 8 }, (_, n) => `inbound ${n}`);
    for (const word of words) await say(nth(pods, 0), word);
    const [first, second, third] = [nth(seats, 0), nth(seats, 1), nth(seats, 2)];
    await checkTold(third);
    const toldMs = Math.round(performance.now() - began);
    proxy.release();
    assertEquals(proxy.dropped - dropped, lost.length);
    const news = (one: Seat): string[] => seenBy(one).slice(pods.length);
    await third.told.until("the rest", () => news(third).length >= words.length - lost.length);
    assertEquals(news(third), words.filter((word) => !lost.includes(word)));
    for (const one of [first, second]) {
      await one.told.until("all of it", () => news(one).length >= words.length);
      assertEquals(news(one), words);
      await checkUntold(one);
    }
    await checkHealthy(cluster, seats, "inbound");
    await Promise.all([first, second].map(checkUntold));
    assertEquals(third.told.audit.lags.length, 1);
    return { toldMs };
  } finally {
    proxy.release();
    await rise(seats);
  }
}

/**
 * Drops the last word of the third pod on its way out, after which nothing follows but its beats.
 *
 * @param cluster The cluster.
 * @returns How soon the clients of the others were told, in milliseconds.
 */
export async function checkDroppedLast(cluster: Cluster): Promise<Record<string, number>> {
  const { proxy, pods } = cluster;
  const seats = await seat(cluster, "outbound");
  try {
    const dropped = proxy.dropped;
    proxy.judge = ({ way, kind }) => way === "toBroker" && kind === "event" ? "drop" : "pass";
    const [first, second, third] = [nth(seats, 0), nth(seats, 1), nth(seats, 2)];
    const began = performance.now();
    await say(nth(pods, 2), "outbound last");
    await third.told.until("its own pod's word", () => seenBy(third).includes("outbound last"));
    proxy.release();
    assertEquals(proxy.dropped - dropped, 1);
    await Promise.all([first, second].map(checkTold));
    const toldMs = Math.round(performance.now() - began);
    for (const one of [first, second]) assertEquals(seenBy(one).includes("outbound last"), false);
    await checkUntold(third);
    await checkHealthy(cluster, seats, "outbound");
    return { toldMs };
  } finally {
    proxy.release();
    await rise(seats);
  }
}
