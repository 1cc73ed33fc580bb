/**
 * Relays over a Redis of a test's own, with a proxy in between.
 *
 * @module
 */
import type { Redis, RedisOptions } from "ioredis";
import { createRedisRelay } from "../../src/relay/redis.ts";
import type { Relay } from "../../src/relay/relay.ts";
import { BrokerProxy } from "../support/broker_proxy.ts";
import { onRedis, type RedisServer } from "../support/redis.ts";

/** The channel of all of them. */
export const CHANNEL = "events";

/** A client through the proxy, that is ready. */
export async function through(
  { port }: BrokerProxy,
  server: RedisServer,
  options: RedisOptions = {},
): Promise<Redis> {
  const client = server.client({ port, ...options });
  await client.ping();
  return client;
}

/** A relay that does not pass through the proxy. */
export function direct(server: RedisServer, maxPendingBytes?: number): Relay {
  const bound = maxPendingBytes === undefined ? {} : { maxPendingBytes };
  return createRedisRelay(server.client(), { channel: CHANNEL, ...bound });
}

/** Registers a test that has a proxy, too. */
export function onProxy(
  name: string,
  body: (server: RedisServer, proxy: BrokerProxy) => Promise<void>,
): void {
  onRedis(name, async (server) => {
    const proxy = await BrokerProxy.start(server.port);
    try {
      await body(server, proxy);
    } finally {
      await proxy.stop();
    }
  });
}
