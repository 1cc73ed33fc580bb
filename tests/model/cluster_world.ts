/**
 * A page whose stream and requests land on any pod, while pods are replaced and their relay is
 * interrupted.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ClientClock, HistoryRequest } from "../../src/client/types.ts";
import { FakeClock } from "../../src/testing/fake_clock.ts";
import { ClusterApp, type ClusterTally } from "./cluster_app.ts";
import { ClusterNetwork, type PostFate } from "./cluster_network.ts";
import { ClusterPods, type PodsOptions } from "./cluster_pods.ts";
import { ticks } from "./journal_world.ts";

/** What a schedule varies. */
export interface ClusterOptions extends PodsOptions {
  readonly seed: number;
  /** Whether the journal is trimmed at times. */
  readonly trimmed: boolean;
  /** How many turns of the microtask queue pass after each move. */
  readonly turns: number;
  /** How long a revalidation takes, in milliseconds. */
  readonly runMs: number;
}

/** One thing that happens. Pods are numbers, counted around. */
export type ClusterMove =
  | { readonly do: "publish"; readonly pod: number; readonly topic: string; readonly times: number }
  | {
    readonly do: "subscribe";
    readonly topic: string;
    readonly history: HistoryRequest | null;
  }
  | { readonly do: "unsubscribe"; readonly topic: string }
  | { readonly do: "fate"; readonly fate: PostFate }
  | { readonly do: "release"; readonly index: number }
  | { readonly do: "cut" | "stall" | "resume" | "clog" | "unclog" | "sip" | "calm" }
  | { readonly do: "flow"; readonly bytes: number }
  | { readonly do: "interrupt" | "restore"; readonly pod: number }
  | { readonly do: "hold" | "let"; readonly from: number; readonly to: number }
  | { readonly do: "holdTail" | "openTail" | "breakTail"; readonly pod: number }
  | { readonly do: "replace"; readonly pod: number }
  | { readonly do: "trim"; readonly keep: number }
  | {
    readonly do: "stranger";
    readonly pod: number;
    readonly topic: string;
    readonly ends: boolean;
  }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "turn"; readonly ticks: number };

/** A topic that nobody but a stranger asks for. */
export const SECRET = "secret";
/** What is added to the stream. */
export const ADDED = ["a", "b"];
const STEP_MS = 250;

/** The world of one schedule. */
export class ClusterWorld {
  readonly clock = new FakeClock();
  readonly pods: ClusterPods;
  readonly network: ClusterNetwork;
  readonly app: ClusterApp;
  readonly #options: ClusterOptions;
  #seed: number;
  #strangers = 0;

