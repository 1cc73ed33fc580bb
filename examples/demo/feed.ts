/**
 * What the demo publishes: each event carries the counter of its topic, so that a page can count what
 * it missed from the counters alone, whatever anybody claims.
 *
 * @module
 */
import { createHub, type Hub, type HubOptions } from "@tidemark/sse";

/** The topics whose events are counted. An event's name is its topic: the wire carries no topics. */
export const TOPICS = ["cpu", "memory", "delay", "burst"] as const;

/** One of {@linkcode TOPICS}. */
export type Topic = typeof TOPICS[number];

/** Where the state of the hub itself goes, once a second. Nobody misses an old one: ephemeral. */
export const STATUS_TOPIC = "status";

const MIB = 1_048_576;

const HUB_OPTIONS: HubOptions = {
  // The last 1024 events, for five minutes, are there for whoever comes back.
  replay: { maxEvents: 1024, ttlMs: 300_000, maxBytes: 4 * MIB },
  // Small, like the ring's bytes: a page that stalls for seconds shall see what comes of it.
  clientBufferBytes: MIB,
  keepaliveMs: 5000,
  reconnectDelayMs: 1000,
  reconnectJitterMs: 500,
  // A slow page is not thrown out: it is told exactly what was lost (the page says `SSE-Lag: 1`).
  slow: "lag",
};

/** A hub, and the counters of what was published through it and through those before it. */
export class Feed {
  /** Tells one life of this process from the next: the counters start again with it. */
  readonly #run: string = crypto.randomUUID().slice(0, 8);
  readonly #published: Record<Topic, number> = { cpu: 0, memory: 0, delay: 0, burst: 0 };
  #hub: Hub = this.#newHub();

  /** The hub that serves now. */
  get hub(): Hub {
    return this.#hub;
  }

  /**
   * Publishes one event with its counter.
   *
   * @param topic Its topic, and its name.
   * @param fields What it says.
   */
  publish(topic: Topic, fields: object): void {
    const n = ++this.#published[topic];
    const data = JSON.stringify({ run: this.#run, n, at: Date.now(), ...fields });
    this.#hub.publish({ topic, name: topic, data });
  }

  /** How many events a topic has had. */
  published(topic: Topic): number {
    return this.#published[topic];
  }

  /**
   * The state of the hub: the counters, the cursor at which they are true, and who is here.
   *
   * @returns JSON, the data of a status event.
   */
  status(): string {
    const { epoch, floor, head } = this.#hub.position();
    return JSON.stringify({
      run: this.#run,
      at: Date.now(),
      cursor: `${epoch}:${head}`,
      floor,
      published: this.#published,
      clients: this.#hub.clientCount,
      queued: this.#hub.queuedFrames,
      tags: this.#hub.presence().tags,
    });
  }

  /** Publishes the state of the hub to every page. */
  publishStatus(): void {
    const event = { topic: STATUS_TOPIC, name: STATUS_TOPIC, data: this.status(), ephemeral: true };
    this.#hub.publish(event);
  }

  /**
   * Replaces the hub by a new one, as a deploy would: another epoch, and an empty ring.
   *
   * @returns The new epoch.
   */
  restart(): string {
    const old = this.#hub;
    this.#hub = this.#newHub();
    old.shutdown().catch((error: unknown) => console.error(error));
    return this.#hub.position().epoch;
  }

  #newHub(): Hub {
    return createHub({ ...HUB_OPTIONS, onPresence: () => this.publishStatus() });
  }
}
