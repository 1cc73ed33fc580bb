/**
 * Three pods of three runtimes over one broker, the third behind a proxy.
 *
 * @module
 */
import type { FixtureOptions } from "../../src/testing/fixture/options.ts";
import { fetchRaw, type WholeResponse } from "../suites/lib/exchange.ts";
import { type BrokerName, brokerSpec, type ClusterBroker, startBroker } from "./cluster_broker.ts";
import { ClusterProxy } from "./cluster_proxy.ts";
import { type RunningFixture, startFixture } from "./fixture.ts";
import { type Runtime, type RuntimeName, RUNTIMES } from "./runtimes.ts";

/** Where pod 1, 2 and 3 run. */
export const POD_RUNTIMES: readonly RuntimeName[] = ["deno", "bun", "node-direct"];

/** What the relay is called on its broker. */
export const ROOM = "room";

/** Three pods, and what joins them. */
export interface Cluster {
  /** The broker. */
  readonly broker: ClusterBroker;
  /** What the third pod reaches it through. */
  readonly proxy: ClusterProxy;
  /** The pods. */
  readonly pods: readonly RunningFixture[];
  /** Ends all of it. */
  stop(): Promise<void>;
}

/**
 * Starts three pods.
 *
 * @param name Over which broker.
 * @param flags What else the fixtures are told, given the broker's port.
 */
export async function startCluster(
  name: BrokerName,
  flags: (port: number) => FixtureOptions = () => ({}),
): Promise<Cluster> {
  const broker = await startBroker(name);
  const proxy = await ClusterProxy.start(broker);
  const started = await Promise.allSettled(
    POD_RUNTIMES.map((runtime, index) => {
      const port = index === 2 ? proxy.port : broker.port;
      return startFixture(runtimeOf(runtime), {
        ...flags(port),
        relay: brokerSpec(name, port, ROOM),
        origin: `pod-${index + 1}`,
      });
    }),
  );
  const pods = started.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  const stop = async (): Promise<void> => {
    await Promise.all(pods.map((pod) => pod.stop()));
    await proxy.stop();
    await broker.stop();
  };
  const failed = started.find((one) => one.status === "rejected");
  if (failed === undefined) return { broker, proxy, pods, stop };
  await stop();
  throw failed.reason;
}

/** A row of the table of runtimes. */
export function runtimeOf(name: RuntimeName): Runtime {
  const found = RUNTIMES.find((runtime) => runtime.name === name);
  if (found === undefined) throw new Error(`There is no runtime ${name}`);
  return found;
}

/** One of a list that is not empty: the n-th, and the first again after the last. */
export function nth<T>(list: readonly T[], index: number): T {
  const found = list[index % list.length];
  if (found === undefined) throw new Error("The list is empty");
  return found;
}

/** An answer, and how long it took in milliseconds. */
export interface TimedAnswer {
  readonly answer: WholeResponse;
  readonly tookMs: number;
}

/** Posts JSON over a socket of its own. */
export async function post(
  pod: RunningFixture,
  path: string,
  body: unknown,
): Promise<TimedAnswer> {
  const asked = performance.now();
  const answer = await fetchRaw(`${pod.url}${path}`, {
    method: "POST",
    headers: [["Content-Type", "application/json"]],
    body: JSON.stringify(body),
  });
  return { answer, tookMs: performance.now() - asked };
}

/** What of an answer a client could tell one refusal from another by. */
export function looksOf({ answer }: TimedAnswer): unknown {
  const headers = [...answer.head.headers].filter(([name]) => name.toLowerCase() !== "date").sort();
  return { status: answer.head.status, headers, body: answer.text };
}

/** The middle of some numbers. */
export function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? NaN;
}
