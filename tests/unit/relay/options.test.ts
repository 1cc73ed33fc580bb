import { assertEquals, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { createBroadcastChannelRelay } from "../../../src/relay/broadcast_channel.ts";
import { createMemoryRelay } from "../../../src/relay/memory.ts";
import { createNatsRelay, type NatsConnection } from "../../../src/relay/nats.ts";
import { createRedisRelay, type RedisSubscriber } from "../../../src/relay/redis.ts";
import { test } from "../../support/test.ts";

/** A connection to nothing. */
const connection: NatsConnection = {
  isClosed: () => false,
  publish() {},
  subscribe: () => ({ unsubscribe() {} }),
  flush: () => Promise.resolve(),
  async *status() {},
};

const client = { publish: () => Promise.resolve(1) };

const subscriber: RedisSubscriber = {
  subscribe: () => Promise.resolve(1),
  unsubscribe: () => Promise.resolve(1),
  on() {},
  off() {},
};

test("a subject of NATS is one that can be published to and listened to", () => {
  const long = "x".repeat(255);
  for (const subject of ["a", "a.b", "orders.events.v1", "Ünïcode.ok", "a-b_c/d", long]) {
    createNatsRelay({ connection }, { subject });
  }
  const refused = ["", ".", "a.", ".a", "a..b", "a b", "a.*", ">", "a.>", "a*b", "a\tb", "a\r\nb"];
  for (const subject of [...refused, "a\u0000b", "a\u200eb", "a\u2003b", "\ud800", `${long}x`]) {
    const error = assertThrows(() => createNatsRelay({ connection }, { subject }), ConfigError);
    assertEquals(error.option, "subject", JSON.stringify(subject));
  }
});

test("options that make no sense are refused by name", () => {
  const cases: readonly (readonly [option: string, make: () => unknown])[] = [
    [
      "maxPendingBytes",
      () => createNatsRelay({ connection }, { subject: "a", maxPendingBytes: 0 }),
    ],
    ["channel", () => createRedisRelay(client, { channel: "", subscriber })],
    ["channel", () => createRedisRelay(client, { channel: "\udc00", subscriber })],
    ["subscriber", () => createRedisRelay(client, { channel: "a" })],
    ["maxBytes", () => createRedisRelay(client, { channel: "a", subscriber, maxBytes: 0 })],
    ["maxBytes", () => createRedisRelay(client, { channel: "a", subscriber, maxBytes: 2 ** 30 })],
    [
      "maxPendingBytes",
      () => createRedisRelay(client, { channel: "a", subscriber, maxPendingBytes: NaN }),
    ],
    ["maxBytes", () => createMemoryRelay({ maxBytes: 0 })],
    ["maxBytes", () => createMemoryRelay({ maxBytes: NaN })],
    ["name", () => createBroadcastChannelRelay("")],
  ];
  for (const [option, make] of cases) assertEquals(assertThrows(make, ConfigError).option, option);
});
