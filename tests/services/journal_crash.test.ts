/**
 * A pod that is killed by SIGKILL again and again while it takes all that it can: nothing that was
 * acknowledged is lost, nothing comes twice, and every client is resumed.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import type { FixtureOptions } from "../../src/testing/fixture/options.ts";
import { type Random, runSeed, seeded } from "../suites/lib/random.ts";
import { BatchLedger, type Wrongs } from "../support/journal_ledger.ts";
import { Lives } from "../support/journal_life.ts";
import { Listener } from "../support/journal_listener.ts";
import { eventually } from "../support/poll.ts";
import { freePort } from "../support/port.ts";
import { skipOrFail } from "../support/require.ts";
import type { RuntimeName } from "../support/runtimes.ts";
import { test } from "../support/test.ts";

const KILLS = 50;
const WRITERS = 2;
const BATCH = 40;
const TOPICS = ["a", "b"] as const;
/** One for each topic, and some for everything. */
const LISTENERS = ["a", "b", undefined, undefined, undefined] as const;
const TIMEOUT_MS = 120_000;
/** What all of the kills may take together. */
const BOUND_MS = 60_000;
const REQUEST_MS = 10_000;

const NONE: Wrongs = { lost: 0, twice: 0, disordered: 0, strange: 0 };

test(
  `${KILLS} kills -9 at full speed: no acknowledged event is lost or comes twice, every client is resumed`,
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "tidemark-crash-" });
    const seed = runSeed();
    try {
      await new Trial(`${folder}/journal.db`, await freePort(), seeded(seed)).run();
    } catch (error) {
      throw new Error(`With the seed ${seed}`, { cause: error });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
  { timeoutMs: TIMEOUT_MS },
);

interface Reader {
  readonly topic: string | undefined;
  readonly listener: Listener;
}

class Trial {
  readonly #random: Random;
  readonly #lives: Lives;
  readonly #ledger = new BatchLedger(BATCH);
  readonly #readers: Reader[] = [];
  readonly #killed = new Map<RuntimeName, number>();
  #writing = true;
  /** Batches of this life that were acknowledged. */
  #acknowledged = 0;

  constructor(path: string, port: number, random: Random) {
    const options: FixtureOptions = {
      journal: `sqlite:${path}`,
      // Small, so that whoever was away reads from the file.
      replayEvents: 256,
      replyMax: 10_000_000,
      keepaliveMs: 250,
      writeTimeoutMs: 5000,
    };
    this.#lives = new Lives(options, port);
    this.#random = random;
  }

  async run(): Promise<void> {
    const lives = this.#lives;
    const writers: Promise<void>[] = [];
    const begun = performance.now();
    const drivers = await driversOf();
    try {
      await lives.start(nameOf(0, drivers));
      const { epoch } = (await lives.state()).position;
      for (const topic of LISTENERS) this.#listen(topic);
      await this.#allGreeted();
      for (let writer = 0; writer < WRITERS; writer++) writers.push(this.#write(writer));
      for (let life = 0; life < KILLS; life++) await this.#live(life, epoch, drivers);
      const tookMs = performance.now() - begun;

      this.#writing = false;
      await Promise.all(writers);
      await this.#settle(epoch);
      const readBack = await this.#readBack(epoch);
      this.#report(epoch, readBack, tookMs);
    } finally {
      this.#writing = false;
      for (const { listener } of this.#readers) listener.stop();
      await lives.stop();
    }
  }

  /** One life: it takes what it can for a while, and is killed; then the next one begins. */
  async #live(life: number, epoch: string, drivers: Drivers): Promise<void> {
    const lives = this.#lives;
    // Some die while their clients are still on the way, most amid live streams.
    const early = life % 5 === 4;
    const batches = early ? 1 : this.#random.between(3, 30);
    const ready = (): boolean =>
      this.#acknowledged >= batches &&
      (early || this.#readers.every(({ listener: { open } }) => open));
    await eventually(ready, { what: `life ${life} to have worked`, everyMs: 2 });
    await lives.kill();
    const name = nameOf(life, drivers);
    this.#killed.set(name, (this.#killed.get(name) ?? 0) + 1);
    this.#acknowledged = 0;
    await lives.start(nameOf(life + 1, drivers));
    const { position } = await lives.state();
    assertEquals(position.epoch, epoch, `the epoch after kill ${life + 1}`);
    assert(Number(position.head) >= this.#ledger.highest, `the head after kill ${life + 1}`);
  }

  #listen(topic: string | undefined): Listener {
    const query = topic === undefined ? "" : `?topic=${topic}`;
    const listener = new Listener(`${this.#lives.url}/events${query}`);
    this.#readers.push({ topic, listener });
    return listener;
  }

  async #allGreeted(): Promise<void> {
    await eventually(() => this.#readers.every(({ listener: { open } }) => open), {
      what: "every client to be greeted",
    });
  }

