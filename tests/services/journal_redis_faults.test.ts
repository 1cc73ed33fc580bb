/**
 * The journal in Redis when the server is killed, paused, full, away or tampered with.
 *
 * @module
 */
import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { AppendUnknownError, JournalEpochError, JournalError } from "../../src/errors/journal.ts";
import type { Appended, Journal, JournalEntry, JournalEvent } from "../../src/journal/journal.ts";
import { openRedisJournal, type RedisJournalOptions } from "../../src/journal/redis.ts";
import { eventually } from "../support/poll.ts";
import { DURABLE, onRedis, type RedisServer } from "../support/redis.ts";

const NAME = "faults";
const ROOT = `tidemark:{${NAME}}:`;

async function opened(
  server: RedisServer,
  options: Partial<RedisJournalOptions> = {},
): Promise<Journal> {
  return await openRedisJournal(server.client(), { name: NAME, ...options });
}

function makeEvent(n: number | string, fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic: "t", name: "step", data: `event ${n}`, at: Date.now(), ...fields };
}

async function readAll(journal: Journal): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (let after = 0;;) {
    const page = await journal.read({ after, topics: null, limit: 1000 });
    entries.push(...page.entries);
    if (page.through >= page.head) return entries;
    after = page.through;
  }
}

async function dataOf(journal: Journal): Promise<string[]> {
  return (await readAll(journal)).map(({ data }) => data);
}

/** Expects a rejection with a fault. */
async function faults(promise: Promise<unknown>, fault: string): Promise<JournalError> {
  const error = await assertRejects(() => promise, JournalError);
  assertEquals(error.fault, fault, error.message);
  return error;
}

/** Appends until it is known that the event is stored: repeats what is unknown under its id. */
async function persist(journal: Journal, event: JournalEvent): Promise<Appended> {
  let id = event.id;
  return await eventually(async () => {
    try {
      return await journal.append(id === undefined ? event : { ...event, id });
    } catch (error) {
      if (error instanceof AppendUnknownError) id = error.id;
      else if (!(error instanceof JournalError)) throw error;
      return undefined;
    }
  }, { what: `the append of ${event.data}`, timeoutMs: 20_000 });
}

for (
  const [what, options] of [
    ["sends again what it had sent", {}],
    ["gives up what it had sent", { autoResendUnfulfilledCommands: false }],
    ["queues nothing", { enableOfflineQueue: false, maxRetriesPerRequest: 0 }],
  ] as const
) {
  onRedis(
    `a server that is killed while many append loses nothing that was acknowledged, with a client that ${what}`,
    async (server) => {
      const clients = [server.client(options), server.client(options)];
      for (const client of clients) await eventually(() => client.ping(), { what: "the client" });
      const journals = await Promise.all(
        clients.map((client) => openRedisJournal(client, { name: NAME })),
      );
      const stored = new Map<number, string>();
      let done = false;
      const writers = journals.flatMap((journal, j) =>
        [1, 2, 3].map(async (w) => {
          for (let n = 0; !done; n++) {
            const event = makeEvent(`${j}.${w}.${n}`);
            const { offset } = await persist(journal, event);
            assert(!stored.has(offset), `the offset ${offset} was given twice`);
            stored.set(offset, event.data);
          }
        })
      );
      for (let round = 1; round <= 3; round++) {
        const wanted = round * 200;
        await eventually(() => stored.size >= wanted, { what: `${wanted} appends` });
        await server.stop("SIGKILL");
        await server.start(DURABLE);
      }
      const wanted = stored.size + 100;
      await eventually(() => stored.size >= wanted, { what: "appends after the last restart" });
      done = true;
      await Promise.all(writers);
      const [reader] = journals;
      assert(reader !== undefined);
      const expected = [...stored].sort(([a], [b]) => a - b);
      assertEquals((await readAll(reader)).map(({ offset, data }) => [offset, data]), expected);
      await Promise.all(journals.map((journal) => journal.close()));
    },
    DURABLE,
  );
}

