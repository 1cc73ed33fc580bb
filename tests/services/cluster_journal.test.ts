/**
 * Three pods of three runtimes that share a journal and a relay on one broker.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { BROKER_PROGRAMS, type BrokerName, brokerSpec } from "../support/cluster_broker.ts";
import { checkDelivery } from "../support/cluster_delivery.ts";
import { startCluster } from "../support/cluster_pods.ts";
import { Roaming } from "../support/cluster_roamers.ts";
import { test } from "../support/test.ts";

for (const name of ["nats", "redis"] as const) trial(name);

function trial(name: BrokerName): void {
  test(
    `three pods over ${name}, journal and relay: a client that is moved misses nothing of what it added`,
    async () => {
      const cluster = await startCluster(name, (port) => ({
        journal: brokerSpec(name, port, "log"),
        // A small ring, so that most who come back read from the journal.
        replayEvents: 64,
      }));
      try {
        // Durable events by the journal, ephemeral ones by the relay: each once.
        const delivery = await checkDelivery(cluster, { events: 40, lanes: 2 });
        console.log(`${name}: ${JSON.stringify(delivery)}`);
        const roaming = new Roaming(cluster);
        const report = await roaming.run();
        console.log(`${name}: ${JSON.stringify(report)}`);
        roaming.checkFrames();
        for (const verdicts of [report.hellos, report.subscriptions]) {
          assertEquals(Object.keys(verdicts).sort(), ["fresh", "resumed"]);
        }
        // The first hello of each, and nothing after it.
        assertEquals(report.causes, { hello: report.hellos.fresh ?? 0 });
        assertEquals(report.liveTwice, 0);
      } finally {
        await cluster.stop();
      }
    },
    { needs: [BROKER_PROGRAMS[name], "node"], foreignTimers: true },
  );
}
