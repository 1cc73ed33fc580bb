/**
 * Pods that share a relay which a test makes lose, delay, repeat and break off; their clients, which
 * come back with the cursor they have; and what must be true of each of them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { joinRelay } from "../../src/cluster/join_relay.ts";
import type { RelayMembership } from "../../src/cluster/types.ts";
import { createHub } from "../../src/hub/hub.ts";
import type { Hub } from "../../src/hub/types.ts";
import { decodeEnvelope } from "../../src/relay/envelope.ts";
import type { Relay } from "../../src/relay/relay.ts";
import { FakeClock } from "../../src/testing/fake_clock.ts";
import { type Fate, RelayWorld } from "../support/relay_world.ts";
import { type Published, RelayReader } from "./relay_reader.ts";

/** One thing that happens. Pods and clients are numbers, taken modulo how many there are. */
export type RelayMove =
  | { readonly do: "publish"; readonly pod: number; readonly topic: string; readonly times: number }
  | { readonly do: "flash"; readonly pod: number; readonly topic: string }
  | {
    readonly do: "connect";
    readonly pod: number;
    readonly topics: readonly string[] | null;
    readonly lag: boolean;
  }
  | { readonly do: "cut" | "back"; readonly client: number }
  | {
    readonly do: "lose" | "repeat";
    readonly from: number;
    readonly to: number;
    readonly messages: number;
  }
  | { readonly do: "hold" | "release"; readonly from: number; readonly to: number }
  | { readonly do: "interrupt" | "restore" | "crash" | "leave" | "start"; readonly pod: number }
  | { readonly do: "wait"; readonly ms: number };

/** What the pods have in common. */
export interface PodOptions {
  /** How many there are. */
  readonly pods: number;
  /** How many events each ring holds. */
  readonly maxEvents: number;
  /** Over how long clients are sent away. */
  readonly spreadMs: number;
  /** Whether a pod that starts again keeps its name. */
  readonly named: boolean;
  /** Whether one of them does not start with the others. */
  readonly late: boolean;
}

/** How often things were seen, so that a test can tell that it saw them. */
export type RelayTally = Record<string, number>;

interface Pod {
  readonly name: string;
  /** One for each of its starts. */
  life: Life | null;
  starts: number;
}

interface Life {
  /** Which pod, and which start. */
  readonly name: string;
  readonly hub: Hub;
  readonly relay: Relay;
  readonly membership: RelayMembership;
  /** The random number of this start. */
  readonly boot: string;
  /** Until then it meets its siblings. */
  readonly youngUntil: number;
}

interface Guest {
  readonly life: Life;
  readonly reader: RelayReader;
}

const BEAT_MS = 5000;
const YOUNG_MS = 1000;
const STEP_MS = 1000;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Pods, a relay and clients. */
export class RelayPods {
  readonly clock = new FakeClock();
  readonly tally: RelayTally;
  readonly #world = new RelayWorld();
  readonly #options: PodOptions;
  readonly #pods: readonly Pod[];
  readonly #guests: Guest[] = [];
  readonly #log: Published[] = [];
  readonly #fates = new Map<string, Fate[]>();
  readonly #holds = new Set<string>();
  readonly #away = new Set<string>();
  /** The starts of which nobody may have heard the end. */
  readonly #unheard = new Set<string>();
  /** The boot that was last sent under a pod's name. */
  readonly #boots = new Map<string, string>();
  #flashes = 0;

