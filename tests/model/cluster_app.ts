/**
 * A page that adds topics to its stream as it goes, what it was promised of each, and whether it got it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { SubscribeError } from "../../src/errors.ts";
import { createStream } from "../../src/client/stream.ts";
import type {
  ClientClock,
  Frame,
  HistoryRequest,
  RevalidateContext,
  Stream,
} from "../../src/client/types.ts";
import type { LifecycleRecord } from "../../src/client/records.ts";
import { BOUND, type ClusterNetwork } from "./cluster_network.ts";
import type { PublishedEvent } from "./cluster_pods.ts";

/** One time for which a topic is listened to. */
interface Tenure {
  readonly topic: string;
  readonly history: boolean;
  /** What the first answer said; `null` until it has come. */
  confirmed: { readonly head: number; readonly index: number } | null;
  /** How many events there were when it was given up; `null` while it is wanted. */
  until: number | null;
}

/** One revalidation. */
interface Run {
  readonly topics: readonly string[] | null;
  /** How many events there were when it began: it brings all of them. */
  readonly index: number;
  readonly generation: number;
  done: boolean;
}

/** How an event was last shown. */
interface Shown {
  readonly generation: number;
  readonly tenure: Tenure | undefined;
  /** Whether it moved the cursor, when its topic was promised. */
  readonly live: boolean;
}

/** How often things were seen, so that a test can tell that it saw them. */
export type ClusterTally = Record<string, number>;

/** What a page needs. */
export interface ClusterAppOptions {
  readonly log: readonly PublishedEvent[];
  readonly network: ClusterNetwork;
  readonly clock: ClientClock;
  /** Whether everything is kept, so that nothing may ever be missing, and no revalidation run. */
  readonly whole: boolean;
  /** Whether offsets are common to all pods. */
  readonly journal: boolean;
  /** How long a revalidation takes, in milliseconds. */
  readonly runMs: number;
  readonly tally: ClusterTally;
}

/** The page. */
export class ClusterApp {
  readonly stream: Stream;
  /** What a rule found. */
  readonly faults: string[] = [];
  readonly #options: ClusterAppOptions;
  readonly #tenures: Tenure[] = [];
  readonly #runs: Run[] = [];
  /** Every event that was shown. */
  readonly #shown = new Map<number, Shown>();
  /** By topic, how many events there were when its end was confirmed and nothing was under way. */
  readonly #ended = new Map<string, number>();
  /** The topics that were ever asked for. */
  readonly #asked = new Set<string>();
  /** Since when the connection is to be revalidated before anything is shown. */
  #told: { readonly generation: number; readonly runs: number } | null = null;
  #generation = 0;
  #settled = false;
  #newest = -1;

  /** @param options What it needs. */
  constructor(options: ClusterAppOptions) {
    const { network, clock } = options;
    this.#options = options;
    this.stream = createStream({
      url: "http://pods.test/events",
      subscribeUrl: "http://pods.test/subscribe",
      unsubscribeUrl: "http://pods.test/unsubscribe",
      timing: { baseMs: 100, capMs: 1000, connectTimeoutMs: 6000 },
      ...{ fetch: network.fetch, clock },
      visibility: { hidden: () => false, subscribe: () => () => {} },
      online: { online: () => true, subscribe: () => () => {} },
      onFrame: (frame) => this.#show(frame),
      onLifecycle: (record) => this.#hear(record),
      revalidate: (context) => this.#revalidate(context),
    });
  }

  /** From now on the first revalidation is behind it. */
  begin(): void {
    assertEquals(this.stream.state(), "open");
    this.#settled = true;
  }

  /** Whether it has all that it asked for, and nothing is under way. */
  get rests(): boolean {
    return this.stream.state() === "open" && this.#runs.every(({ done }) => done) &&
      this.#options.network.posts.every(({ outcome }) => outcome !== undefined);
  }

  /** Whether it listens to a topic, or is about to. */
  wants(topic: string): boolean {
    return this.#current(topic) !== undefined;
  }

  /** Adds a topic. */
  subscribe(topic: string, history: HistoryRequest | null): void {
    const { log } = this.#options;
    const again = this.#current(topic);
    const tenure: Tenure = again ??
      { topic, history: history !== null, confirmed: null, until: null };
    if (again === undefined) this.#tenures.push(tenure);
    this.#asked.add(topic);
    this.#ended.delete(topic);
    const wish = again === undefined && history !== null ? { history } : {};
    this.stream.subscribe(topic, wish).then(
      ({ head }) => {
        tenure.confirmed ??= { head: Number(head), index: log.length };
        this.#count("confirmed");
      },
      (error) => {
        assert(error instanceof SubscribeError);
        this.#count("rejected");
        tenure.until ??= log.length;
      },
    );
  }

  /** Gives a topic up. */
  unsubscribe(topic: string): void {
    const tenure = this.#current(topic);
    if (tenure === undefined) return;
    const { log, network } = this.#options;
    tenure.until = log.length;
    const { posts } = network;
    this.stream.unsubscribe(topic).then(() => {
      this.#count("unsubscribed");
      const doubtful = posts.some((post) => post.topic === topic && post.outcome === null);
      if (!doubtful && !this.wants(topic)) this.#ended.set(topic, log.length);
    }, (error) => assert(error instanceof SubscribeError));
  }

