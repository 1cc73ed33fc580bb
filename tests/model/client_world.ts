/**
 * A client under any schedule: its hub, its network, its page and its application, and the rules that
 * hold whatever is done to them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { OnlineSource, VisibilitySource } from "../../src/client/types.ts";
import { ModelClock } from "./client_clock.ts";
import { ModelHub } from "./client_hub.ts";
import { Network } from "./client_network.ts";
import { type Kept, Page } from "./client_page.ts";
import type { Step, WorldOptions } from "./client_schedule.ts";
import { ModelOnline, ModelVisibility } from "./client_sources.ts";

/** What surrounds a page. */
export interface Surroundings {
  readonly options: WorldOptions;
  readonly clock: ModelClock;
  readonly hub: ModelHub;
  readonly network: Network;
  readonly visibility: VisibilitySource;
  readonly online: OnlineSource;
  /** Puts something in the page's store. */
  keep(kept: Kept): void;
  /** Notes that something happened. */
  count(what: string): void;
}

/** What happened in a schedule: a property that never met a case says nothing about it. */
export type Tally = Map<string, number>;

const ALL = 1_000_000;
/** Below the watchdog's limit: between two of them a quiet line says that it is there. */
const BEAT_MS = 10_000;
const CALM_BEATS = 40;
/** How long something is on its way at most when all is well. */
const LIVE_MS = 5000;

/** The world of one schedule. */
export class ClientWorld implements Surroundings {
  readonly options: WorldOptions;
  readonly clock: ModelClock;
  readonly hub: ModelHub;
  readonly network: Network;
  readonly visibility = new ModelVisibility();
  readonly online = new ModelOnline();
  page: Page;
  readonly #tally: Tally;
  #kept: Kept | null = null;
  readonly #turn = (): Promise<void> => this.network.turn();

  /**
   * @param options What this schedule varies.
   * @param tally Where what happens is counted.
   */
  constructor(options: WorldOptions, tally: Tally = new Map()) {
    this.#tally = tally;
    this.options = options;
    this.clock = new ModelClock(options.seed);
    this.hub = new ModelHub(options);
    this.network = new Network(options.body);
    this.network.onRequest = (line) => {
      const others = this.network.lines.filter((one) => one !== line && one.phase !== "over");
      if (others.length > 0) this.page.faults.push("two streams at once");
      this.page.asked(line);
    };
    this.page = new Page(this, null, false);
  }

  keep(kept: Kept): void {
    this.#kept = kept;
  }

  count(what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
  }

  /** Does one step, and judges. */
  async step(step: Step): Promise<void> {
    await this.#do(step);
    await this.#turn();
    this.page.look();
    const [fault] = this.page.faults;
    if (fault !== undefined) throw new Error(fault);
  }

  /**
   * Lets everything come to rest, with a server and a network that are well, and without waking the
   * page up: a wake would bring what was forgotten. Then all must be known, and nothing be left.
   */
  async finish(): Promise<void> {
    this.page.calm();
    await this.step({ do: "wait", ms: 0 });
    await this.#settle();
    if ((this.#unknown !== -1 || this.page.sleepy) && this.page.failed) {
      // What a rejected revalidation owes is brought after the next hello.
      this.network.live?.cut(false);
      await this.#settle();
    }
    assertEquals(this.#unknown, -1, `of ${this.hub.log.length} frames one is not known`);
    assert(!this.page.sleepy, "the page was woken up, and nothing was brought");
    await this.#stop();
  }

  async #settle(): Promise<void> {
    let quiet = 0;
    for (let beat = 0; beat < CALM_BEATS; beat++) {
      this.page.calm();
      this.#rouse();
      await this.step({ do: "wait", ms: BEAT_MS });
      this.hub.keepalive();
      if (beat === 2) await this.step({ do: "publish", count: 1, mine: true, size: 1 });
      await this.step({ do: "arrive" });
      quiet = this.#rests ? quiet + 1 : 0;
      // Twice in a row: something may be due at this very moment.
      if (beat > 4 && quiet > 1) return;
    }
    throw new Error(`it does not come to rest: ${this.page.stream.state()}`);
  }

  get #unknown(): number {
    return this.page.memory.firstUnknown(this.hub.log.length);
  }

