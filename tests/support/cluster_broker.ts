/**
 * The brokers that join pods, each started on a port of its own, killed, and started again there.
 *
 * @module
 */
import { NATS, NatsServer } from "./nats.ts";
import { REDIS_SERVER, type RedisServer, startRedis, VOLATILE } from "./redis.ts";

/** The names of the brokers. */
export type BrokerName = "nats" | "redis";

/** A broker that runs. */
export interface ClusterBroker {
  /** Which. */
  readonly name: BrokerName;
  /** Where it listens, on 127.0.0.1; the same after a restart. */
  readonly port: number;
  /** Ends it without a word; its memory is gone. */
  kill(): Promise<void>;
  /** Starts it again, on its port. */
  revive(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

/** What each of them needs on the `PATH`. */
export const BROKER_PROGRAMS: Readonly<Record<BrokerName, string>> = {
  nats: NATS,
  redis: REDIS_SERVER,
};

/** Starts one. */
export async function startBroker(name: BrokerName): Promise<ClusterBroker> {
  return name === "nats" ? natsBroker(await NatsServer.start()) : redisBroker(await startRedis());
}

/**
 * What a fixture is told of a broker.
 *
 * @param name Which broker.
 * @param port Where it is reached.
 * @param room What the relay, the journal or the tickets are called on it.
 * @returns A value of `--relay`, `--journal` or `--tickets`.
 */
export function brokerSpec(name: BrokerName, port: number, room: string): string {
  return `${name}:${name}://127.0.0.1:${port}/${room}`;
}

function natsBroker(server: NatsServer): ClusterBroker {
  return {
    name: "nats",
    port: Number(server.address.split(":")[1]),
    kill: () => server.down("SIGKILL"),
    revive: () => server.up(),
    stop: () => server.stop(),
  };
}

function redisBroker(server: RedisServer): ClusterBroker {
  return {
    name: "redis",
    port: server.port,
    kill: () => server.stop("SIGKILL"),
    revive: () => server.start(VOLATILE),
    stop: () => server.dispose(),
  };
}
