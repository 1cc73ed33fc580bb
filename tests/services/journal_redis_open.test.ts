/**
 * What a Redis must be to hold a journal, and which clients do.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { Cluster } from "ioredis";
import { ConfigError } from "../../src/errors.ts";
import { JournalError } from "../../src/errors/journal.ts";
import type { Journal, JournalEntry, JournalEvent } from "../../src/journal/journal.ts";
import { openRedisJournal, type RedisConnection } from "../../src/journal/redis.ts";
import { eventually } from "../support/poll.ts";
import { onRedis, type RedisServer } from "../support/redis.ts";
import { test } from "../support/test.ts";

const NAME = "open";

function makeEvent(n: number, fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic: "t", name: "step", data: `event ${n}`, at: Date.now(), ...fields };
}

async function refused(server: RedisServer, fault: string): Promise<string> {
  const client = server.client();
  const error = await assertRejects(
    () => openRedisJournal(client, { name: NAME, readTimeoutMs: 500 }),
    JournalError,
  );
  assertEquals(error.fault, fault, error.message);
  return error.message;
}

/** Appends, reads, and is told of what another appends. */
async function works(journal: Journal, other: Journal): Promise<void> {
  const abort = new AbortController();
  const { epoch, head } = await journal.window();
  const tail = journal.tail({ epoch, after: head, signal: abort.signal })[Symbol.asyncIterator]();
  const seen = tail.next();
  const { offset } = await other.append(makeEvent(1));
  const { value } = await seen;
  const entries: readonly JournalEntry[] = value ?? [];
  assertEquals(entries.map((entry) => [entry.offset, entry.data]), [[offset, "event 1"]]);
  const page = await journal.read({ after: head, topics: ["t"], limit: 10 });
  assertEquals(page.entries.map((entry) => entry.offset), [offset]);
  assertEquals(await journal.count({ after: head, topics: ["t"] }, 10), 1);
  abort.abort();
  await tail.return?.();
}

