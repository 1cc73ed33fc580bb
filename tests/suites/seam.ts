/**
 * The seam between replay and live, under traffic at full speed: each client receives every event
 * exactly once, or its hello tells it otherwise. What is lost is counted, not felt.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Runtime } from "../support/runtimes.ts";
import type { EventStream } from "../support/stream.ts";
import { type Account, emptyAccount, Ledger } from "./lib/ledger.ts";
import { type Ground, group } from "./lib/group.ts";
import type { ModelEvent } from "./lib/model.ts";
import { type Random, runSeed, seeded } from "./lib/random.ts";
import { elapse } from "./lib/within.ts";

/** What clients listen to, in turn; empty is everything. */
const LISTENING = [[], ["a"], ["b"], ["a", "b"], ["quiet"]];
/** What is published, in turn; `""` is a broadcast. */
const PUBLISHED = ["", "a", "b", "c", "a", ""];

/** Registers the tests. */
export function seam(runtime: Runtime): void {
  group(runtime, "seam", { replayEvents: 8192, replyMax: 8192 }, {
    "200 clients that reconnect at random while events pour in receive each exactly once": async (
      ground,
    ) => {
      const random = seeded(runSeed());
      const account = await run(ground, random, {
        clients: 200,
        events: 2500,
        awayMs: 60,
        restMs: 0,
      });
      const summary = report("seam", runtime, random, account);
      assertEquals([account.lost, account.extra], [0, 0], summary);
      assertEquals(account.told, 0, `nothing was evicted, and yet: ${summary}`);
      assert(account.replayed >= 200, `too few replays to mean anything: ${summary}`);
    },
  });

  group(runtime, "seam with a small ring", { replayEvents: 48, replyMax: 32 }, {
    "clients that stay away too long are told, and lose nothing that they were not told of": async (
      ground,
    ) => {
      const random = seeded(runSeed());
      const account = await run(ground, random, {
        clients: 60,
        events: 1200,
        awayMs: 250,
        restMs: 60,
      });
      const summary = report("seam with a small ring", runtime, random, account);
      assertEquals([account.lost, account.extra], [0, 0], summary);
      assert(account.told >= 20 && account.replayed >= 20, `too few to mean anything: ${summary}`);
    },
  });
}

/** On a machine that is busy with other things fewer events do. */
const MAX_PUBLISHING_MS = 6000;

interface Load {
  readonly clients: number;
  readonly events: number;
  /** How long a client stays away at most. */
  readonly awayMs: number;
  /** How long a publisher rests at most between two requests; 0 is full speed. */
  readonly restMs: number;
}

async function run(ground: Ground, random: Random, load: Load): Promise<Account> {
  const published = new Map<number, ModelEvent>();
  const rovers = Array.from({ length: load.clients }, (_, i) => {
    return new Rover(ground, LISTENING[i % LISTENING.length] ?? [], seedFrom(random), load.awayMs);
  });
  const deadline = performance.now() + MAX_PUBLISHING_MS;
  const publisher = async (own: Random): Promise<void> => {
    while (published.size < load.events && performance.now() < deadline) {
      const topic = PUBLISHED[own.between(0, PUBLISHED.length - 1)] ?? "";
      const count = own.between(1, 12);
      for (const offset of await ground.publish({ topic, data: topic, count })) {
        published.set(offset, { offset, topic });
      }
      if (load.restMs > 0) await elapse(own.between(0, load.restMs));
    }
  };
  await Promise.all(Array.from({ length: 3 }, () => publisher(seedFrom(random))));
  const [head = NaN] = await ground.publish({ data: "last" });
  published.set(head, { offset: head, topic: "" });
  const account = emptyAccount();
  const ledgers = await Promise.all(rovers.map((rover) => rover.finish(head)));
  for (const ledger of ledgers) ledger.settle(published, account);
  return account;
}

/** A client that connects, stays for a random number of blocks, leaves, and comes back. */
class Rover {
  readonly #ground: Ground;
  readonly #query: string;
  readonly #random: Random;
  readonly #awayMs: number;
  readonly #ledger: Ledger;
  readonly #roaming: Promise<void>;
  #current: EventStream | null = null;
  #over = false;

  constructor(ground: Ground, topics: readonly string[], random: Random, awayMs: number) {
    this.#ground = ground;
    this.#query = topics.map((topic, i) => `${i === 0 ? "?" : "&"}topic=${topic}`).join("");
    this.#random = random;
    this.#awayMs = awayMs;
    this.#ledger = new Ledger(topics);
    this.#roaming = this.#roam();
    // It is awaited in the end; until then a failure must not count as unhandled.
    this.#roaming.catch(() => {});
  }

  async #roam(): Promise<void> {
    while (!this.#over) {
      const blocks = this.#random.between(0, 120);
      await this.#connect(async (stream) => {
        if (this.#over) return;
        const stayed = stream.until(
          "its stay is over",
          ({ blocks: seen }) => seen.length >= blocks,
        );
        // Without enough events, or at the end of the run, it leaves all the same.
        await stayed.catch(() => {});
      });
      await elapse(this.#random.between(0, this.#awayMs));
    }
  }

  async #connect(stay: (stream: EventStream) => Promise<void>): Promise<void> {
    // Small reads end connections in the middle of a chunk, and of a frame.
    const bufferBytes = this.#random.between(100, 4000);
    const stream = await this.#ground.open(this.#query, {
      cursor: this.#ledger.cursor,
      bufferBytes,
    });
    this.#current = stream;
    await stay(stream);
    await stream.close();
    this.#ledger.enter(stream);
    stream.blocks.length = 0;
  }

  /** Leaves, comes back for all up to the head, and leaves for good. */
  async finish(head: number): Promise<Ledger> {
    this.#over = true;
    await this.#current?.close();
    await this.#roaming;
    await this.#connect((stream) => stream.reached(head, 20_000));
    return this.#ledger;
  }
}

function seedFrom(random: Random): Random {
  return seeded(random.between(0, 2 ** 31));
}

function report(what: string, runtime: Runtime, random: Random, account: Account): string {
  const { received, lost, extra, resumed, replayed, told, faults } = account;
  const line = `${runtime.name}: ${what}: received ${received}, lost ${lost}, extra ${extra}, ` +
    `resumed ${resumed} (${replayed} with a replay), told ${told}, seed ${random.seed}`;
  console.log(line);
  return [line, ...faults.slice(0, 5)].join("\n");
}
