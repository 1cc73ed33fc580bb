/**
 * JetStream for the conformance suite: one server for all of its stores, each a stream of its own.
 *
 * @module
 */
import { headers, type NatsConnection } from "@nats-io/transport-node";
import type { JournalStore, JournalSubject } from "../../src/journal/conformance.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { openJetStreamJournal } from "../../src/journal/nats.ts";
import { askJetStream, type NatsServer } from "../support/nats.ts";

/**
 * The subject of the suite.
 *
 * @param server Gives the server; it is asked for when a case begins.
 */
export function natsSubject(server: () => Promise<NatsServer>): JournalSubject {
  let stores = 0;
  return {
    openers: "many",
    hooks: ["restart", "copy", "empty", "purge", "foreignFormat"],
    schedules: 8,
    makeStore: async () => makeStore(await server(), `store-${++stores}`),
  };
}

async function makeStore(server: NatsServer, name: string): Promise<JournalStore> {
  const connections: NatsConnection[] = [];
  const connect = async (): Promise<NatsConnection> => {
    const connection = await server.connect();
    connections.push(connection);
    return connection;
  };
  // Whoever keeps the store; the journals have connections of their own, as pods have.
  const owner = await connect();
  const deleteStreams = async (): Promise<void> => {
    for (const stream of [name, `KV_${name}_epoch`]) {
      await askJetStream(owner, `STREAM.DELETE.${stream}`).catch(() => {});
    }
  };
  return {
    async open({ retention }): Promise<Journal> {
      return await openJetStreamJournal(
        { connection: await connect(), headers },
        { name, retention, appendTimeoutMs: 2000, requestTimeoutMs: 2000 },
      );
    },
    restart: () => server.restart(),
    async copy() {
      const copy = await server.copy();
      return { restore: () => server.replace(copy) };
    },
    empty: deleteStreams,
    async purge() {
      await askJetStream(owner, `STREAM.PURGE.${name}`, {});
    },
    async foreignFormat() {
      const key = `$KV.${name}_epoch.generation`;
      await owner.request(key, "2 a-form-that-is-not-known", { timeout: 2000 });
    },
    async dispose() {
      await deleteStreams();
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}
