/**
 * Pods over one journal, behind a balancer that moves clients at random, killed and started at random,
 * their broker restarted once: every client gets every event of its topic exactly once and in order.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { createStream } from "../../src/client/stream.ts";
import type { Stream } from "../../src/client/types.ts";
import { type Random, runSeed, seeded } from "../suites/lib/random.ts";
import { Balancer } from "../support/balancer.ts";
import { type RunningFixture, startFixture } from "../support/fixture.ts";
import { NATS, NatsServer } from "../support/nats.ts";
import { eventually } from "../support/poll.ts";
import { DURABLE, REDIS_SERVER, startRedis } from "../support/redis.ts";
import { type RuntimeName, RUNTIMES } from "../support/runtimes.ts";
import { test } from "../support/test.ts";

const CLIENTS = 200;
const TOPICS = 20;
/** How long the trouble lasts at least: until enough has happened, on a machine that does much else. */
const TROUBLE_MS = 12_000;
const TROUBLE_AT_MOST_MS = 45_000;
/** Enough: events stored, pods killed, clients cut. */
const ENOUGH = { stored: 500, kills: 2, cuts: 50 } as const;
const TIMEOUT_MS = 120_000;

/** Where the journal is, and how its broker is restarted. */
interface Broker {
  readonly url: string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const BROKERS: Readonly<Record<string, readonly [program: string, start: () => Promise<Broker>]>> =
  {
    redis: [REDIS_SERVER, async () => {
      const server = await startRedis(DURABLE);
      return {
        url: `redis:redis://127.0.0.1:${server.port}/pods`,
        async restart() {
          await server.stop("SIGTERM");
          await server.start(DURABLE);
        },
        stop: () => server.dispose(),
      };
    }],
    nats: [NATS, async () => {
      const server = await NatsServer.start();
      return {
        url: `nats:nats://${server.address}/pods`,
        restart: () => server.restart(),
        stop: () => server.stop(),
      };
    }],
  };

const PODS: readonly (readonly RuntimeName[])[] = [["deno", "bun"], ["deno", "bun", "node-direct"]];

for (const [name, [program, start]] of Object.entries(BROKERS)) {
  for (const pods of PODS) trial(name, program, start, pods);
}

function trial(
  name: string,
  program: string,
  start: () => Promise<Broker>,
  pods: readonly RuntimeName[],
): void {
  test(
    `${pods.length} pods over ${name}: whoever is moved, killed or restarted, nothing is lost and nothing comes twice`,
    async () => {
      const seed = runSeed();
      const broker = await start();
      try {
        await new Trial(broker, pods, seeded(seed)).run(
          `${pods.length} over ${name}, seed ${seed}`,
        );
      } finally {
        await broker.stop();
      }
    },
    { needs: [program, "node"], timeoutMs: TIMEOUT_MS, foreignTimers: true },
  );
}

/** One client, and what it was told. */
interface Client {
  readonly stream: Stream;
  readonly topic: number;
  readonly seen: number[];
  readonly verdicts: Map<string, number>;
}

/** What was published on one topic. */
interface Published {
  next: number;
  /** Acknowledged: it must arrive. */
  readonly stored: number[];
  /** Not acknowledged: it may arrive. */
  readonly doubtful: Set<number>;
}

/** One run of everything at once. */
class Trial {
  readonly #broker: Broker;
  readonly #random: Random;
  readonly #balancer: Balancer;
  readonly #pods: (RunningFixture | null)[];
  readonly #runtimes: readonly RuntimeName[];
  readonly #clients: Client[] = [];
  readonly #published: Published[] = Array.from({ length: TOPICS }, () => ({
    next: 1,
    stored: [],
    doubtful: new Set(),
  }));
  #trouble = true;
  #kills = 0;
  #cuts = 0;

  constructor(broker: Broker, runtimes: readonly RuntimeName[], random: Random) {
    this.#broker = broker;
    this.#random = random;
    this.#balancer = new Balancer(random);
    this.#runtimes = runtimes;
    this.#pods = runtimes.map(() => null);
  }

  async run(title: string): Promise<void> {
    try {
      await Promise.all(this.#runtimes.map((_, i) => this.#startPod(i)));
      for (let i = 0; i < CLIENTS; i++) this.#clients.push(this.#createClient(i % TOPICS));
      await eventually(() => this.#clients.every(({ stream }) => stream.state() === "open"), {
        what: "every client to be open",
        timeoutMs: 20_000,
      });
      const began = performance.now();
      const goesOn = (): boolean => {
        const ms = performance.now() - began;
        return this.#trouble && (ms < TROUBLE_MS || (ms < TROUBLE_AT_MOST_MS && !this.#enough()));
      };
      await Promise.all([
        ...this.#published.map((_, topic) => this.#publish(topic, goesOn)),
        this.#moveClients(goesOn),
        this.#killPods(goesOn),
        this.#restartBroker(),
      ]);
      await this.#settle();
      this.#report(title);
    } finally {
      this.#trouble = false;
      for (const { stream } of this.#clients) stream.stop();
      await Promise.all(this.#pods.map((pod) => pod?.stop()));
      await this.#balancer.stop();
    }
  }

  #enough(): boolean {
    return this.#stored() > ENOUGH.stored && this.#kills >= ENOUGH.kills &&
      this.#cuts > ENOUGH.cuts;
  }

  #stored(): number {
    return this.#published.reduce((sum, each) => sum + each.stored.length, 0);
  }

  async #startPod(index: number): Promise<void> {
    const runtime = RUNTIMES.find(({ name }) => name === this.#runtimes[index]);
    if (runtime === undefined) throw new Error(`There is no runtime ${this.#runtimes[index]}`);
    // A small ring, so that most who come back read from the journal.
    const pod = await startFixture(runtime, { journal: this.#broker.url, replayEvents: 64 });
    this.#pods[index] = pod;
    this.#balancer.add(pod.url);
  }

  #createClient(topic: number): Client {
    const seen: number[] = [];
    const verdicts = new Map<string, number>();
    const stream = createStream({
      url: `${this.#balancer.url}/events?topic=t${topic}`,
      timing: { baseMs: 20, capMs: 300, stableMs: 200, connectTimeoutMs: 5000 },
      onFrame({ type, data }) {
        if (type === "n") seen.push(Number(data));
      },
      onLifecycle(record) {
        if (record.kind !== "hello") return;
        verdicts.set(record.verdict, (verdicts.get(record.verdict) ?? 0) + 1);
      },
    });
    stream.start();
    return { stream, topic, seen, verdicts };
  }

  async #publish(topic: number, goesOn: () => boolean): Promise<void> {
    const published = this.#published[topic];
    if (published === undefined) return;
    while (goesOn()) {
      const n = published.next++;
      const pods = this.#pods.filter((pod) => pod !== null);
      const pod = pods[Math.floor(this.#random.next() * pods.length)];
      const stored = pod !== undefined && await this.#post(pod, topic, n);
      if (stored) published.stored.push(n);
      else published.doubtful.add(n);
      await pause(20 + this.#random.next() * 60);
    }
  }

  async #post({ url }: RunningFixture, topic: number, n: number): Promise<boolean> {
    const body = JSON.stringify({ topic: `t${topic}`, name: "n", data: String(n) });
    try {
      const signal = AbortSignal.timeout(8000);
      const answer = await fetch(`${url}/control/publish`, { method: "POST", body, signal });
      await answer.body?.cancel();
      return answer.ok;
    } catch {
      return false;
    }
  }

  async #moveClients(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      await pause(300);
      this.#cuts += this.#balancer.cut(0.04);
    }
  }

  async #killPods(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      await pause(1500 + this.#random.next() * 1000);
      const index = Math.floor(this.#random.next() * this.#pods.length);
      const pod = this.#pods[index];
      if (pod === null || pod === undefined) continue;
      this.#pods[index] = null;
      this.#balancer.remove(pod.url);
      Deno.kill(pod.pid, "SIGKILL");
      this.#kills++;
      await pod.stop();
      await this.#startPod(index);
    }
  }

  async #restartBroker(): Promise<void> {
    await pause(TROUBLE_MS / 2);
    await this.#broker.restart();
  }

  /** Waits until every client has every event that was acknowledged. */
  async #settle(): Promise<void> {
    const missing = (): number =>
      this.#clients.reduce((sum, client) => sum + this.#missing(client).length, 0);
    await eventually(() => missing() === 0, {
      what: "every client to have every stored event",
      timeoutMs: 30_000,
      everyMs: 100,
    }).catch((error: unknown) => {
      throw new Error(`${missing()} events are missing at the clients`, { cause: error });
    });
  }

  #missing({ topic, seen }: Client): number[] {
    const had = new Set(seen);
    return this.#published[topic]?.stored.filter((n) => !had.has(n)) ?? [];
  }

  #report(title: string): void {
    let lost = 0;
    let received = 0;
    let twice = 0;
    let outOfOrder = 0;
    let late = 0;
    let unknown = 0;
    const verdicts = new Map<string, number>();
    for (const client of this.#clients) {
      const { seen, topic } = client;
      received += seen.length;
      lost += this.#missing(client).length;
      twice += seen.length - new Set(seen).size;
      const published = this.#published[topic];
      const stored = new Set(published?.stored);
      // What was sent and not acknowledged may be stored after what was sent later.
      outOfOrder += descents(seen.filter((n) => stored.has(n)));
      late += descents(seen);
      unknown += seen.filter((n) => !stored.has(n) && !published?.doubtful.has(n)).length;
      for (const [verdict, count] of client.verdicts) {
        verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + count);
      }
    }
    const stored = this.#stored();
    const doubtful = this.#published.reduce((sum, { doubtful }) => sum + doubtful.size, 0);
    console.log(
      `${title}: ${stored} stored (${doubtful} in doubt), ${received} received, lost ${lost}, ` +
        `twice ${twice}, out of order ${outOfOrder}, in doubt and stored late ${
          late - outOfOrder
        }, ` +
        `${this.#kills} pods killed, ${this.#cuts} clients cut, ` +
        `verdicts ${JSON.stringify(Object.fromEntries(verdicts))}`,
    );
    assertEquals(lost, 0);
    assertEquals(twice, 0, "nothing comes twice");
    assertEquals(outOfOrder, 0, "nothing that was acknowledged comes out of order");
    assertEquals(unknown, 0);
    for (const [i, { seen, topic }] of this.#clients.entries()) {
      // What is in doubt reached everybody, or nobody.
      assertEquals(seen, this.#clients[topic]?.seen, `clients ${i} and ${topic} saw the same`);
    }
    // Nothing was lost, so nobody may be told that something was.
    assertEquals([...verdicts.keys()].sort(), ["fresh", "resumed"]);
    assertEquals(verdicts.get("fresh"), CLIENTS);
    assert(this.#kills >= ENOUGH.kills && this.#cuts > ENOUGH.cuts, "there was trouble");
    assertGreater(stored, ENOUGH.stored);
  }
}

/** How often a number is not above the one before it. */
function descents(numbers: readonly number[]): number {
  return numbers.filter((n, i) => i > 0 && n <= (numbers[i - 1] ?? 0)).length;
}

/** The pace of what happens, not a wait for anything. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