onRedis(
  "a paused server makes what was sent unknown and what was not sent unavailable, in time; both can be repeated",
  async (server) => {
    const journal = await opened(server, { appendTimeoutMs: 400, readTimeoutMs: 300 });
    await journal.append(makeEvent(0));
    server.signal("SIGSTOP");
    const begun = performance.now();
    const sent = journal.append(makeEvent(1));
    await Promise.resolve();
    await Promise.resolve();
    const waiting = journal.append(makeEvent(2));
    const [unknown] = await Promise.all([
      assertRejects(() => sent, AppendUnknownError),
      faults(waiting, "unavailable"),
    ]);
    assertLess(performance.now() - begun, 1500);
    await faults(journal.window(), "unavailable");
    server.signal("SIGCONT");
    const again = await persist(journal, makeEvent(1, { id: unknown.id }));
    assertEquals(await journal.append(makeEvent(1, { id: unknown.id })), again);
    await persist(journal, makeEvent(3));
    assertEquals(await dataOf(journal), ["event 0", "event 1", "event 3"]);
    await journal.close();
  },
);

onRedis(
  "an append while the server is away is refused at once, and not stored when it is back",
  async (server) => {
    const client = server.client();
    const journal = await openRedisJournal(client, { name: NAME });
    await journal.append(makeEvent(0));
    await server.stop("SIGTERM");
    await eventually(() => client.status !== "ready", { what: "the client to notice" });
    const begun = performance.now();
    await faults(journal.append(makeEvent(1)), "unavailable");
    await faults(journal.read({ after: 0, topics: null, limit: 1 }), "unavailable");
    assertLess(performance.now() - begun, 1000);
    await server.start(DURABLE);
    await persist(journal, makeEvent(2));
    assertEquals(await dataOf(journal), ["event 0", "event 2"]);
    await journal.close();
  },
  DURABLE,
);

onRedis("appends keep their order when the server forgets its scripts", async (server) => {
  const admin = server.client();
  const journal = await opened(server);
  const expected: string[] = [];
  const appends: Promise<Appended>[] = [];
  for (let n = 0; n < 400; n++) {
    if (n % 20 === 0) void admin.call("SCRIPT", "FLUSH");
    appends.push(journal.append(makeEvent(n)));
    expected.push(`event ${n}`);
    if (n % 7 === 0) await Promise.resolve();
    if (n % 50 === 0) await admin.ping();
  }
  const offsets = (await Promise.all(appends)).map(({ offset }) => offset);
  assertEquals(offsets, offsets.toSorted((a, b) => a - b));
  assertEquals(await dataOf(journal), expected);
  await journal.close();
});

/** A journal of ten entries, all of which a tail has given, whose server is back at the first five. */
async function followedBeyondACopy(server: RedisServer): Promise<{
  readonly journal: Journal;
  readonly epoch: string;
  readonly tail: AsyncIterator<readonly JournalEntry[]>;
}> {
  const journal = await opened(server);
  const { epoch } = await journal.window();
  for (let n = 1; n <= 5; n++) await journal.append(makeEvent(n));
  const copy = await server.snapshot("older.rdb");
  for (let n = 6; n <= 10; n++) await journal.append(makeEvent(n));
  const { signal } = new AbortController();
  const tail = journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]();
  const batch = await tail.next();
  assertEquals((batch.value ?? []).length, 10);
  await server.restore(copy);
  return { journal, epoch, tail };
}

onRedis(
  "a tail is told when an older copy was put back and appended to beyond where it stands",
  async (server) => {
    const { journal, epoch, tail } = await followedBeyondACopy(server);
    // Somebody who knows nothing of the lost entries.
    const fresh = await opened(server);
    for (let n = 11; n <= 20; n++) assertEquals((await fresh.append(makeEvent(n))).epoch, epoch);
    await eventually(() => journal.window(), { what: "the client to be back" });
    const error = await assertRejects(() => tail.next(), JournalEpochError);
    assertEquals(error.expected, { epoch, offset: 10 });
    assert(error.found.epoch !== epoch);
    assertEquals((await fresh.window()).epoch, error.found.epoch);
    await Promise.all([journal.close(), fresh.close()]);
  },
);

onRedis(
  "a tail that finds a lower head ends the epoch itself, before its numbers are given again",
  async (server) => {
    const { journal, epoch, tail } = await followedBeyondACopy(server);
    const fresh = await opened(server);
    await eventually(() => journal.window(), { what: "the client to be back" });
    const error = await assertRejects(() => tail.next(), JournalEpochError);
    assert(error.found.epoch !== epoch);
    const { epoch: now, floor, head } = await fresh.window();
    assertEquals({ epoch: now, floor, head }, { epoch: error.found.epoch, floor: 6, head: 5 });
    await Promise.all([journal.close(), fresh.close()]);
  },
);

