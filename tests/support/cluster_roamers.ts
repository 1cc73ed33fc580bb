/**
 * Clients with topics that were added later, moved from pod to pod by cuts while all pods publish.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createStream } from "../../src/client/stream.ts";
import type { RevalidateCause, Stream } from "../../src/client/types.ts";
import { runSeed, seeded } from "../suites/lib/random.ts";
import { Balancer } from "./balancer.ts";
import { type Cluster, nth } from "./cluster_pods.ts";
import { eventually } from "./poll.ts";

const CLIENTS = 12;
/** The topic of the address. */
const BASE = "roam";
/** The topics that are added; each client has one of them. */
const ADDED = ["roam:1", "roam:2", "roam:3"];
/** How often clients are cut, how many of them, and the time between. */
const CUTS = { rounds: 8, share: 0.25, everyMs: 300 } as const;
/** The time between two events of one pod on one topic. */
const PACE_MS = 15;

/** What became of the clients. */
export interface RoamReport {
  readonly seed: number;
  readonly published: number;
  readonly cuts: number;
  readonly frames: number;
  /** What came a second time. */
  readonly twice: number;
  /** How much of that had come with an id, or came with one then. */
  readonly liveTwice: number;
  /** The verdicts of the streams. */
  readonly hellos: Readonly<Record<string, number>>;
  /** The verdicts of the topics that were added. */
  readonly subscriptions: Readonly<Record<string, number>>;
  /** Why clients fetched again what they had missed. */
  readonly causes: Readonly<Record<string, number>>;
  /** How many events came by that alone. */
  readonly fetched: number;
}

/** One client. */
interface Roamer {
  readonly stream: Stream;
  readonly added: string;
  /** What came, by topic. */
  readonly seen: Map<string, string[]>;
  /** What came, or was fetched. */
  readonly known: Set<string>;
}

/** One run. */
export class Roaming {
  readonly #cluster: Cluster;
  readonly #balancer: Balancer;
  readonly #seed = runSeed();
  /** What was written, by topic: the application's own records, which it writes before it publishes. */
  readonly #written = new Map<string, string[]>();
  readonly #roamers: Roamer[] = [];
  readonly #hellos = new Map<string, number>();
  readonly #subscriptions = new Map<string, number>();
  readonly #causes = new Map<RevalidateCause, number>();
  #fetched = 0;
  #liveTwice = 0;
  #cuts = 0;
  #goesOn = true;

