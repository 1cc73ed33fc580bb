/**
 * Pods whose broker is late with its confirmation, or never sends it.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertMatch } from "@std/assert";
import { brokerSpec, type ClusterBroker } from "./cluster_broker.ts";
import { type Cluster, nth, post, ROOM, runtimeOf } from "./cluster_pods.ts";
import { ClusterProxy } from "./cluster_proxy.ts";
import { type RunningFixture, startFixture } from "./fixture.ts";
import { eventually } from "./poll.ts";
import type { RuntimeName } from "./runtimes.ts";
import { openStream } from "./stream.ts";

/** How late the broker is. */
const LATE_MS = 600;
/** What a pod waits for its broker. */
const READY_MS = 10_000;

/** Starts a pod that reaches its broker through a proxy. */
function startBehind(
  { name }: ClusterBroker,
  { port }: ClusterProxy,
  runtime: RuntimeName,
  origin: string,
): Promise<RunningFixture> {
  return startFixture(runtimeOf(runtime), { relay: brokerSpec(name, port, ROOM), origin });
}

/**
 * Holds the confirmation back, and checks that the port is opened only after it, and that nothing is
 * missed from then on.
 *
 * @param cluster The cluster that the pod joins.
 * @param runtime Where the pod runs.
 * @returns How long after the broker's word the port was open, in milliseconds.
 */
export async function checkLateBroker(
  { broker, pods }: Cluster,
  runtime: RuntimeName,
): Promise<Record<string, number>> {
  const proxy = await ClusterProxy.start(broker);
  proxy.judge = ({ kind }) => kind === "confirmation" ? "hold" : "pass";
  let listensAt = Infinity;
  const starting = startBehind(broker, proxy, runtime, "pod-4").then(async (pod) => {
    listensAt = performance.now();
    const sibling = nth(pods, 0);
    // At once: before the first client can be there.
    await sibling.publish({ topic: "early", name: "n", data: "before the first client" });
    return pod;
  });
  try {
    await Promise.race([
      starting,
      eventually(() => proxy.held > 0, { what: "the confirmation", timeoutMs: 20_000 }),
    ]);
    // The broker's delay, not a wait for anything.
    await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    assert(proxy.held > 0, "the broker has not confirmed");
    const confirmedAt = performance.now();
    proxy.release();
    const pod = await starting;
    assertGreater(listensAt, confirmedAt, "it listens only after that");
    const sibling = nth(pods, 1);
    const stream = await openStream(`${pod.url}/events?topic=live`);
    const { connection } = await stream.hello();
    await sibling.publish({ topic: "live", name: "n", data: "live" });
    assertEquals((await stream.events(1)).map(({ data }) => data), ["live"]);
    // What came between the port's opening and the client is there as well.
    const call = { connection, topic: "early", history: true };
    assertEquals((await post(pod, "/subscribe", call)).answer.head.status, 200);
    const early = await stream.until(
      "the history",
      ({ blocks }) =>
        blocks.find((block) => block.kind === "event" && block.data === "before the first client"),
    );
    assert(early !== undefined);
    await stream.close();
    return { openMs: Math.round(listensAt - confirmedAt) };
  } finally {
    proxy.release();
    await starting.then((pod) => pod.stop(), () => {});
    await proxy.stop();
  }
}

/** A pod that is waiting for its broker, and gives up some time. */
export interface Hopeless {
  /** Checks that it has given up, and what it said. Returns after how many milliseconds. */
  check(): Promise<Record<string, number>>;
}

/**
 * Starts a pod whose broker never confirms.
 *
 * @param broker The broker.
 * @param runtime Where the pod runs.
 */
export function startHopeless(broker: ClusterBroker, runtime: RuntimeName): Hopeless {
  const run = async (): Promise<{ readonly said: string; readonly tookMs: number }> => {
    const proxy = await ClusterProxy.start(broker);
    const subscribed = Promise.withResolvers<number>();
    proxy.judge = ({ kind }) => {
      if (kind !== "confirmation") return "pass";
      subscribed.resolve(performance.now());
      // A broker that sends nothing of what comes after its word before it.
      return "hold";
    };
    try {
      const pod = await startBehind(broker, proxy, runtime, "pod-5");
      await pod.stop();
      return { said: "LISTEN", tookMs: 0 };
    } catch (error) {
      const tookMs = performance.now() - await subscribed.promise;
      return { said: error instanceof Error ? error.message : String(error), tookMs };
    } finally {
      await proxy.stop();
    }
  };
  const ran = run();
  return {
    async check() {
      const { said, tookMs } = await ran;
      assertMatch(said, /ended with code 2 before it listened/);
      assertMatch(
        said,
        /^Cannot use the relay: the broker has not confirmed the subscription within 10000 ms$/m,
      );
      assertGreater(tookMs, READY_MS - 200);
      return { gaveUpMs: Math.round(tookMs) };
    },
  };
}