  /** As fast as it is answered. What is not answered is in doubt, and is not repeated. */
  async #write(writer: number): Promise<void> {
    for (let n = 1; this.#writing; n++) {
      await this.#lives.up;
      const topic = TOPICS[n % TOPICS.length] ?? "a";
      const data = this.#ledger.begin(writer, n, topic);
      const offsets = await this.#post({ topic, name: "n", data, count: BATCH });
      if (offsets === null) continue;
      this.#ledger.acknowledge(data, offsets);
      this.#acknowledged++;
    }
  }

  async #post(body: object): Promise<readonly number[] | null> {
    try {
      const response = await fetch(`${this.#lives.url}/control/publish`, {
        method: "POST",
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      const text = await response.text();
      assertEquals(response.status, 200, text);
      return (JSON.parse(text) as { offsets: string[] }).offsets.map(Number);
    } catch (error) {
      // The kill has cut it off; anything else is a failure of the test.
      if (error instanceof TypeError || this.#lives.alive === false) return null;
      throw error;
    }
  }

  /** Waits until everybody has been told everything. */
  async #settle(epoch: string): Promise<void> {
    const { position } = await this.#lives.state();
    assertEquals(position.epoch, epoch);
    const head = Number(position.head);
    await eventually(() => this.#readers.every(({ listener }) => listener.reached >= head), {
      what: `every client to reach ${head}`,
      timeoutMs: 20_000,
    });
  }

  /** All that the file holds, as a client sees it that comes from the very beginning. */
  async #readBack(epoch: string): Promise<Listener> {
    const head = Number((await this.#lives.state()).position.head);
    const listener = new Listener(`${this.#lives.url}/events`, { cursor: `${epoch}:0` });
    try {
      await eventually(() => listener.reached >= head, {
        what: `the read-back to reach ${head}`,
        timeoutMs: 20_000,
      });
    } finally {
      listener.stop();
    }
    return listener;
  }

  #report(epoch: string, readBack: Listener, tookMs: number): void {
    const ledger = this.#ledger;
    const all = [...this.#readers, { topic: undefined, listener: readBack }];
    const audits = all.map(({ topic, listener }) => ledger.audit(listener.heard, epoch, topic));
    const sum = (of: (wrongs: Wrongs) => number): number =>
      audits.reduce((total, each) => total + of(each), 0);
    const repeated = all.reduce((total, { listener }) => total + listener.repeated, 0);
    const verdicts = new Map<string, number>();
    for (const verdict of this.#readers.flatMap(({ listener }) => listener.verdicts)) {
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    }
    const killed = [...this.#killed].map(([name, count]) => `${count} on ${name}`).join(", ");
    console.log(
      `${KILLS} kills (${killed}) in ${(tookMs / 1000).toFixed(1)} s, seed ${this.#random.seed}: ` +
        `${ledger.acknowledged} events acknowledged, ${ledger.doubtful} batches of ${BATCH} in ` +
        `doubt, ${readBack.heard.length} stored; at ${LISTENERS.length} clients and a read-back ` +
        `lost ${sum(({ lost }) => lost)}, twice ${sum(({ twice }) => twice) + repeated}, out of ` +
        `order ${sum(({ disordered }) => disordered)}, never published ` +
        `${sum(({ strange }) => strange)}; hellos ${JSON.stringify(Object.fromEntries(verdicts))}`,
    );
    for (const [i, audit] of audits.entries()) assertEquals(audit, NONE, `client ${i}`);
    assertEquals(repeated, 0, "nothing is sent twice");
    for (const { topic, listener } of this.#readers) {
      // What was in doubt reached everybody, or nobody.
      const expected = topic === undefined
        ? readBack.data
        : readBack.data.filter((data) => topicOf(data) === topic);
      assertEquals(listener.data, expected);
      assertEquals(listener.verdicts[0], "fresh");
      assertEquals(listener.verdicts.slice(1).filter((verdict) => verdict !== "resumed"), []);
      assertEquals(listener.lags, 0);
      // Those of the early kills it may have missed.
      assertGreater(listener.verdicts.length, KILLS / 2);
    }
    assertEquals(readBack.verdicts, ["resumed"]);
    assert(ledger.acknowledged > KILLS * BATCH);
    assert(tookMs < BOUND_MS, `${KILLS} kills took ${tookMs} ms`);
  }
}

function topicOf(data: string): string | undefined {
  return TOPICS[Number(data.split(".")[1]) % TOPICS.length];
}

/** Which runtimes can open a file here. */
interface Drivers {
  readonly node: boolean;
  readonly bun: boolean;
}

/** Deno in the main; Bun and Node have drivers of their own. */
function nameOf(life: number, { node, bun }: Drivers): RuntimeName {
  if (life % 12 === 7 && node) return "node-direct";
  if (life % 8 === 3 && bun) return "bun";
  return "deno";
}

async function driversOf(): Promise<Drivers> {
  const modules = `import("node:sqlite").catch(() => import("better-sqlite3"))`;
  const node = await runs("node", ["--no-warnings", "-e", modules]);
  const bun = await runs("node_modules/bun/bin/bun.exe", ["--version"]);
  if (!node) skipOrFail("Node with a SQLite driver (no pod is killed there)");
  if (!bun) skipOrFail("Bun (no pod is killed there)");
  return { node, bun };
}

async function runs(program: string, args: readonly string[]): Promise<boolean> {
  const cwd = new URL("../../", import.meta.url);
  const stdio = { stdout: "null", stderr: "null" } as const;
  try {
    const command = new Deno.Command(program, { args: [...args], cwd, ...stdio });
    return (await command.output()).success;
  } catch {
    return false;
  }
}
