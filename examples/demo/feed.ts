/**
 * What the demo publishes: each event carries the counter of its topic, so that a page can count what
 * it missed from the counters alone, whatever anybody claims.
 *
 * @module
 */
import {
  createHub,
  type Hub,
  type HubOptions,
  type JournaledEvent,
  type JournaledHub,
  type Logger,
  openHub,
} from "@tidemark/sse";
import { Counters, type Topic } from "./counters.ts";
import type { Store } from "./store.ts";

/** Where the state of the hub itself goes, once a second. Nobody misses an old one: ephemeral. */
export const STATUS_TOPIC = "status";

const MIB = 1_048_576;

const HUB_OPTIONS: HubOptions = {
  // The newest events, in memory. What is older comes from the journal, if there is one.
  replay: { maxEvents: 1024, ttlMs: 300_000, maxBytes: MIB },
  // Small, like the ring's bytes: a page that stalls for seconds shall see what comes of it.
  clientBufferBytes: MIB,
  keepaliveMs: 5000,
  reconnectDelayMs: 1000,
  reconnectJitterMs: 500,
  // A slow page is not thrown out: it is told exactly what was lost (the page says `SSE-Lag: 1`).
  slow: "lag",
};

/** How long a restart waits for a page that does not take its goodbye. */
const LEAVE_MS = 1000;

/** A hub that was started anew. */
export interface Restarted {
  /** Its epoch. */
  readonly epoch: string;
  /** Which hub of this process it is, from 1. */
  readonly hub: number;
}

/** A hub, and the counters of what was published through it and through those before it. */
export class Feed {
  /** Tells one life of this process from the next: the counters start again with it. */
  readonly #run: string = crypto.randomUUID().slice(0, 8);
  readonly #counters = new Counters();
  readonly #store: Store;
  #hub!: Hub | JournaledHub; // Set by `open`, which alone makes a feed.
  #hubs = 0;
  /** What is to be published as soon as there is a hub again; `null` while there is one. */
  #waiting: (() => void)[] | null = [];
  #restarting: Promise<Restarted> | null = null;
  #statusTimer: ReturnType<typeof setTimeout> | undefined;
  #failing = false;
  #closed = false;

  private constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Opens a store, and a hub over it.
   *
   * @param store The store; `shutdown` closes it.
   * @returns The feed.
   * @throws What the store says when it cannot be opened.
   */
  static async open(store: Store): Promise<Feed> {
    const feed = new Feed(store);
    await feed.#start();
    return feed;
  }

  /** The hub that serves now. */
  get hub(): Hub | JournaledHub {
    return this.#hub;
  }

  /** Settles when no restart is under way: until then nobody could be served. */
  async ready(): Promise<void> {
    // Whoever asked for the restart is told why it failed.
    await this.#restarting?.catch(() => {});
  }

  /**
   * Publishes one event with its counter. One that cannot be stored keeps its number: so it is missed
   * on every page, as it should be.
   *
   * @param topic Its topic, and its name.
   * @param fields What it says.
   * @returns Settles when it is stored; who does not wait keeps the order all the same.
   */
  async publish(topic: Topic, fields: object): Promise<void> {
    const n = this.#counters.next(topic);
    const data = JSON.stringify({ run: this.#run, n, at: Date.now(), ...fields });
    try {
      const offset = await this.#offer({ topic, name: topic, data });
      // After the shutdown there is none.
      if (offset > 0) this.#counters.note(topic, n, offset);
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) console.error(error);
      this.#failing = true;
    }
  }

  /** The last number that an event of a topic was given. */
  published(topic: Topic): number {
    return this.#counters.last(topic);
  }

  /**
   * The state of the hub: the counters, the cursor at which they are true, and who is here. To be asked
   * in a turn of its own: within one the hub may already hold what was not yet said to be stored.
   *
   * @returns JSON, the data of a status event.
   */
  status(): string {
    const { epoch, floor, head } = this.#hub.position();
    return JSON.stringify({
      run: this.#run,
      at: Date.now(),
      hub: this.#hubs,
      store: this.#store.name,
      cursor: `${epoch}:${head}`,
      floor,
      published: this.#counters.at(head),
      clients: this.#hub.clientCount,
      queued: this.#hub.queuedFrames,
      tags: this.#hub.presence().tags,
    });
  }

  /** Publishes the state of the hub to every page. In a turn of its own, like `status`. */
  publishStatus(): void {
    if (this.#waiting !== null || this.#closed) return;
    const event = { topic: STATUS_TOPIC, name: STATUS_TOPIC, data: this.status(), ephemeral: true };
    void this.#hub.publish(event);
  }

  /**
   * Ends the hub, closes the store, and opens both again, as a process does that is replaced. What is
   * published meanwhile waits. A second call joins the first.
   *
   * @returns The new hub.
   * @throws What the store says when it cannot be opened; the next call tries again.
   */
  restart(): Promise<Restarted> {
    return this.#restarting ??= this.#restart().finally(() => this.#restarting = null);
  }

  /**
   * Says goodbye to every page, and closes the store.
   *
   * @param options `signal` ends the waiting early.
   */
  async shutdown(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    await this.ready();
    this.#closed = true;
    clearTimeout(this.#statusTimer);
    try {
      await this.#hub.shutdown(options);
    } finally {
      await this.#store.close();
    }
  }

  async #restart(): Promise<Restarted> {
    this.#waiting ??= [];
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), LEAVE_MS);
    // Who has not gone by then is cut off from the store, and comes back.
    await this.#hub.shutdown({ signal: patience.signal }).catch(() => {});
    clearTimeout(timer);
    await this.#store.close();
    // Then all that was stored has been noted; without a journal the next hub counts from 1 again.
    await turn();
    this.#counters.at(Infinity);
    await this.#start();
    return { epoch: this.#hub.position().epoch, hub: this.#hubs };
  }

  async #start(): Promise<void> {
    const journal = await this.#store.open();
    const options = { ...HUB_OPTIONS, onPresence: () => this.#statusSoon() };
    this.#hub = journal === null
      ? createHub(options)
      : await openHub({ ...options, journal, logger: LOGGER });
    this.#hubs++;
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const publish of waiting) publish();
  }

  async #offer(event: JournaledEvent): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const publish = () => resolve(this.#hub.publish(event));
    if (this.#waiting === null) publish();
    else this.#waiting.push(publish);
    return await promise;
  }

  #statusSoon(): void {
    clearTimeout(this.#statusTimer);
    if (!this.#closed) this.#statusTimer = setTimeout(() => this.publishStatus(), 0);
  }
}

/** There is one pod: that an ephemeral event stays on it is no news. */
const LOGGER: Logger = {
  debug: () => {},
  info: () => {},
  warn: (line) => {
    if (!line.startsWith("An ephemeral event")) console.warn(line);
  },
  error: (line) => console.error(line),
};

/** Settles in the next turn, when all that has happened in this one was told. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
