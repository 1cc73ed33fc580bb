/**
 * Publishing on all pods of a cluster at once, and counting what reaches whom.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Cluster, nth } from "./cluster_pods.ts";
import { eventually } from "./poll.ts";
import { type EventStream, openStream } from "./stream.ts";

const CLIENTS = 60;
const TOPICS = 6;
/** Each so-manieth is `ephemeral`. */
const EPHEMERAL_EVERY = 5;

/** How to publish. */
export interface DeliveryOptions {
  /** Events of each pod; a multiple of 5. */
  readonly events: number;
  /**
   * 2 where `ephemeral` events go another way than the others and may overtake them: then each kind is
   * in its order.
   */
  readonly lanes: 1 | 2;
}

/** What was counted. */
export interface DeliveryReport {
  readonly clients: number;
  readonly published: number;
  readonly deliveries: number;
  readonly tookMs: number;
}

/** One client. */
interface Listener {
  readonly topics: readonly string[];
  readonly stream: EventStream;
  readonly seen: string[];
}

/**
 * Has every pod publish at once, and checks that each client has each event of its topics exactly
 * once, those of one pod in their order.
 *
 * @param cluster The cluster.
 * @param options How to publish.
 * @returns What was counted.
 */
export async function checkDelivery(
  cluster: Cluster,
  { events, lanes }: DeliveryOptions,
): Promise<DeliveryReport> {
  const { pods } = cluster;
  const listeners = await Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => listen(cluster, i)),
  );
  try {
    const before = await heads(cluster);
    const began = performance.now();
    await Promise.all(pods.map(async (pod, p) => {
      for (let n = 0; n < events; n++) {
        const ephemeral = isEphemeral(n);
        await pod.publish({ topic: topicOf(p, n), name: "n", data: dataOf(p, n), ephemeral });
      }
    }));
    const owed = (listener: Listener): string[][] =>
      pods.map((_, p) => owedBy(p, listener, events));
    await eventually(
      () => listeners.every((one) => one.seen.length >= owed(one).flat().length),
      { what: "every client to have what it is owed", timeoutMs: 15_000 },
    );
    const tookMs = Math.round(performance.now() - began);
    // What would come twice was sent before these words, and the broker keeps the order.
    await Promise.all(pods.map(async (pod, p) => {
      await pod.publish({ name: "n", data: `${p}:e:last`, ephemeral: true });
      await pod.publish({ name: "n", data: `${p}:d:last` });
    }));
    const lastOfEach = (one: Listener): boolean =>
      pods.every((_, p) => [`${p}:e:last`, `${p}:d:last`].every((data) => one.seen.includes(data)));
    await eventually(() => listeners.every(lastOfEach), { what: "the last words of each pod" });

    let deliveries = 0;
    for (const one of listeners) {
      const lists = owed(one);
      for (const [p] of pods.entries()) {
        const all = [...nth(lists, p), `${p}:e:last`, `${p}:d:last`];
        for (const lane of lanes === 1 ? [`${p}:`] : [`${p}:e`, `${p}:d`]) {
          const of = (list: readonly string[]): string[] =>
            list.filter((data) => data.startsWith(lane));
          // Each once, and in order.
          assertEquals(of(one.seen), of(all));
        }
      }
      assertEquals(one.seen.length, lists.flat().length + 2 * pods.length);
      assertEquals(one.stream.audit.lags, [], "nobody was told of a loss");
      deliveries += lists.flat().length;
    }
    const durable = pods.length * (events - events / EPHEMERAL_EVERY + 1);
    // An event that came back would take an offset more on its own pod.
    assertEquals((await heads(cluster)).map((head, i) => head - nth(before, i)), [
      durable,
      durable,
      durable,
    ]);
    return { clients: CLIENTS, published: pods.length * events, deliveries, tookMs };
  } finally {
    await Promise.all(listeners.map(({ stream }) => stream.close()));
  }
}

/** Twenty on each pod, each with two topics; each topic is listened to on each pod. */
async function listen({ pods }: Cluster, index: number): Promise<Listener> {
  const first = Math.floor(index / pods.length) % TOPICS;
  const topics = [`many:${first}`, `many:${(first + 2) % TOPICS}`];
  const seen: string[] = [];
  const query = topics.map((topic) => `topic=${topic}`).join("&");
  const stream = await openStream(`${nth(pods, index).url}/events?lag=1&${query}`, {
    keep: false,
    onBlock(block) {
      if (block.kind === "event" && block.name === "n") seen.push(block.data);
    },
  });
  await stream.hello();
  return { topics, stream, seen };
}

function topicOf(pod: number, n: number): string {
  return `many:${(n + pod) % TOPICS}`;
}

function owedBy(pod: number, { topics }: Listener, events: number): string[] {
  return Array.from({ length: events }, (_, n) => n)
    .filter((n) => topics.includes(topicOf(pod, n)))
    .map((n) => dataOf(pod, n));
}

function dataOf(pod: number, n: number): string {
  return `${pod}:${isEphemeral(n) ? "e" : "d"}:${n}`;
}

function isEphemeral(n: number): boolean {
  return n % EPHEMERAL_EVERY === 0;
}

async function heads({ pods }: Cluster): Promise<number[]> {
  return await Promise.all(pods.map(async (pod) => Number((await pod.state()).position.head)));
}
