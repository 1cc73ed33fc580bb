/**
 * One round: one server, all clients, one way of publishing.
 *
 * @module
 */
import { type Child, type Message, numberIn } from "../lib/child.ts";
import { quantile } from "../lib/stats.ts";

/** A way of publishing. */
export interface Mode {
  /** Its name in the results. */
  readonly name: "single" | "burst";
  /** How many events each burst holds. */
  readonly size: number;
  /** How many bursts a round has. */
  readonly bursts: number;
  /** The time between the starts of two bursts, in milliseconds. */
  readonly everyMs: number;
}

/** A round that counts. */
export interface Round {
  /** Server CPU per delivered frame, in microseconds. */
  readonly microsPerFrame: number;
  /** How much of one core the server used. */
  readonly utilisation: number;
  /** How late the slowest hundredth of the frames was, in milliseconds. */
  readonly delayP99Ms: number;
  /** The resident set after the round, in bytes. */
  readonly rssBytes: number;
}

/** Why a round does not count. */
export interface VoidRound {
  /** What went wrong. */
  readonly why: string;
}

/** A server above this share of one core may have been waited for: its round does not count. */
const SATURATED = 0.9;
/** At most this share of the probes' frames may be later than the next publishing. */
const LATE_SHARE = 0.05;
const SETTLE_MS = 100;
const WAIT_MS = 10_000;

/**
 * Opens the streams and waits until the server knows them all.
 *
 * @param server The server.
 * @param client The client.
 * @param count How many to open.
 * @param total How many there are then.
 */
export async function openStreams(
  server: Child,
  client: Child,
  count: number,
  total: number = count,
): Promise<void> {
  const port = numberIn(server.ready, "port");
  await client.ask({ do: "connect", port, path: "/events", count });
  await untilConnections(server, total);
  await sleep(SETTLE_MS);
}

/**
 * Closes the streams and waits until the server has noticed.
 *
 * @param server The server.
 * @param client The client.
 */
export async function closeStreams(server: Child, client: Child): Promise<void> {
  await client.ask({ do: "close" });
  await untilConnections(server, 0);
}

async function untilConnections(server: Child, count: number): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const usage = await server.ask({ do: "usage" });
    if (usage.connections === count) return;
    if (Date.now() > deadline) {
      throw new Error(`the server knows ${usage.connections} connections, not ${count}`);
    }
    await sleep(10);
  }
}

/**
 * Publishes, and measures what the server spent until each stream had each frame.
 *
 * @param server The server.
 * @param client The client, its streams open.
 * @param clients How many streams there are.
 * @param mode How to publish.
 * @returns The round, or why it does not count.
 */
export async function measure(
  server: Child,
  client: Child,
  clients: number,
  mode: Mode,
): Promise<Round | VoidRound> {
  const each = mode.bursts * mode.size;
  await client.ask({ do: "arm", each });
  const before = await server.ask({ do: "usage" });
  const start = performance.now();
  const publishing = await server.ask({
    do: "publish",
    bursts: mode.bursts,
    size: mode.size,
    everyMs: mode.everyMs,
  });
  const received = await client.ask({ do: "wait", each, withinMs: WAIT_MS }, 2 * WAIT_MS);
  await sleep(SETTLE_MS);
  const after = await server.ask({ do: "usage" });
  const tookMs = performance.now() - start;
  const cpuMicros = numberIn(after, "cpuMicros") - numberIn(before, "cpuMicros");
  const utilisation = cpuMicros / 1000 / tookMs;
  const why = whyVoid(received, publishing, each, clients, mode, utilisation);
  if (why !== null) return { why };
  return {
    microsPerFrame: cpuMicros / (each * clients),
    utilisation,
    delayP99Ms: quantile(delaysIn(received), 0.99),
    rssBytes: numberIn(after, "rssBytes"),
  };
}

function whyVoid(
  received: Message,
  publishing: Message,
  each: number,
  clients: number,
  mode: Mode,
  utilisation: number,
): string | null {
  const published = numberIn(publishing, "to") - numberIn(publishing, "from") + 1;
  if (published !== each) return `${published} events were published instead of ${each}`;
  if (received.least !== each || received.most !== each || received.total !== each * clients) {
    return `a stream received ${received.least} to ${received.most} frames instead of ${each}`;
  }
  if (received.closed !== 0) return `${received.closed} streams closed`;
  const [wrong] = received.wrong as string[];
  if (wrong !== undefined) return wrong;
  if (utilisation > SATURATED) return `the server used ${utilisation.toFixed(2)} of a core`;
  const delays = delaysIn(received);
  const late = delays.filter((ms) => ms >= mode.everyMs).length / delays.length;
  if (late > LATE_SHARE) return `the reader fell behind: ${Math.round(late * 100)} % late`;
  return null;
}

function delaysIn(received: Message): readonly number[] {
  return received.delaysMs as number[];
}

/**
 * Waits.
 *
 * @param ms For how many milliseconds.
 */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
