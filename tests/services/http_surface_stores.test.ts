/**
 * Topics from hell in the stores and on the brokers: a topic is a value there, or the literal end of a key,
 * and never a key of another kind, a channel, a wildcard, a pattern or a piece of a statement.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { headers } from "@nats-io/transport-node";
import { publishHandler } from "../../src/cluster/handlers/publish.ts";
import { joinRelay } from "../../src/cluster/join_relay.ts";
import { openHub } from "../../src/cluster/open_hub.ts";
import { createHub } from "../../src/hub/hub.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { openJetStreamJournal } from "../../src/journal/nats.ts";
import { openRedisJournal } from "../../src/journal/redis.ts";
import { openSqliteJournal } from "../../src/journal/sqlite.ts";
import { createNatsRelay } from "../../src/relay/nats.ts";
import { createRedisRelay } from "../../src/relay/redis.ts";
import type { Relay } from "../../src/relay/relay.ts";
import { openDatabase } from "../../src/testing/fixture/journals.ts";
import { createRedisTicketStore } from "../../src/tickets/redis.ts";
import { createTickets } from "../../src/tickets/tickets.ts";
import { withFolder } from "../support/journal_file.ts";
import { askJetStream, NATS, NatsServer } from "../support/nats.ts";
import { eventually } from "../support/poll.ts";
import { onRedis } from "../support/redis.ts";
import { test } from "../support/test.ts";
import { Client, Lines } from "../unit/hub/harness.ts";
import { KEY, KEYS, request } from "../unit/service/world.ts";
import { NO_TOPICS, TOPICS } from "./http_surface_topics.ts";

const PLAIN = "a";
const BEARER = { Authorization: `Bearer ${KEY}` };

/** Publishes on every topic there is, and tries to on every one that is none; each event names its own. */
async function publishAll(hub: Parameters<typeof publishHandler>[0]["hub"]): Promise<void> {
  const publish = publishHandler({ hub, access: KEYS, logger: new Lines() });
  for (const topic of [...TOPICS, ...NO_TOPICS]) {
    const body = { topic, name: topic.slice(0, 20).toWellFormed(), data: JSON.stringify(topic) };
    const { status } = await publish(request("/", { body, headers: BEARER }));
    const isKnown = TOPICS.includes(topic) && !body.name.startsWith("sse:");
    assertEquals(status, isKnown ? 200 : 400, body.data);
  }
}

/** What was published. */
const PUBLISHED = TOPICS.filter((topic) => !topic.startsWith("sse:"));

/** Each topic has its own event and no other, read alone, counted, and among all. */
async function keepsThemApart(journal: Journal): Promise<void> {
  const hub = await openHub({ journal, logger: new Lines() });
  await publishAll(hub);
  for (const topic of PUBLISHED) {
    const query = { after: 0, topics: [topic] };
    const { entries } = await journal.read({ ...query, limit: 10 });
    const expected = [[topic, JSON.stringify(topic)]];
    assertEquals(entries.map((entry) => [entry.topic, entry.data]), expected, topic);
    assertEquals(await journal.count(query, 10), 1, topic);
  }
  const { entries } = await journal.read({ after: 0, topics: null, limit: 1000 });
  assertEquals(entries.map(({ topic }) => topic), PUBLISHED);
  await hub.shutdown();
}

/** A client of another pod hears each topic that it listens to, and it alone. */
async function relaysThemApart(one: Relay, other: Relay): Promise<void> {
  const [from, to] = [createHub({ logger: new Lines() }), createHub({ logger: new Lines() })];
  const joined = [
    joinRelay(from, one, { origin: "one" }),
    joinRelay(to, other, { origin: "other" }),
  ];
  await Promise.all(joined.map(({ ready }) => ready));
  const clients = PUBLISHED.map((topic) => new Client(to, { topics: [topic] }));
  await publishAll(from);
  from.publish({ data: "the end" });
  for (const [i, topic] of PUBLISHED.entries()) {
    const heard = (): readonly string[] => clients[i]?.data ?? [];
    await eventually(() => heard().includes("the end"), { what: `the end on ${topic}` });
    assertEquals(heard(), [JSON.stringify(topic), "the end"], topic);
  }
  for (const client of clients) client.sink.destroy();
  await Promise.all(joined.map((membership) => membership.leave()));
  await Promise.all([one.close(), other.close()]);
}

test("SQLite keeps topics from hell apart", () =>
  withFolder(async (folder) => {
    const database = await openDatabase(`${folder}/journal.db`);
    const journal = await openSqliteJournal(database);
    await keepsThemApart(journal);
    await journal.close();
    database.close();
  }));

onRedis("a topic is the end of a key, and no channel and no pattern", async (server) => {
  const client = server.client();
  const journal = await openRedisJournal(client, { name: PLAIN });
  await keepsThemApart(journal);
  const root = `tidemark:{${PLAIN}}:`;
  const keys = ["ids1", "log", "meta", ...PUBLISHED.map((topic) => `t:${topic}`)];
  assertEquals((await client.keys("*")).sort(), keys.map((key) => root + key).sort());
  await journal.close();

  const tickets = createTickets({ store: createRedisTicketStore(client) });
  const before = await client.keys("*");
  const ticket = await tickets.mint({ user: "*", topics: PUBLISHED });
  const [key = ""] = (await client.keys("*")).filter((one) => !before.includes(one));
  assertMatch(key, /^tidemark:[A-Za-z0-9:{}_-]+$/);
  assertEquals((await tickets.redeem(ticket))?.claims.topics, PUBLISHED);

  const channels = new Set<string>();
  const spy = server.client();
  await spy.psubscribe("*");
  spy.on("pmessage", (_pattern: string, channel: string) => channels.add(channel));
  const relay = (): Relay => createRedisRelay(server.client(), { channel: PLAIN });
  await relaysThemApart(relay(), relay());
  assertEquals([...channels], [PLAIN]);
});

test("NATS: a topic is one token of a subject, and no wildcard", async () => {
  const server = await NatsServer.start();
  try {
    const connection = await server.connect();
    const journal = await openJetStreamJournal({ connection, headers }, { name: PLAIN });
    await keepsThemApart(journal);
    const { state } = await askJetStream<{ state: { subjects: Record<string, number> } }>(
      connection,
      `STREAM.INFO.${PLAIN}`,
      { subjects_filter: ">" },
    );
    const stored = Object.keys(state.subjects);
    assertEquals(stored.length, PUBLISHED.length);
    for (const subject of stored) assertMatch(subject, /^[^\s.*>]+\.[^\s.*>]+$/);
    await journal.close();

    const subjects = new Set<string>();
    (await server.connect()).subscribe(">", {
      callback: (_error, { subject }) => void subjects.add(subject),
    });
    const relay = async (): Promise<Relay> =>
      createNatsRelay({ connection: await server.connect() }, { subject: PLAIN });
    await relaysThemApart(await relay(), await relay());
    assertEquals([...subjects].filter((subject) => !subject.startsWith("_INBOX.")), [PLAIN]);
  } finally {
    await server.stop();
  }
}, { needs: [NATS], foreignTimers: true });
