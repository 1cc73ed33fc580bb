/**
 * A hub in a Durable Object whose events outlast the object: over HTTP, in Miniflare and in plain
 * workerd, of both releases.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertMatch, assertNotEquals } from "@std/assert";
import type { EventBlock } from "../suites/lib/blocks.ts";
import { elapse } from "../suites/lib/within.ts";
import { eventually } from "../support/poll.ts";
import type { EventStream } from "../support/stream.ts";
import { test } from "../support/test.ts";
import { OBJECT_HOSTS, ObjectServer } from "./cloudflare_journal_server.ts";

/** Above the 10 s after which workerd drops an object that nobody asks. */
const IDLE_MS = 13_000;
/** A few events of 30 kB below what the tables and their log need for themselves. */
const FILE_BYTES = 300_000;

const TOPICS = ["a", "b", ""] as const;

/** The event with an offset, when they are published in a row from 1 on. */
function made(offset: number): { readonly topic: string; readonly data: string } {
  return { topic: TOPICS[offset % 3] ?? "", data: `event ${offset}\nof ${TOPICS[offset % 3]}` };
}

async function publishMade(server: ObjectServer, hub: string, from: number, to: number) {
  for (let offset = from; offset <= to; offset++) {
    assertEquals(await server.publish(hub, made(offset)), offset);
  }
}

/** The offsets from `from` to `to` that a client of these topics gets. */
function offsetsOf(topics: readonly string[], from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
    .filter((offset) => made(offset).topic === "" || topics.includes(made(offset).topic));
}

/** What came, by offset; the epoch of each must be this one. */
function received(stream: EventStream, epoch: string): (readonly [number, string])[] {
  return stream.durable.map(({ id, data }: EventBlock) => {
    assertEquals(id?.slice(0, 16), epoch);
    return [Number(id?.slice(17)), data] as const;
  });
}

function expected(offsets: readonly number[]): (readonly [number, string])[] {
  return offsets.map((offset) => [offset, made(offset).data] as const);
}

/** Runs a test on each host. */
function onEach(
  name: string,
  body: (server: ObjectServer) => Promise<void>,
  { hosts = OBJECT_HOSTS, fileBytes = 0, needs = ["node"] } = {},
): void {
  for (const host of hosts) {
    test(`${host.name}: ${name}`, () => ObjectServer.with(host, body, fileBytes), { needs });
  }
}

const PLAIN = OBJECT_HOSTS.filter(({ kind }) => kind === "serve");

onEach(
  "after workerd was killed, each client resumes and gets of its topics exactly what it missed",
  async (server) => {
    const streams = new Map<string, EventStream>();
    for (const topic of ["a", "b"]) {
      streams.set(topic, await server.stream(`room/1?topic=${topic}`));
    }
    // Each time the last one is a broadcast: it takes every cursor along.
    await publishMade(server, "room/1", 1, 8);
    const cursors = new Map<string, string>();
    for (const [topic, stream] of streams) {
      await stream.reached(8);
      cursors.set(topic, stream.audit.cursor);
      await stream.close();
    }
    await publishMade(server, "room/1", 9, 20);
    const epoch = cursors.get("a")?.slice(0, 16) ?? "";
    await server.restart();
    for (const [topic, cursor] of cursors) {
      const again = await server.stream(`room/1?topic=${topic}`, { cursor });
      const { verdict, head, epoch: told } = await again.hello();
      assertEquals([verdict, head, told], ["resumed", "20", epoch]);
      await again.reached(20);
      assertEquals(received(again, epoch), expected(offsetsOf([topic], 9, 20)));
      streams.set(topic, again);
    }
    await publishMade(server, "room/1", 21, 23);
    for (const [topic, stream] of streams) {
      await stream.reached(23);
      assertEquals(received(stream, epoch), expected(offsetsOf([topic], 9, 23)));
      await stream.close();
    }
  },
);

onEach(
  "a reset object keeps its epoch for all who come back at once, and they get what they missed",
  async (server) => {
    const before = await server.stream("room/1?topic=a");
    await publishMade(server, "room/1", 1, 6);
    await before.reached(6);
    const { cursor } = before.audit;
    const epoch = cursor.slice(0, 16);
    await server.post("room/1/reset");
    await before.ended;
    // Nobody has asked the object since: all of these meet its opening.
    const [streams, offsets] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => server.stream("room/1?topic=a", { cursor }))),
      Promise.all([7, 8, 9].map(() => server.publish("room/1", { topic: "a", data: "new" }))),
    ]);
    assertEquals(offsets.map(Number).sort((a, b) => a - b), [7, 8, 9]);
    for (const stream of streams) {
      assertEquals((await stream.hello()).verdict, "resumed");
      await stream.reached(9);
      assertEquals(received(stream, epoch), [[7, "new"], [8, "new"], [9, "new"]]);
      await stream.close();
    }
  },
);

