/**
 * Redis as the conformance suite takes it: each store is a server of its own.
 *
 * @module
 */
import type { JournalStore, JournalSubject } from "../../src/journal/conformance.ts";
import { openRedisJournal } from "../../src/journal/redis.ts";
import { DURABLE, type RedisServer, startRedis } from "../support/redis.ts";

const NAME = "conformance";

/** What the suite is told of Redis. */
export const redisSubject: JournalSubject = {
  openers: "many",
  hooks: ["restart", "copy", "empty", "purge", "foreignFormat"],
  schedules: 6,
  makeStore: async () => makeStore(await startRedis(DURABLE)),
};

function makeStore(server: RedisServer): JournalStore {
  const admin = server.client();
  return {
    open: ({ retention }) => openRedisJournal(server.client(), { name: NAME, retention }),
    async restart() {
      await server.stop("SIGKILL");
      await server.start(DURABLE);
      await admin.ping();
    },
    async copy() {
      const path = await server.snapshot(`copy-${crypto.randomUUID()}.rdb`);
      return {
        restore: async () => {
          await server.restore(path);
          await admin.ping();
        },
      };
    },
    async empty() {
      await admin.call("FLUSHALL");
    },
    async purge() {
      await admin.call("XTRIM", `tidemark:{${NAME}}:log`, "MAXLEN", "0");
    },
    async foreignFormat() {
      await admin.call("HSET", `tidemark:{${NAME}}:meta`, "format", "2");
    },
    dispose: () => server.dispose(),
  };
}