onRedis(
  "the first append of who knows a higher head than the store's begins another epoch",
  async (server) => {
    const journal = await opened(server);
    const { epoch } = await journal.window();
    await journal.append(makeEvent(1, { id: "one" }));
    const copy = await server.snapshot("older.rdb");
    await journal.append(makeEvent(2, { id: "two" }));
    await server.restore(copy);
    const again = await persist(journal, makeEvent(3, { id: "three" }));
    assert(again.epoch !== epoch);
    // What the old epoch had is another event now.
    const first = await persist(journal, makeEvent(1, { id: "one" }));
    assertEquals(first, { epoch: again.epoch, offset: again.offset + 1 });
    assertEquals(await dataOf(journal), ["event 3", "event 1"]);
    await journal.close();
  },
);

onRedis("a full server refuses appends and loses none; with room it goes on", async (server) => {
  const admin = server.client();
  const journal = await opened(server);
  await journal.append(makeEvent(1));
  await admin.call("CONFIG", "SET", "maxmemory", "1mb");
  const [one, two] = [journal.append(makeEvent(2)), journal.append(makeEvent(3))];
  await Promise.all([faults(one, "full"), faults(two, "full")]);
  await admin.call("CONFIG", "SET", "maxmemory", "0");
  await journal.append(makeEvent(4));
  assertEquals(await dataOf(journal), ["event 1", "event 4"]);
  await journal.close();
});

const TAMPERED: readonly (readonly [what: string, commands: readonly string[][]])[] = [
  ["its counter is of another type", [["SET", `${ROOT}meta`, "1"]]],
  ["its log is of another type", [["SET", `${ROOT}log`, "1"]]],
  ["its ids are of another type", [["SET", `${ROOT}ids0`, "1"], ["SET", `${ROOT}ids1`, "1"]]],
  ["its counter was deleted", [["DEL", `${ROOT}meta`]]],
  [
    "its counter was deleted, and its log emptied",
    [["XTRIM", `${ROOT}log`, "MAXLEN", "0"], ["DEL", `${ROOT}meta`]],
  ],
  ["its counter has lost a field", [["HDEL", `${ROOT}meta`, "bytes"]]],
  ["an entry was deleted from the middle", [["XDEL", `${ROOT}log`, "3-0"]]],
  ["an entry was added by hand", [["XADD", `${ROOT}log`, "9-0", "a", "b"]]],
];
for (const [what, commands] of TAMPERED) {
  onRedis(`a journal is damaged when ${what}, and takes nothing more`, async (server) => {
    const admin = server.client();
    const journal = await opened(server);
    for (let n = 1; n <= 5; n++) await journal.append(makeEvent(n));
    for (const [command = "", ...args] of commands) await admin.call(command, ...args);
    await faults(journal.append(makeEvent(6)), "damaged");
    // The ids are nothing that a reader needs.
    if (!what.includes("ids")) {
      await faults(journal.read({ after: 0, topics: null, limit: 10 }), "damaged");
      await faults(journal.window(), "damaged");
      await faults(opened(server), "damaged");
    }
    await journal.close();
  });
}

onRedis(
  "a topic whose index is of another type is refused alone, and takes no offset",
  async (server) => {
    const admin = server.client();
    const journal = await opened(server);
    await admin.call("SET", `${ROOT}t:bad`, "1");
    const [one, bad, two] = [
      journal.append(makeEvent(1)),
      journal.append(makeEvent(2, { topic: "bad" })),
      journal.append(makeEvent(3)),
    ];
    await faults(bad, "damaged");
    assertEquals([(await one).offset, (await two).offset], [1, 2]);
    await faults(journal.read({ after: 0, topics: ["bad"], limit: 1 }), "damaged");
    assertEquals(await dataOf(journal), ["event 1", "event 3"]);
    await journal.close();
  },
);

onRedis(
  "an entry that the log does not take leaves nothing in the index",
  async (server) => {
    const admin = server.client();
    const journal = await opened(server);
    await journal.append(makeEvent(1));
    // Its ids only grow: it takes nothing up to the highest that it ever had.
    await admin.call("XADD", `${ROOT}log`, "9-0", "a", "b");
    await admin.call("XDEL", `${ROOT}log`, "9-0");
    await faults(journal.append(makeEvent(2)), "damaged");
    assertEquals(await admin.zrange(`${ROOT}t:t`, 0, -1), ["1"]);
    assertEquals(await dataOf(journal), ["event 1"]);
    await journal.close();
  },
);