  async #stop(): Promise<void> {
    await this.step({ do: "call", call: "stop" });
    assertEquals(this.clock.pending, 0, "timers are left");
    assertEquals([this.visibility.listeners, this.online.listeners], [0, 0], "listeners are left");
    const open = this.network.lines.filter(({ settled }) => !settled);
    assertEquals(open.length, 0, "requests or bodies are left");
    for (const signal of ["hidden", "visible", "pageshow", "offline", "online"] as const) {
      await this.step({ do: "signal", signal });
    }
    await this.step({ do: "wait", ms: 600_000 });
  }

  /** Open, with nothing on its way; and nothing is held back, for the newest frame is known. */
  get #rests(): boolean {
    return this.page.stream.state() === "open" && !this.page.revalidating &&
      this.network.live?.phase === "flowing" && this.network.live.waiting === 0 &&
      this.page.memory.knows(this.hub.log.length - 1);
  }

  /** Wakes what would sleep for ever. */
  #rouse(): void {
    switch (this.page.stream.state()) {
      case "hidden_closed":
        return this.#signal("visible");
      case "offline":
        return this.#signal("online");
      case "exhausted":
        return this.page.call("reconnect");
      case "stopped":
        return this.page.call("start");
    }
  }

  #signal(signal: Extract<Step, { readonly do: "signal" }>["signal"]): void {
    if (signal === "visible" || signal === "pageshow" || signal === "online") {
      this.page.woken(signal);
    }
    if (signal === "online" || signal === "offline") this.online.say(signal === "online");
    else this.visibility.say(signal);
  }

  async #arrive(): Promise<void> {
    const line = this.network.live;
    if (line?.phase === "asked") this.hub.accept(line);
    await this.#turn();
    line?.flow(ALL);
    await this.#turn();
  }

  async #do(step: Step): Promise<void> {
    const { hub, page, clock } = this;
    const line = this.network.live;
    switch (step.do) {
      case "publish":
        return hub.publish(step.count, step.mine, step.size);
      case "evict":
      case "mark":
      case "keepalive":
      case "noise":
      case "greetAgain":
        return hub[step.do]();
      case "lag":
      case "repeat":
        return hub[step.do](step.count);
      case "farewell":
        return hub.farewell(step.reason);
      case "restart":
        if (step.polite) hub.farewell("shutdown");
        else if (line?.phase === "flowing") line.cut(false);
        return hub.restart();
      case "accept":
        if (line !== undefined) hub.accept(line);
        return;
      case "arrive":
        // What was asked for while it arrives, arrives too.
        for (let round = 0; round < 3; round++) await this.#arrive();
        return;
      case "refuse":
        return line?.respond(step.status, {
          "Retry-After": String(step.retryAfterS),
          ...(step.status === 200 ? { "Content-Type": "text/html" } : {}),
        });
      case "drop":
        return line?.refuse();
      case "flow":
        return line?.flow(step.bytes);
      case "cut":
        return line?.cut(step.clean);
      case "wait":
        return await clock.pass(step.ms, this.#turn);
      case "live":
        for (let left = step.ms; left > 0; left -= LIVE_MS) {
          await clock.pass(Math.min(left, LIVE_MS), this.#turn);
          hub.keepalive();
          await this.#arrive();
        }
        return;
      case "sleep":
        return clock.sleep(step.ms);
      case "call":
        return page.call(step.call);
      case "plan":
        return page.plan(step.where, step.acts);
      case "runs":
        return page.planRuns(step);
      case "settle":
        page.settle(step.ok);
        return;
      case "signal":
        return this.#signal(step.signal);
      case "stored":
        return page.stored(step.newest);
      case "reload":
        page.leave();
        await this.#turn();
        this.page = new Page(this, this.#kept, step.keep);
        return this.page.call("start");
    }
  }
}

/** What is not said of a world: a server that resumes, and nothing out of the ordinary. */
export const ORDINARY: WorldOptions = {
  body: "model",
  seed: 0,
  ring: 50,
  budget: 50,
  repair: false,
  spreadMs: 0,
  retryMs: 1500,
  marks: false,
  heldMaxFrames: 2000,
  maxAttempts: 0,
  presentCursor: "header",
  ticketed: false,
  store: "none",
};

/**
 * Plays a whole schedule: starts, does each step, and lets all come to rest.
 *
 * @param options What differs from {@linkcode ORDINARY}.
 * @param script The steps.
 * @param tally Where what happens is counted.
 * @throws {Error} When a rule is broken; it says which.
 */
export async function play(
  options: Partial<WorldOptions>,
  script: readonly Step[],
  tally?: Tally,
): Promise<void> {
  const world = new ClientWorld({ ...ORDINARY, ...options }, tally);
  world.page.call("start");
  for (const step of script) await world.step(step);
  await world.finish();
}
