/**
 * What three pods of three runtimes over one broker must do, whichever the broker is.
 *
 * @module
 */
import { assertEquals, assertGreater } from "@std/assert";
import { BROKER_PROGRAMS, type BrokerName } from "./cluster_broker.ts";
import { checkStranger, checkWrongPod } from "./cluster_commands.ts";
import { checkDelivery } from "./cluster_delivery.ts";
import { checkDroppedInbound, checkDroppedLast, checkOutage } from "./cluster_losses.ts";
import { checkLateBroker, type Hopeless, startHopeless } from "./cluster_ready.ts";
import { type Cluster, startCluster } from "./cluster_pods.ts";
import { Roaming } from "./cluster_roamers.ts";
import type { RuntimeName } from "./runtimes.ts";
import { test } from "./test.ts";

/** Where the pods run whose broker is late, and never there. */
const STARTS: Readonly<Record<BrokerName, readonly [late: RuntimeName, never: RuntimeName]>> = {
  nats: ["bun", "deno"],
  redis: ["deno", "node-direct"],
};

/**
 * Registers the tests.
 *
 * @param name Over which broker.
 */
export function testCluster(name: BrokerName): void {
  let cluster: Promise<Cluster> | undefined;
  let hopeless: Hopeless | undefined;
  const [late, never] = STARTS[name];
  const onCluster = (title: string, body: (cluster: Cluster) => Promise<unknown>): void =>
    test(`three pods over ${name}: ${title}`, async () => {
      const started = await (cluster ??= startCluster(name));
      // It takes ten seconds, in which others are tested.
      hopeless ??= startHopeless(started.broker, never);
      try {
        const report = await body(started);
        if (report !== undefined) console.log(`${name}: ${JSON.stringify(report)}`);
      } catch (error) {
        if (error instanceof Error) {
          error.message += started.pods.map(({ runtime, log }) => `\n[${runtime.name}]\n${log()}`)
            .join("");
        }
        throw error;
      }
    }, { needs: [BROKER_PROGRAMS[name], "node"], foreignTimers: true });

  onCluster(
    "an event from any reaches every client of its topic once, and none comes back",
    (started) => checkDelivery(started, { events: 120, lanes: 1 }),
  );
  onCluster("a subscription that arrives at the wrong pod works", checkWrongPod);
  onCluster("a stranger's connection looks like one that never was, from any pod", checkStranger);
  onCluster(
    "a client that is moved is told the truth of its topics, those that it added too",
    async (started) => {
      const report = await new Roaming(started).run();
      const { hellos, subscriptions, causes, fetched } = report;
      // Who came to another pod was told so, of the stream and of the topic; who came back was resumed.
      for (const verdicts of [hellos, subscriptions]) {
        assertEquals(Object.keys(verdicts).sort(), ["epoch_changed", "fresh", "resumed"]);
      }
      assertGreater(causes.topic_gap ?? 0, 0);
      assertGreater(fetched, 0);
      return report;
    },
  );
  onCluster(
    "a pod opens its port when its broker has confirmed, and misses nothing then",
    (started) => checkLateBroker(started, late),
  );
  onCluster(
    "envelopes that are dropped on their way to one pod are told there",
    checkDroppedInbound,
  );
  onCluster("the last word of a pod that is lost is told by its next beat", checkDroppedLast);
  onCluster(
    "a pod whose broker never confirms says so, and ends",
    async () => await hopeless?.check(),
  );
  onCluster(
    "the broker dies and comes back: local delivery goes on, the rest is told",
    checkOutage,
  );

  test(`three pods over ${name}: they end`, async () => {
    await (await cluster)?.stop();
  }, { needs: [BROKER_PROGRAMS[name], "node"], foreignTimers: true });
}