  /**
   * @param options What the pods have in common.
   * @param tally Where it counts.
   */
  constructor(options: PodOptions, tally: RelayTally = {}) {
    this.#options = options;
    this.tally = tally;
    this.#pods = Array.from({ length: options.pods }, (_, i) => {
      return { name: `pod-${i}`, life: null, starts: 0 };
    });
    this.#world.fate = ({ from, to, message }) => {
      const reading = decodeEnvelope(message);
      assert("envelope" in reading);
      this.#boots.set(from, reading.envelope.stamp.boot);
      const fate = from === to ? "deliver" : this.#fates.get(`${from}>${to}`)?.shift() ?? "deliver";
      if (fate !== "deliver") this.#count(fate);
      return fate;
    };
  }

  /** Starts all pods. */
  async open(): Promise<void> {
    for (const pod of this.#pods.slice(this.#options.late ? 1 : 0)) await this.#start(pod);
    await this.#wait(2 * YOUNG_MS);
  }

  /** How often clients were told of a loss, summed over the pods that live. */
  get gaps(): number {
    return this.#lives.reduce((sum, { membership }) => sum + membership.metrics().gaps, 0);
  }

  /** Lets something happen, and judges what can be judged at once. */
  async move(one: RelayMove): Promise<void> {
    switch (one.do) {
      case "publish":
        for (let i = 0; i < one.times; i++) await this.#publish(this.#pod(one.pod), one.topic);
        break;
      case "flash":
        await this.#flash(this.#pod(one.pod), one.topic);
        break;
      case "connect":
        this.#connect(this.#pod(one.pod), one);
        break;
      case "cut":
        this.#guest(one.client)?.reader.cut();
        break;
      case "back":
        this.#back(this.#guest(one.client));
        break;
      case "lose":
      case "repeat": {
        const fate = one.do === "lose" ? "drop" : "twice";
        const key = `${this.#pod(one.from).name}>${this.#pod(one.to).name}`;
        const fates = this.#fates.get(key) ?? [];
        this.#fates.set(key, [...fates, ...new Array<Fate>(one.messages).fill(fate)]);
        break;
      }
      case "hold":
      case "release":
        this.#hold(one.do, this.#pod(one.from).name, this.#pod(one.to).name);
        break;
      case "interrupt":
        this.#away.add(this.#pod(one.pod).name);
        this.#world.interrupt(this.#pod(one.pod).name);
        break;
      case "restore":
        this.#restore(this.#pod(one.pod));
        break;
      case "crash":
      case "leave":
        await this.#stop(this.#pod(one.pod), one.do);
        break;
      case "start":
        await this.#start(this.#pod(one.pod));
        break;
      case "wait":
        await this.#wait(one.ms);
        break;
    }
    await ticks();
    this.#observe();
  }

  /** Heals the relay, lets every client come back, and judges all of them. */
  async finish(): Promise<void> {
    this.#fates.clear();
    this.#world.restore();
    for (const hold of this.#holds) {
      const [from = "", to = ""] = hold.split(">");
      this.#world.release(from, to);
    }
    await ticks();
    await this.#wait(4 * BEAT_MS + this.#options.spreadMs + 3000);
    for (const guest of this.#guests) this.#back(guest);
    await ticks();
    this.#observe();
    for (const { life, reader } of this.#guests) {
      if (!this.#lives.includes(life)) reader.judgeOrder();
      else reader.judge(this.#log, (event) => this.#knowable(life, event), this.tally);
    }
    for (const pod of this.#pods) await this.#stop(pod, "leave");
    assertEquals(this.clock.pending, 0, "timers are left");
  }

  get #lives(): Life[] {
    return this.#pods.flatMap(({ life }) => life ?? []);
  }

  async #start(pod: Pod): Promise<void> {
    if (pod.life !== null) return;
    this.#restore(pod);
    const { maxEvents, spreadMs, named } = this.#options;
    const hub = createHub({
      ...{ replay: { maxEvents, ttlMs: 600_000 }, slow: "lag" },
      ...{ clock: this.clock, logger: silent },
    });
    const relay = this.#world.relay(pod.name);
    const membership = joinRelay(hub, relay, {
      ...{ spreadMs, beatMs: BEAT_MS, clock: this.clock, logger: silent },
      ...(named && { origin: pod.name }),
    });
    await membership.ready;
    pod.starts++;
    this.#count("starts");
    const youngUntil = this.clock.monotonic() + YOUNG_MS;
    const boot = this.#boots.get(pod.name) ?? "";
    const name = `${pod.name}.${pod.starts}`;
    pod.life = { name, hub, relay, membership, boot, youngUntil };
  }

  async #stop(pod: Pod, how: "crash" | "leave"): Promise<void> {
    const { life } = pod;
    if (life === null) return;
    pod.life = null;
    this.#count(how);
    const lossy = [...this.#fates].some(([pair, fates]) =>
      pair.startsWith(`${pod.name}>`) && fates.length > 0
    );
    if (how === "crash" || this.#away.has(pod.name) || lossy) {
      this.#unheard.add(life.name);
    }
    // Without its relay a goodbye reaches nobody.
    if (how === "crash") await life.relay.close();
    let ended = false;
    life.hub.shutdown().then(() => ended = true);
    for (let i = 0; i < 40 && !ended; i++) {
      await ticks();
      if (!ended) this.clock.advance(1000);
    }
    assert(ended, "a shutdown is bounded");
    await life.membership.leave();
    await life.relay.close();
  }

  async #publish({ life }: Pod, topic: string): Promise<void> {
    if (life === null) return;
    const index = this.#log.length;
    const believers = this.#lives.flatMap(({ name, membership }) =>
      membership.siblings().some(({ boot }) => boot === life.boot) ? [name] : []
    );
    const deaf = this.#pods.flatMap((pod) =>
      pod.life !== null && this.#away.has(pod.name) ? [pod.life.name] : []
    );
    const data = `${life.name}:${index}`;
    this.#log.push({
      ...{ index, by: life.name, topic, data },
      ...{ believers: new Set(believers), deaf: new Set(deaf) },
    });
    life.hub.publish({ topic, data });
    await ticks();
    this.#seenHere(life, topic, data);
  }

  async #flash({ life }: Pod, topic: string): Promise<void> {
    if (life === null) return;
    const data = `flash ${this.#flashes++}`;
    assertEquals(life.hub.publish({ topic, data, ephemeral: true }), 0);
    await ticks();
    this.#seenHere(life, topic, data);
  }

  /** Whatever becomes of the relay, an event reaches the clients of its own pod at once. */
  #seenHere(life: Life, topic: string, data: string): void {
    for (const { reader, life: home } of this.#guests) {
      if (home !== life || reader.over || !reader.wants(topic)) continue;
      assert(reader.saw(data), `${data} did not reach a client of its own pod`);
      this.#count("local");
    }
  }

  #connect({ life }: Pod, asked: Extract<RelayMove, { do: "connect" }>): void {
    if (life === null) return;
    const reader = new RelayReader(life.hub, asked.topics, asked.lag);
    reader.connect();
    this.#guests.push({ life, reader });
    this.#count("clients");
  }

  #back(guest: Guest | undefined): void {
    if (guest === undefined || !guest.reader.over || !this.#lives.includes(guest.life)) return;
    guest.reader.connect();
    this.#count("returns");
  }

  #restore(pod: Pod): void {
    this.#away.delete(pod.name);
    this.#world.restore(pod.name);
  }

  #hold(how: "hold" | "release", from: string, to: string): void {
    if (from === to) return;
    this.#world[how](from, to);
    if (how === "hold") this.#holds.add(`${from}>${to}`);
  }

  /** In steps, for what timers send must arrive before the next ones are due. */
  async #wait(ms: number): Promise<void> {
    for (let waited = 0; waited < ms; waited += STEP_MS) {
      this.clock.advance(Math.min(STEP_MS, ms - waited));
      await ticks();
      this.#observe();
    }
  }

  /**
   * Whether a pod can know of an event that did not reach it. Of one whose pod it had never heard of, or
   * had taken for dead, and which died without another word, it cannot, unless it knows that it was
   * itself away then.
   */
  #knowable(life: Life, { by, believers, deaf }: Published): boolean {
    return !this.#unheard.has(by) || believers.has(life.name) || deaf.has(life.name);
  }

  #observe(): void {
    const now = this.clock.monotonic();
    for (const { reader, life } of this.#guests) {
      reader.observe(this.#log.length, now >= life.youngUntil);
    }
  }

  #pod(index: number): Pod {
    const pod = this.#pods[index % this.#pods.length];
    assert(pod);
    return pod;
  }

  #guest(index: number): Guest | undefined {
    return this.#guests[index % Math.max(this.#guests.length, 1)];
  }

  #count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }
}

/** Lets messages arrive, and what they bring be written. Few turns, for Node's runner counts each. */
async function ticks(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}