  /** @param cluster The pods. */
  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#balancer = new Balancer(seeded(this.#seed));
    for (const { url } of cluster.pods) this.#balancer.add(url);
  }

  /**
   * Runs, until every client knows everything of its topics, as it came or was told to fetch it.
   *
   * @returns What became of the clients.
   */
  async run(): Promise<RoamReport> {
    try {
      const publishing = Promise.all(
        this.#cluster.pods.flatMap((_, p) =>
          [BASE, ...ADDED].map((topic) => this.#publish(p, topic))
        ),
      );
      for (let i = 0; i < CLIENTS; i++) this.#roamers.push(this.#createRoamer(nth(ADDED, i)));
      await eventually(() => this.#roamers.every(({ stream }) => stream.state() === "open"), {
        what: "every client to be open",
      });
      await Promise.all(this.#roamers.map(async ({ stream, added }) => {
        const { verdict } = await stream.subscribe(added, { history: true });
        assertEquals(verdict, "fresh");
      }));
      for (let round = 0; round < CUTS.rounds; round++) {
        await pause(CUTS.everyMs);
        this.#cuts += this.#balancer.cut(CUTS.share);
      }
      this.#goesOn = false;
      await publishing;
      const missing = (): number => this.#roamers.reduce((n, one) => n + this.#missing(one), 0);
      await eventually(() => missing() === 0, {
        what: "every client to know everything",
        timeoutMs: 15_000,
        everyMs: 50,
      }).catch((error: unknown) => {
        throw new Error(`${missing()} events are not known (seed ${this.#seed})`, { cause: error });
      });
      return this.#report();
    } finally {
      this.#goesOn = false;
      for (const { stream } of this.#roamers) stream.stop();
      await this.#balancer.stop();
    }
  }

  /** Checks that every client had every event as a frame, those of a topic in one order. */
  checkFrames(): void {
    const orders = new Map<string, string[]>();
    for (const { seen, added } of this.#roamers) {
      const once = [...new Set(seen.get(added))];
      assertEquals(new Set(once), new Set(this.#written.get(added)));
      assertEquals(once, orders.get(added) ?? once);
      orders.set(added, once);
    }
    // Of the topic of the address everything since the first hello, and each once.
    const lists = this.#roamers.map(({ seen }) => seen.get(BASE) ?? []);
    const longest = lists.reduce((a, b) => a.length >= b.length ? a : b);
    assertEquals(new Set(longest).size, longest.length);
    for (const list of lists) assertEquals(list, longest.slice(longest.length - list.length));
  }

  #createRoamer(added: string): Roamer {
    const seen = new Map<string, string[]>();
    const known = new Set<string>();
    /** What came, and whether it had an id. */
    const live = new Map<string, boolean>();
    const stream = createStream({
      url: `${this.#balancer.url}/events?topic=${BASE}`,
      subscribeUrl: `${this.#balancer.url}/subscribe`,
      timing: { baseMs: 20, capMs: 200, stableMs: 200, connectTimeoutMs: 4000 },
      onFrame: ({ type, data, id }) => {
        if (type !== "n") return;
        // A history that was cut off is given again from its beginning. Nothing else is.
        if (live.get(data) === true || (live.has(data) && id !== null)) this.#liveTwice++;
        live.set(data, live.get(data) === true || id !== null);
        const topic = data.slice(0, data.indexOf(" "));
        seen.set(topic, [...seen.get(topic) ?? [], data]);
        known.add(data);
      },
      revalidate: ({ cause, topics }) => {
        count(this.#causes, cause);
        for (const topic of topics ?? [BASE, added]) {
          for (const data of this.#written.get(topic) ?? []) {
            if (!known.has(data)) this.#fetched++;
            known.add(data);
          }
        }
      },
      onLifecycle: (record) => {
        if (record.kind === "hello") count(this.#hellos, record.verdict);
        if (record.kind === "subscribed") count(this.#subscriptions, record.verdict);
      },
    });
    stream.start();
    return { stream, added, seen, known };
  }

  async #publish(p: number, topic: string): Promise<void> {
    const written = this.#written.get(topic) ?? [];
    this.#written.set(topic, written);
    for (let n = 0; this.#goesOn; n++) {
      const data = `${topic} ${p}:${n}`;
      written.push(data);
      await nth(this.#cluster.pods, p).publish({ topic, name: "n", data });
      await pause(PACE_MS);
    }
  }

  #missing({ added, known }: Roamer): number {
    const owed = [BASE, added].flatMap((topic) => this.#written.get(topic) ?? []);
    return owed.filter((data) => !known.has(data)).length;
  }

  #report(): RoamReport {
    assert(this.#cuts >= CUTS.rounds, "clients were cut");
    let frames = 0;
    let twice = 0;
    for (const { seen } of this.#roamers) {
      for (const list of seen.values()) {
        frames += list.length;
        twice += list.length - new Set(list).size;
      }
    }
    return {
      seed: this.#seed,
      published: [...this.#written.values()].flat().length,
      cuts: this.#cuts,
      frames,
      twice,
      liveTwice: this.#liveTwice,
      hellos: Object.fromEntries(this.#hellos),
      subscriptions: Object.fromEntries(this.#subscriptions),
      causes: Object.fromEntries(this.#causes),
      fetched: this.#fetched,
    };
  }
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The pace of what happens, not a wait for anything. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