onRedis("every eviction policy but noeviction is refused", async (server) => {
  const admin = server.client();
  for (const policy of ["allkeys-lru", "allkeys-random", "volatile-lfu", "volatile-ttl"]) {
    await admin.call("CONFIG", "SET", "maxmemory-policy", policy);
    assert((await refused(server, "unsafe")).includes(policy));
  }
  await admin.call("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await (await openRedisJournal(server.client(), { name: NAME })).close();
});

onRedis("a replica is refused", async (server) => {
  await server.client().call("REPLICAOF", "127.0.0.1", "1");
  assert((await refused(server, "unsafe")).includes("slave"));
});

onRedis("a server that does not tell its policy is warned of, and used", async (server) => {
  const admin = server.client();
  await admin.call(
    ...["ACL", "SETUSER", "limited", "on", ">secret", `~tidemark:{${NAME}}:*`] as const,
    ...["+@all", "-info", "-config"],
  );
  const warnings: string[] = [];
  // Its check of whether the server is ready asks for INFO itself.
  const client = server.client({
    username: "limited",
    password: "secret",
    enableReadyCheck: false,
  });
  const journal = await openRedisJournal(client, {
    name: NAME,
    onWarning: (message) => warnings.push(message),
  });
  assertEquals(warnings.length, 1);
  assert(warnings[0]?.includes("noeviction"), warnings[0]);
  await works(journal, journal);
  await journal.close();
});

onRedis("a server that is away, or has another format, is said to be", async (server) => {
  await server.client().call("HSET", `tidemark:{${NAME}}:meta`, "colour", "blue");
  await refused(server, "format");
  await server.stop();
  await refused(server, "unavailable");
});

onRedis("a server that takes less in one argument lowers maxBytes", async (server) => {
  await server.client().call("CONFIG", "SET", "proto-max-bulk-len", "1mb");
  const journal = await openRedisJournal(server.client(), { name: NAME });
  assertEquals(journal.maxBytes, 1_048_576);
  await journal.close();
});

for (
  const [what, options] of [
    ["puts a prefix before keys", { keyPrefix: "app:" }],
    ["gives numbers as strings", { stringNumbers: true }],
    ["pipelines on its own", { enableAutoPipelining: true }],
    ["connects when it is first used", { lazyConnect: true }],
  ] as const
) {
  onRedis(`a client that ${what} will do`, async (server) => {
    const journal = await openRedisJournal(server.client(options), { name: NAME });
    const other = await openRedisJournal(server.client(options), { name: NAME });
    await works(journal, other);
    const keys = await server.client().keys("*");
    const prefix = "keyPrefix" in options ? options.keyPrefix : "";
    const root = `${prefix}tidemark:{${NAME}}:`;
    assertEquals(keys.filter((key) => !key.startsWith(root)), []);
    assertGreater(keys.length, 3);
    await Promise.all([journal.close(), other.close()]);
  });
}

onRedis("a cluster and its client will do", async (server) => {
  const admin = server.client();
  await admin.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await eventually(async () => {
    return String(await admin.call("CLUSTER", "INFO")).includes("cluster_state:ok");
  }, { what: "the cluster to have its slots" });
  const cluster = new Cluster([{ host: "127.0.0.1", port: server.port }]);
  try {
    const journal = await openRedisJournal(cluster, { name: NAME });
    const other = await openRedisJournal(cluster, { name: NAME });
    await works(journal, other);
    await Promise.all([journal.close(), other.close()]);
  } finally {
    cluster.disconnect();
  }
}, ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);

onRedis("two connections that can only send commands will do", async (server) => {
  const client = plainConnection(server);
  const blocking = plainConnection(server);
  await assertRejects(() => openRedisJournal(client, { name: NAME }), ConfigError);
  const journal = await openRedisJournal(client, { name: NAME, blocking });
  await works(journal, journal);
  await journal.close();
});

onRedis(
  "a tail is woken by another opener, not by its look once a second, and leaves no connection behind",
  async (server) => {
    const admin = server.client();
    const connections = async (): Promise<number> =>
      String(await admin.call("CLIENT", "LIST")).trim().split("\n").length;
    const journal = await openRedisJournal(server.client(), { name: NAME });
    const other = await openRedisJournal(server.client(), { name: NAME });
    const before = await connections();
    const abort = new AbortController();
    const { epoch } = await journal.window();
    const delays: number[] = [];
    let appended = 0;
    const following = (async () => {
      for await (const _ of journal.tail({ epoch, after: 0, signal: abort.signal })) {
        delays.push(performance.now() - appended);
      }
    })();
    for (let n = 1; n <= 5; n++) {
      await eventually(async () => {
        return String(await admin.call("CLIENT", "LIST")).includes("cmd=xread");
      }, { what: "the tail to wait" });
      appended = performance.now();
      await other.append(makeEvent(n));
      await eventually(() => delays.length >= n, { what: `the event ${n}` });
    }
    // The look alone would take half a second in the mean.
    assertLess(Math.max(...delays), 400);
    assertGreater(await connections(), before);
    abort.abort();
    await following;
    await Promise.all([journal.close(), other.close()]);
    const gone = async (): Promise<boolean> => await connections() === before;
    await eventually(gone, { what: "the blocking connections to be ended" });
  },
);

onRedis(
  "an append that a client sends again after half of the ids' time is not run",
  async (server) => {
    const client = server.client();
    const sent: string[][] = [];
    const recording: RedisConnection = {
      call: (command, ...args) => {
        sent.push([command, ...args]);
        return client.call(command, ...args);
      },
    };
    const options = {
      name: NAME,
      appendTimeoutMs: 100,
      idTtlMs: 400,
      blocking: plainConnection(server),
    };
    const journal = await openRedisJournal(recording, options);
    await journal.append(makeEvent(0));
    await journal.append(makeEvent(1));
    const [command = "", ...args] = sent.at(-1) ?? [];
    const reply = async (): Promise<unknown> =>
      (await client.call(command, ...args) as unknown[])[0];
    await eventually(async () => await reply() === "late", { what: "the command to be too late" });
    // Not even when its id is forgotten.
    await eventually(async () => {
      await journal.append(makeEvent(2));
      return await client.hlen(`tidemark:{${NAME}}:ids0`) +
          await client.hlen(`tidemark:{${NAME}}:ids1`) < 3;
    }, { what: "the ids to be forgotten", everyMs: 450 });
    assertEquals(await reply(), "late");
    const page = await journal.read({ after: 0, topics: null, limit: 100 });
    assertEquals(page.entries.filter(({ data }) => data === "event 1").length, 1);
    await journal.close();
  },
);

test("Redis: an option that makes no sense is refused by its name", async () => {
  const client: RedisConnection = { call: () => Promise.reject(new Error("not reached")) };
  const cases = [
    ["name", { name: "" }],
    ["name", { name: "a}b" }],
    ["name", { name: "a b" }],
    ["appendTimeoutMs", { name: "a", appendTimeoutMs: 0 }],
    ["appendTimeoutMs", { name: "a", appendTimeoutMs: 600_001 }],
    ["readTimeoutMs", { name: "a", readTimeoutMs: 1.5 }],
    ["idTtlMs", { name: "a", idTtlMs: 9999 }],
    ["retention.maxEntries", { name: "a", retention: { maxEntries: -1 } }],
    ["blocking", { name: "a" }],
  ] as const;
  for (const [option, options] of cases) {
    const error = await assertRejects(() => openRedisJournal(client, options), ConfigError);
    assertEquals(error.option, option);
  }
});

function plainConnection(server: RedisServer): RedisConnection {
  const client = server.client();
  return { call: (command, ...args) => client.call(command, ...args) };
}
