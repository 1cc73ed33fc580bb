import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type RelayAudience, relayCases } from "../../src/relay/conformance.ts";
import { createNatsRelay } from "../../src/relay/nats.ts";
import { BrokerProxy } from "../support/broker_proxy.ts";
import { NATS, NatsServer } from "../support/nats.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";

let server: Promise<NatsServer> | undefined;
let audiences = 0;

const cases = relayCases({
  hooks: ["interrupt"],
  makeAudience: async () => await makeAudience(await (server ??= NatsServer.start())),
});

for (const { name, run } of cases) {
  test(`NATS: ${name}`, run, { needs: [NATS], foreignTimers: true });
}

test("NATS: the server of the suite ends", async () => {
  await (await server)?.stop();
}, { needs: [NATS], foreignTimers: true });

/** Pods with a connection each, through a proxy of their own. */
async function makeAudience({ address }: NatsServer): Promise<RelayAudience> {
  const subject = `audience.${++audiences}`;
  const proxy = await BrokerProxy.start(Number(address.split(":")[1]));
  const connections: NatsConnection[] = [];
  return {
    async connect() {
      const connection = await connect({
        servers: `127.0.0.1:${proxy.port}`,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 20,
        reconnectJitter: 0,
      });
      connections.push(connection);
      return createNatsRelay({ connection }, { subject });
    },
    async interrupt() {
      proxy.cut();
      // The client drops what it knows of the server when it begins to look for it again.
      const away = ({ info }: NatsConnection): boolean => info === undefined;
      await eventually(() => connections.every(away), { what: "the pods to be cut off" });
    },
    restore() {
      proxy.mend();
      return Promise.resolve();
    },
    async dispose() {
      await Promise.all(connections.map((connection) => connection.close()));
      await proxy.stop();
    },
  };
}
