/**
 * Pods of one process over a relay, and over a journal or without one: what they publish, and how they
 * leave and come back.
 *
 * @module
 */
import { assert } from "@std/assert";
import { joinRelay } from "../../src/cluster/join_relay.ts";
import { openHub } from "../../src/cluster/open_hub.ts";
import { createSubscriptions, type Subscriptions } from "../../src/cluster/subscriptions.ts";
import type { JournaledHub, RelayMembership } from "../../src/cluster/types.ts";
import { createHub } from "../../src/hub/hub.ts";
import type { Hub } from "../../src/hub/types.ts";
import { createMemoryStore, type MemoryStore } from "../../src/journal/memory.ts";
import type { Relay } from "../../src/relay/relay.ts";
import type { FakeClock } from "../../src/testing/fake_clock.ts";
import { RelayWorld } from "../support/relay_world.ts";
import { HeldJournal } from "./journal_held.ts";

/** What the pods have in common. */
export interface PodsOptions {
  /** How many there are. */
  readonly pods: number;
  /** Whether a journal numbers their events. */
  readonly journal: boolean;
  /** How many events each ring holds. */
  readonly maxEvents: number;
}

/** One event. */
export interface PublishedEvent {
  readonly index: number;
  readonly topic: string;
  readonly data: string;
  /** The start of the pod that published it. */
  readonly by: string;
  /** Its offset in the journal; 0 without one, `null` when nobody will ever have it. */
  offset: number | null;
}

/** One start of a pod. */
export interface PodLife {
  readonly name: string;
  readonly hub: Hub | JournaledHub;
  readonly membership: RelayMembership;
  readonly subscriptions: Subscriptions;
  readonly relay: Relay;
  readonly journal: HeldJournal | null;
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };
/** How soon a pod that is replaced stops serving, and over how long it sends its clients away. */
const LEAVING = { lameDuckMs: 500, spreadMs: 500 };

/** The pods. */
export class ClusterPods {
  /** Everything that was published, in order. */
  readonly log: PublishedEvent[] = [];
  readonly store: MemoryStore = createMemoryStore();
  readonly #options: PodsOptions;
  readonly #clock: FakeClock;
  readonly #relays = new RelayWorld();
  readonly #lives: (PodLife | null)[] = [];
  readonly #away = new Set<number>();
  #starts = 0;
  #leaving = 0;

  /**
   * @param options What they have in common.
   * @param clock Their time.
   */
  constructor(options: PodsOptions, clock: FakeClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Starts all of them. */
  async open(): Promise<void> {
    for (let i = 0; i < this.#options.pods; i++) await this.#start(i);
  }

  /** Whether some pod is still leaving. */
  get leaving(): boolean {
    return this.#leaving > 0;
  }

  /** The pod of a number, counted around: the newest start under that name. */
  pod(index: number): PodLife {
    const life = this.#lives[index % this.#options.pods];
    assert(life);
    return life;
  }

  /** Publishes on a pod. */
  publish(index: number, topic: string): void {
    const { hub, name: by } = this.pod(index);
    const data = `${this.log.length} ${topic}`;
    const event: PublishedEvent = { index: this.log.length, topic, data, by, offset: 0 };
    this.log.push(event);
    const published = hub.publish({ topic, data });
    const note = (offset: number): void => {
      event.offset = offset === 0 ? null : this.#options.journal ? offset : 0;
    };
    if (typeof published === "number") note(published);
    else published.then(note, () => event.offset = null);
  }

  /** Takes a pod off the relay, or brings it back. */
  relay(index: number, there: boolean): void {
    const at = index % this.#options.pods;
    if (there ? !this.#away.delete(at) : this.#away.has(at)) return;
    if (!there) this.#away.add(at);
    this.#relays[there ? "restore" : "interrupt"](`pod-${at}`);
  }

  /** Keeps back what the relay carries from one pod to another, or lets it go. */
  hold(from: number, to: number, held: boolean): void {
    const { pods } = this.#options;
    const [a, b] = [`pod-${from % pods}`, `pod-${to % pods}`];
    if (a !== b) this.#relays[held ? "hold" : "release"](a, b);
  }

  /** Lets a pod fall behind the journal, or catch up. */
  holdTail(index: number, held: boolean): void {
    this.pod(index).journal?.holdTail(held);
  }

  /** Breaks a pod's view of the journal, which it takes up again by itself. */
  breakTail(index: number): void {
    this.pod(index).journal?.breakTails();
  }

  /** Lets the journal forget all but the newest entries. */
  async trim(keep: number): Promise<void> {
    await this.store.open({ retention: { maxEntries: keep } }).window();
    this.store.open({ retention: { maxEntries: 1_000_000 } });
  }

  /** Replaces a pod: one takes its name at once, and the old one drains. */
  async replace(index: number): Promise<void> {
    const at = index % this.#options.pods;
    const life = this.pod(at);
    // One whose goodbye is lost is a crash, which is another property.
    if (this.#away.has(at)) return;
    this.#leaving++;
    life.journal?.holdTail(false);
    void this.#leave(life).finally(() => this.#leaving--);
    await this.#start(at);
  }

  /** Ends all of them. */
  async close(pass: () => Promise<void>): Promise<void> {
    let open = this.#options.pods;
    for (const life of this.#lives) {
      if (life !== null) void this.#end(life).finally(() => open--);
    }
    for (let i = 0; i < 200 && (open > 0 || this.leaving); i++) await pass();
    assert(open === 0 && !this.leaving, "a pod does not end");
  }

  async #leave(life: PodLife): Promise<void> {
    await life.hub.drain(LEAVING);
    await this.#end(life);
  }

  async #end({ hub, membership, relay }: PodLife): Promise<void> {
    await hub.shutdown();
    await membership.leave();
    await relay.close();
  }

  async #start(at: number): Promise<void> {
    const clock = this.#clock;
    const { journal: journaled, maxEvents } = this.#options;
    const common = { clock, logger: silent, slow: "lag" as const, clientBuffer: 64 };
    const journal = journaled ? new HeldJournal(this.store.open()) : null;
    const hub = journal === null
      ? createHub({ ...common, replay: { maxEvents, ttlMs: 600_000 } })
      : await openHub({ ...common, journal, replay: { maxEvents, replyMaxEvents: 10_000 } });
    const relay = this.#relays.relay(`pod-${at}`);
    const membership = joinRelay(hub, relay, {
      ...{ clock, logger: silent, beatMs: 1000, spreadMs: 500 },
      ...{ origin: `pod-${at}.${++this.#starts}` },
    });
    await membership.ready;
    const subscriptions = createSubscriptions({ hub, membership });
    const { origin: name } = membership;
    this.#lives[at] = { name, hub, membership, subscriptions, relay, journal };
  }
}