  /** Judges what can be judged only once nothing is under way. */
  judge(): void {
    for (const event of this.#options.log) {
      if (BOUND.includes(event.topic) || event.topic === "") this.#judge(event);
    }
    for (const tenure of this.#tenures) {
      for (const event of this.#options.log) {
        if (this.#owes(tenure, event)) this.#judge(event, tenure);
      }
    }
  }

  /** Whether a topic is listened to and confirmed, or known to be refused. */
  get decided(): boolean {
    return this.#tenures.every(({ confirmed, until }) => confirmed !== null || until !== null);
  }

  #current(topic: string): Tenure | undefined {
    return this.#tenures.find((each) => each.topic === topic && each.until === null);
  }

  #owes({ topic, confirmed, until }: Tenure, event: PublishedEvent): boolean {
    if (event.topic !== topic || event.offset === null || confirmed === null) return false;
    if (until !== null && event.index >= until) return false;
    return event.index >= confirmed.index ||
      (this.#options.journal && event.offset > confirmed.head);
  }

  #judge(event: PublishedEvent, tenure?: Tenure): void {
    if (event.offset === null || this.#shown.has(event.index)) return this.#count("seen");
    const covered = !this.#options.whole &&
      this.#runs.some(({ done, index, topics }) =>
        done && index > event.index && (topics === null || topics.includes(event.topic))
      );
    if (covered) return this.#count("covered");
    // What was still on its way when it was given up, nobody wants any more.
    const gone = tenure !== undefined && tenure.until !== null;
    if (!gone) this.#fault(`${event.data} is missing, and nobody was told`);
    else this.#count("given up");
  }

  #show(frame: Frame): void {
    const { log, journal, whole } = this.#options;
    const index = Number(frame.data.split(" ")[0]);
    const event = log[index];
    if (event === undefined || event.data !== frame.data) {
      return this.#fault(`nobody published ${JSON.stringify(frame.data)}`);
    }
    const { topic } = event;
    const bound = topic === "" || BOUND.includes(topic);
    if (!bound && !this.#asked.has(topic)) this.#fault(`${topic} was never asked for`);
    const ended = this.#ended.get(topic);
    if (ended !== undefined && index >= ended) this.#fault(`${frame.data} came after its end`);
    this.#inTime(event);
    const before = this.#shown.get(index);
    const tenure = this.#current(topic);
    const moves = frame.id !== null;
    if (before !== undefined) {
      this.#count("again");
      if (moves) this.#fault(`${frame.data} came again, live`);
      else if (journal && !this.#askedFor(event)) this.#fault(`${frame.data} came again, unasked`);
      const same = before.generation === this.#generation && before.tenure === tenure;
      if (before.live && same) this.#fault(`${frame.data} came again, from beyond the seam`);
    }
    if (moves && journal) {
      if (index <= this.#newest) this.#fault(`${frame.data} came after ${this.#newest}`);
      this.#newest = index;
    }
    const live = moves && tenure !== undefined && this.#owes(tenure, event);
    this.#shown.set(index, { generation: this.#generation, tenure, live });
    if (tenure === undefined) return;
    if (whole && this.#owes(tenure, event)) {
      for (const one of log.slice(0, index)) {
        if (this.#owes(tenure, one) && !this.#shown.has(one.index)) {
          this.#fault(`${frame.data} came before ${one.data}`);
        }
      }
    }
    this.#count(moves ? "live" : "recalled");
  }

  /** Whether it was asked for on this connection, by a history or by a cursor from before it. */
  #askedFor({ topic, offset }: PublishedEvent): boolean {
    const { posts, connection } = this.#options.network;
    return posts.some((post) =>
      post.topic === topic && post.connection === connection && post.after < (offset ?? 0)
    );
  }

  /** What the server said cannot be resumed is revalidated before anything of later is shown. */
  #inTime({ data }: PublishedEvent): void {
    const told = this.#told;
    if (told === null || told.generation !== this.#generation) return;
    const { generation, runs } = told;
    const done = this.#runs.slice(runs).some((run) => run.done && run.generation === generation);
    if (!done) this.#fault(`${data} was shown before the revalidation`);
  }

  #hear(record: LifecycleRecord): void {
    if (record.kind === "hello") {
      this.#generation = record.generation;
      this.#told = record.resumed
        ? null
        : { generation: record.generation, runs: this.#runs.length };
      this.#count(record.verdict);
    }
    if (record.kind === "subscribed" && record.verdict !== "fresh") {
      this.#count(`topic ${record.verdict}`);
    }
    if (record.kind === "lag") this.#count("lag");
  }

  async #revalidate({ cause, topics, generation }: RevalidateContext): Promise<void> {
    const { whole, log, runMs, clock } = this.#options;
    if (whole && this.#settled) this.#fault(`a revalidation by ${cause}, of ${topics}`);
    const run: Run = { topics, index: log.length, generation, done: false };
    this.#runs.push(run);
    if (topics !== null) this.#count("topic_gap");
    if (runMs > 0) await new Promise<void>((resolve) => void clock.after(runMs, resolve));
    run.done = true;
  }

  #count(what: string): void {
    const { tally } = this.#options;
    tally[what] = (tally[what] ?? 0) + 1;
  }

  #fault(what: string): void {
    this.faults.push(what);
  }
}
