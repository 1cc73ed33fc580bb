import type { Redis } from "ioredis";
import { type RelayAudience, relayCases } from "../../src/relay/conformance.ts";
import { createRedisRelay } from "../../src/relay/redis.ts";
import { BrokerProxy } from "../support/broker_proxy.ts";
import { eventually } from "../support/poll.ts";
import { REDIS_SERVER, type RedisServer, startRedis } from "../support/redis.ts";
import { test } from "../support/test.ts";

let server: Promise<RedisServer> | undefined;
let audiences = 0;

/** With a connection that the relay duplicates, and with one that is handed in and subscribes again. */
for (const kind of ["duplicated", "handed in"] as const) {
  const cases = relayCases({
    hooks: ["interrupt"],
    makeAudience: async () => await makeAudience(await (server ??= startRedis()), kind),
  });
  for (const { name, run } of cases) {
    test(`Redis, ${kind}: ${name}`, run, { needs: [REDIS_SERVER], foreignTimers: true });
  }
}

test("Redis: the server of the suites ends", async () => {
  await (await server)?.dispose();
}, { needs: [REDIS_SERVER], foreignTimers: true });

/** Pods with a client each, through a proxy of their own. */
async function makeAudience(
  server: RedisServer,
  kind: "duplicated" | "handed in",
): Promise<RelayAudience> {
  const channel = `audience ${++audiences}`;
  const proxy = await BrokerProxy.start(server.port);
  const clients: Redis[] = [];
  const client = (): Redis => {
    const client = server.client({ port: proxy.port });
    clients.push(client);
    return client;
  };
  return {
    async connect() {
      const publisher = client();
      await publisher.ping();
      if (kind === "duplicated") return createRedisRelay(publisher, { channel });
      return createRedisRelay(publisher, { channel, subscriber: client() });
    },
    async interrupt() {
      proxy.cut();
      const away = ({ status }: Redis): boolean => status !== "ready";
      await eventually(() => clients.every(away), { what: "the pods to be cut off" });
    },
    restore() {
      proxy.mend();
      return Promise.resolve();
    },
    async dispose() {
      for (const client of clients) client.disconnect();
      await proxy.stop();
    },
  };
}