test("an object without clients is dropped when it is idle, and its epoch is not", async () => {
  const results = await Promise.allSettled(
    OBJECT_HOSTS.map((host) =>
      ObjectServer.with(host, async (server) => {
        const stream = await server.stream("room/1");
        await publishMade(server, "room/1", 1, 3);
        await stream.reached(3);
        const { cursor } = stream.audit;
        await stream.close();
        // A write finds that the client has left, once the host has heard of it.
        let head = 3;
        await eventually(async () => {
          head += 1;
          await publishMade(server, "room/1", head, head);
          const { text } = await server.post("room/1/presence");
          return Object.keys(JSON.parse(text).topics).length === 0;
        }, { what: "the client to be gone" });
        const born = await server.born("room/1");
        await elapse(IDLE_MS);
        assertNotEquals(await server.born("room/1"), born, `${host.name}: it is kept awake`);
        const again = await server.stream("room/1", { cursor });
        assertEquals((await again.hello()).verdict, "resumed");
        await again.reached(head);
        assertEquals(again.offsets, Array.from({ length: head - 3 }, (_, index) => 4 + index));
        await again.close();
      })
    ),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}, { needs: ["node"] });

onEach(
  "an event that comes again under its id is stored once, also after a reset",
  async (server) => {
    const event = { data: "once", id: "the-id" };
    assertEquals(await server.publish("room/1", event), 1);
    assertEquals(await server.publish("room/1", event), 1);
    await server.reset("room/1");
    assertEquals(await server.publish("room/1", event), 1);
    assertEquals(await server.publish("room/1", { data: "another" }), 2);
  },
);

onEach("an event that SQLite does not take is refused and reaches nobody", async (server) => {
  const stream = await server.stream("room/1");
  assertEquals(await server.publish("room/1", { data: "good" }), 1);
  await server.sql(
    "room/1",
    `CREATE TRIGGER refuse BEFORE INSERT ON tidemark_entries WHEN NEW.data = 'bad'
    BEGIN SELECT RAISE(ABORT, 'not this one'); END`,
  );
  const refused = await server.publish("room/1", { data: "bad" });
  assert(typeof refused === "object");
  assertEquals([refused.code, refused.fault], ["journal", "failed"]);
  assertMatch(refused.message, /^Cannot use the journal: SQLite says: not this one/);
  const mixed = await Promise.all(
    ["good", "bad", "good", "bad"].map((data) => server.publish("room/1", { data })),
  );
  assertEquals(mixed.filter((one) => typeof one === "number").sort(), [2, 3]);
  await stream.reached(3);
  const cursor = `${stream.audit.cursor.slice(0, 16)}:0`;
  assertEquals(stream.durable.map(({ data }) => data), ["good", "good", "good"]);
  await stream.close();
  await server.reset("room/1");
  const again = await server.stream("room/1", { cursor });
  await again.reached(3);
  assertEquals(again.durable.map(({ data }) => data), ["good", "good", "good"]);
  await again.close();
});

onEach("an event that the disk does not take is refused and reaches nobody", async (server) => {
  const body = "x".repeat(30_000);
  const taken: [number, string][] = [];
  const stream = await server.stream("room/1");
  const { epoch } = await stream.hello();
  let refusals = 0;
  for (let n = 1; n <= 30 && refusals < 2; n++) {
    const data = `${n} ${body}`;
    const published = await server.publish("room/1", { data });
    if (typeof published === "number") taken.push([published, data]);
    else refusals++;
  }
  assertEquals(refusals, 2, "the disk was never full");
  assertGreater(taken.length, 2);
  assertEquals(taken.map(([offset]) => offset), taken.map((_, index) => index + 1));
  // What could not be written has reset the object: its streams end, and nothing was sent too early.
  await stream.ended;
  const seen = received(stream, epoch);
  assertEquals(seen, taken.slice(0, seen.length));
  const again = await server.stream("room/1", { cursor: `${epoch}:0` });
  assertEquals((await again.hello()).verdict, "resumed");
  await again.reached(taken.length);
  assertEquals(received(again, epoch), taken);
  await again.close();
}, { hosts: PLAIN, fileBytes: FILE_BYTES, needs: ["node", "prlimit"] });

onEach("a journal that cannot be opened is 503 for now, and is tried again", async (server) => {
  assertEquals(await server.publish("room/1", { data: "x" }), 1);
  await server.sql("room/1", "UPDATE tidemark_journal SET format = 99");
  await server.reset("room/1");
  const client = { "SSE-Wire": "1" };
  const refusals = await Promise.all([1, 2, 3].map(() => server.ask("room/1", client)));
  for (const { status, headers } of refusals) {
    assertEquals(status, 503);
    assertMatch(headers.get("Retry-After") ?? "", /^[234]$/);
  }
  assertMatch(await (await server.ask("room/1")).text(), /^retry: \d+\n\n$/);
  assertEquals((await server.post("room/1/presence")).status, 503);
  const refused = await server.publish("room/1", { data: "y" });
  assert(typeof refused === "object");
  assertEquals([refused.code, refused.fault], ["journal", "format"]);
  assertEquals(server.log.split("The hub's journal cannot be opened").length, 2);
  await server.sql("room/1", "UPDATE tidemark_journal SET format = 1");
  assertEquals(await server.publish("room/1", { data: "y" }), 2);
});

onEach("after deleteAll the sequence begins anew under another epoch", async (server) => {
  assertEquals(await server.publish("room/1", { data: "old" }), 1);
  const stream = await server.stream("room/1");
  const { epoch } = await stream.hello();
  await server.post("room/1/delete-all");
  assertEquals(await server.publish("room/1", { data: "new" }), 1);
  await stream.ended;
  assertEquals([stream.audit.reset === null, stream.offsets], [false, []]);
  const again = await server.stream("room/1", { cursor: `${epoch}:1` });
  const hello = await again.hello();
  assertEquals(hello.verdict, "epoch_changed");
  assertNotEquals(hello.epoch, epoch);
  await again.close();
});

onEach("once its record is dropped a sequence goes on under another epoch", async (server) => {
  assertEquals(await server.publish("room/1", { data: "old" }), 1);
  const stream = await server.stream("room/1");
  const { epoch } = await stream.hello();
  await stream.close();
  // What the docs ask for after a recovery to an earlier point in time.
  await server.sql("room/1", "DROP TABLE tidemark_journal");
  await server.reset("room/1");
  const again = await server.stream("room/1", { cursor: `${epoch}:1` });
  const hello = await again.hello();
  assertEquals(hello.verdict, "epoch_changed");
  assertNotEquals(hello.epoch, epoch);
  await again.close();
});

onEach("options that make no sense are told as such, each time", async (server) => {
  for (const _ of [1, 2]) {
    const refused = await server.publish("misfit/1", { data: "x" });
    assert(typeof refused === "object");
    assertMatch(refused.message, /Cannot use option keepaliveMs/);
  }
});

onEach("a hub without SQLite, or told to keep no journal, lives in memory", async (server) => {
  for (const hub of ["plain/1", "volatile/1"]) {
    assertEquals(await server.publish(hub, { data: "x" }), 1);
    const stream = await server.stream(hub);
    const { epoch } = await stream.hello();
    await stream.close();
    await server.reset(hub);
    const again = await server.stream(hub, { cursor: `${epoch}:1` });
    assertEquals((await again.hello()).verdict, "epoch_changed");
    await again.close();
  }
  const tables = "SELECT name FROM sqlite_master WHERE name LIKE 'tidemark%'";
  assertEquals(await server.sql("volatile/1", tables), []);
  const strict = await server.publish("strict/1", { data: "x" });
  assert(typeof strict === "object");
  assertMatch(strict.message, /option journal: .*new_sqlite_classes/);
});

onEach("a Worker subscribes a topic on a live connection, with its past", async (server) => {
  const stream = await server.stream("room/1?topic=a");
  const { connection } = await stream.hello();
  for (const n of [1, 2, 3]) await server.publish("room/1", { topic: "b", data: `b${n}` });
  const call = { connection, topic: "b", history: { last: 2 } };
  const subscribed = await server.post("room/1/subscribe", call);
  assertEquals(JSON.parse(subscribed.text), { verdict: "fresh", head: 3 });
  await server.publish("room/1", { topic: "b", data: "b4" });
  await stream.reached(4);
  const events = stream.blocks.filter((block) => block.kind === "event");
  assertEquals(events.map(({ name, data }) => name === "" ? data : name).slice(1), [
    ...["sse:history", "b2", "b3", "sse:history", "b4"],
  ]);
  assertEquals((await server.post("room/1/unsubscribe", call)).text, "true");
  assertEquals((await server.post("room/1/unsubscribe", call)).text, "false");
  const stranger = { ...call, connection: "0".repeat(32) };
  assertEquals((await server.post("room/1/subscribe", stranger)).text, "null");
  const refused = JSON.parse(
    (await server.post("room/1/subscribe", { ...call, topic: "\n" })).text,
  );
  assertEquals(refused.code, "topic");
  await stream.close();
});

onEach("the journal passes the conformance suite in an object's own storage", async (server) => {
  const names: string[] = JSON.parse(await (await server.ask("cases")).text());
  assertGreater(names.length, 40);
  const faults: string[] = [];
  // Eight at a time: some wait for seconds, and none for another.
  const queue = names.entries();
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (const [index, name] of queue) {
      const why = await (await server.ask(`run?case=${index}&object=${index}`)).text();
      if (why !== "") faults.push(`${name}: ${why}`);
    }
  }));
  assertEquals(faults, []);
}, { hosts: PLAIN });