  /**
   * @param options What the schedule varies.
   * @param tally Where it counts.
   */
  constructor(options: ClusterOptions, tally: ClusterTally = {}) {
    this.#options = options;
    this.#seed = options.seed >>> 0;
    this.pods = new ClusterPods(options, this.clock);
    this.network = new ClusterNetwork(this.pods, () => this.#random());
    const clock: ClientClock = {
      now: () => this.clock.monotonic(),
      random: () => this.#random(),
      after: (ms, callback) => {
        const timer = this.clock.after(ms, callback);
        return () => timer.cancel();
      },
    };
    const { journal, trimmed, runMs } = options;
    this.app = new ClusterApp({
      ...{ log: this.pods.log, network: this.network, clock, journal, runMs, tally },
      whole: journal && !trimmed,
    });
  }

  /** Starts the pods and the stream. */
  async open(): Promise<void> {
    await this.pods.open();
    await this.#pass(1500);
    this.app.stream.start();
    await this.#pass(1000);
    this.app.begin();
  }

  /** Lets something happen, and judges what can be judged at once. */
  async move(one: ClusterMove): Promise<void> {
    this.#do(one);
    if (one.do === "wait") await this.#pass(one.ms);
    else if (one.do === "replace") await this.pods.replace(one.pod);
    else if (one.do === "trim" && this.#options.trimmed) await this.pods.trim(one.keep);
    await this.#turn(one.do === "turn" ? one.ticks : this.#options.turns);
    this.#check();
  }

  /** Heals everything, lets it come to rest, and judges all. */
  async finish(): Promise<void> {
    const { app, network, pods } = this;
    for (let i = 0; i < this.#options.pods; i++) {
      pods.relay(i, true);
      pods.holdTail(i, false);
      for (let j = 0; j < this.#options.pods; j++) pods.hold(i, j, false);
    }
    let quiet = 0;
    for (let i = 0; i < 200 && quiet < 8; i++) {
      network.calm();
      while (network.late > 0) network.release(0);
      await this.#pass(STEP_MS);
      quiet = app.rests && !pods.leaving ? quiet + 1 : 0;
    }
    assert(quiet >= 8, `it does not come to rest: ${app.stream.state()}`);
    assert(app.decided, "a subscription was never answered");
    // The last word of each topic, after which nothing of it is under way.
    for (const topic of ["", "base", ...ADDED]) pods.publish(this.#strangers, topic);
    await this.#pass(this.#options.journal ? 1000 : 5000);
    app.judge();
    this.#check();
    app.stream.stop();
    network.pump();
    await pods.close(async () => {
      await this.#pass(STEP_MS);
      await new Promise<void>((resolve) => setTimeout(resolve, 0));
    });
    assertEquals(this.clock.pending, 0, "timers are left");
  }

  #do(one: ClusterMove): void {
    const { app, network, pods } = this;
    switch (one.do) {
      case "publish":
        for (let i = 0; i < one.times; i++) pods.publish(one.pod, one.topic);
        return;
      case "subscribe":
        return app.subscribe(one.topic, one.history);
      case "unsubscribe":
        return app.unsubscribe(one.topic);
      case "fate":
        network.fates.push(one.fate);
        return;
      case "release":
        return network.release(one.index);
      case "cut":
        return network.cut();
      case "stall":
      case "resume":
        network.fluent = one.do === "resume";
        return;
      case "clog":
      case "unclog":
        return network.clog(one.do === "clog");
      case "calm":
        return network.calm();
      case "sip":
        return network.sip();
      case "flow":
        return network.flow(one.bytes);
      case "interrupt":
      case "restore":
        return pods.relay(one.pod, one.do === "restore");
      case "hold":
      case "let":
        return pods.hold(one.from, one.to, one.do === "hold");
      case "holdTail":
      case "openTail":
        return pods.holdTail(one.pod, one.do === "holdTail");
      case "breakTail":
        return pods.breakTail(one.pod);
      case "stranger":
        return this.#intrude(one);
    }
  }

  /** Somebody else uses the connection's id, which they should not have. */
  #intrude({ pod, topic, ends }: Extract<ClusterMove, { do: "stranger" }>): void {
    this.#strangers++;
    const connection = this.network.connection;
    const { subscriptions } = this.pods.pod(pod);
    assertEquals(subscriptions.disconnect("bob"), 0);
    for (const user of ["bob", ""]) {
      const call = { connection, topic: ends ? topic : SECRET, user };
      const done = ends ? subscriptions.unsubscribe(call) : subscriptions.subscribe(call);
      done.then((answer) => {
        if (answer !== null && answer !== false) this.app.faults.push("a stranger was obeyed");
      }, (error) => this.app.faults.push(`a stranger was told: ${error}`));
    }
  }

  #check(): void {
    const [fault] = this.app.faults;
    if (fault !== undefined) throw new Error(fault);
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.#turn();
      this.clock.advance(Math.min(left, STEP_MS));
      await this.#turn();
    }
  }

  async #turn(most = 40): Promise<void> {
    for (let left = most; left > 0; left -= 8) {
      this.network.pump();
      await ticks(Math.min(left, 8));
    }
    this.network.pump();
  }

  /** Mulberry32: the same sequence on every runtime. */
  #random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) >>> 0;
    let mixed = this.#seed;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
