/**
 * The stores that are measured: our journal in each, and beside it the driver alone, which does what
 * must be done and nothing else, in the same file or server.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headers } from "@nats-io/transport-node";
import type { Journal } from "../../src/journal/journal.ts";
import { createMemoryJournal } from "../../src/journal/memory.ts";
import { openJetStreamJournal } from "../../src/journal/nats.ts";
import { openRedisJournal } from "../../src/journal/redis.ts";
import { openSqliteJournal } from "../../src/journal/sqlite.ts";
import { openDatabase } from "../../src/testing/fixture/journals.ts";
import { available } from "../../tests/support/require.ts";
import { NATS, NatsServer } from "../../tests/support/nats.ts";
import { DURABLE, REDIS_SERVER, startRedis, VOLATILE } from "../../tests/support/redis.ts";

/** What is stored in each append. */
export interface Load {
  /** The topic. */
  readonly topic: string;
  /** The data. */
  readonly data: string;
}

/** A store under measurement. */
export interface Store {
  /** Our journal. */
  readonly journal: Journal;
  /** The driver alone: stores some events at once, and settles when the store has confirmed them. */
  bare(events: readonly Load[]): Promise<unknown>;
  /** Ends everything. */
  stop(): Promise<void>;
}

/** The stores by name; `null` where a program is missing. */
export const STORES: Readonly<Record<string, () => Promise<Store | null>>> = {
  memory: () => {
    // Bounded, both: they store millions of events a second.
    const journal = createMemoryJournal({ retention: { maxEntries: 200_000 } });
    let kept: readonly Load[] = [];
    return Promise.resolve({
      journal,
      bare: (events) => Promise.resolve(kept = [...events, ...kept.slice(0, 1000)]),
      stop: () => journal.close(),
    });
  },
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), "bench-"));
    const [ours, other] = [
      await openDatabase(join(folder, "a")),
      await openDatabase(join(folder, "b")),
    ];
    const journal = await openSqliteJournal(ours);
    other.exec("PRAGMA locking_mode = EXCLUSIVE");
    other.exec("PRAGMA journal_mode = WAL");
    other.exec("PRAGMA synchronous = FULL");
    other.exec(
      "CREATE TABLE entry (offset INTEGER PRIMARY KEY, topic TEXT, name TEXT, at INTEGER, data TEXT, id TEXT)",
    );
    other.exec("CREATE INDEX by_topic ON entry (topic, offset)");
    other.exec("CREATE UNIQUE INDEX by_id ON entry (id) WHERE id IS NOT NULL");
    other.exec("CREATE TABLE head (head INTEGER)");
    other.exec("INSERT INTO head VALUES (0)");
    const insert = other.prepare(
      "INSERT INTO entry (topic, name, at, data, id) VALUES (?, ?, ?, ?, ?)",
    );
    const move = other.prepare("UPDATE head SET head = head + ?");
    return {
      journal,
      bare(events) {
        other.exec("BEGIN IMMEDIATE");
        for (const { topic, data } of events) insert.run(topic, "load", Date.now(), data, null);
        move.run(events.length);
        other.exec("COMMIT");
        return Promise.resolve();
      },
      async stop() {
        await journal.close();
        ours.close();
        other.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  redis: () => redis(DURABLE),
  "redis, nothing on disk": () => redis(VOLATILE),
  async nats() {
    if (!available(NATS)) return null;
    const server = await NatsServer.start();
    const [ours, other] = [await server.connect(), await server.connect()];
    const journal = await openJetStreamJournal({ connection: ours, headers }, { name: "bench" });
    const config = { name: "bare", subjects: ["bare.>"], storage: "file" };
    await other.request("$JS.API.STREAM.CREATE.bare", JSON.stringify(config));
    return {
      journal,
      bare: (events) =>
        Promise.all(events.map(({ topic, data }) => {
          const head = headers();
          head.set("Nats-Msg-Id", crypto.randomUUID());
          return other.request(`bare.${topic}`, data, { timeout: 10_000, headers: head });
        })),
      async stop() {
        await journal.close();
        await server.stop();
      },
    };
  },
};

async function redis(args: readonly string[]): Promise<Store | null> {
  if (!available(REDIS_SERVER)) return null;
  const server = await startRedis(args);
  const [ours, other] = [server.client(), server.client()];
  const journal = await openRedisJournal(ours, { name: "bench" });
  const script = await other.call(
    "SCRIPT",
    "LOAD",
    `local known = redis.call("GET", KEYS[4])
       if known then return known end
       local n = redis.call("HINCRBY", KEYS[1], "head", 1)
       redis.call("SET", KEYS[4], n, "PX", 120000)
       redis.call("XADD", KEYS[2], n .. "-0", "t", ARGV[1], "d", ARGV[2])
       redis.call("ZADD", KEYS[3], n, n)
       return n`,
  );
  return {
    journal,
    bare: (events) =>
      Promise.all(
        events.map(({ topic, data }) => {
          const keys = ["{b}h", "{b}s", `{b}t:${topic}`, `{b}i:${crypto.randomUUID()}`];
          return other.call("EVALSHA", String(script), "4", ...keys, topic, data);
        }),
      ),
    async stop() {
      await journal.close();
      await server.dispose();
    },
  };
}
