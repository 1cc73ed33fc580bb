/**
 * What the tests of the JetStream journal work with: a server of their own, and journals on it.
 *
 * @module
 */
import { headers } from "@nats-io/transport-node";
import type { Journal, JournalEntry, JournalEvent } from "../../src/journal/journal.ts";
import { type JetStreamJournalOptions, openJetStreamJournal } from "../../src/journal/nats.ts";
import { type NatsConnecting, NatsServer } from "../support/nats.ts";

/** What a test works with. */
export interface NatsBench {
  /** The server. */
  readonly server: NatsServer;
  /** Opens a journal on a connection of its own, as a pod does. It is closed after the test. */
  open(options: JetStreamJournalOptions, connecting?: NatsConnecting): Promise<Journal>;
}

/**
 * Runs a test with a server of its own.
 *
 * @param body The test.
 */
export async function withNats(body: (bench: NatsBench) => Promise<void>): Promise<void> {
  const server = await NatsServer.start();
  const journals: Journal[] = [];
  const open: NatsBench["open"] = async (options, connecting) => {
    const connection = await server.connect(connecting);
    const timeouts = { appendTimeoutMs: 2000, requestTimeoutMs: 2000 };
    const journal = await openJetStreamJournal({ connection, headers }, {
      ...timeouts,
      ...options,
    });
    journals.push(journal);
    return journal;
  };
  try {
    await body({ server, open });
  } finally {
    server.resume();
    await Promise.all(journals.map((journal) => journal.close()));
    await server.stop();
  }
}

/** An event that differs from every other with another number. */
export function event(n: number, topic = "", fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic, name: "step", data: `event ${n}`, at: n, ...fields };
}

/** The data of some entries. */
export function dataOf(entries: readonly JournalEntry[]): readonly string[] {
  return entries.map(({ data }) => data);
}

/** Everything that a journal holds of some topics, page by page. */
export async function readAll(
  journal: Journal,
  topics: readonly string[] | null = null,
  limit = 100,
): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (let after = 0;;) {
    const page = await journal.read({ after, topics, limit });
    entries.push(...page.entries);
    if (page.through >= page.head) return entries;
    after = page.through;
  }
}
