/**
 * What a journal in Redis keeps, how long, and how much it gives at once.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { JournalError } from "../../src/errors/journal.ts";
import type { JournalEvent } from "../../src/journal/journal.ts";
import { openRedisJournal } from "../../src/journal/redis.ts";
import { eventually } from "../support/poll.ts";
import { onRedis } from "../support/redis.ts";

const NAME = "bounds";

onRedis("a page has a bound of bytes, and leads on", async (server) => {
  const journal = await openRedisJournal(server.client(), { name: NAME });
  const data = "x".repeat(700_000);
  for (let n = 0; n < 6; n++) await journal.append(makeEvent(n, { data: `${n}${data}` }));
  for (const topics of [null, ["t"]]) {
    const seen: string[] = [];
    let pages = 0;
    for (let after = 0; after < 6; pages++) {
      const page = await journal.read({ after, topics, limit: 100 });
      assertLess(page.entries.length, 3);
      seen.push(...page.entries.map((entry) => entry.data.charAt(0)));
      assertGreater(page.through, after);
      after = page.through;
    }
    assertEquals(seen.join(""), "012345");
    assertGreater(pages, 2);
  }
  await journal.close();
});

onRedis(
  "a bound that is far exceeded when the journal is opened holds at once, and the memory follows",
  async (server) => {
    const admin = server.client();
    const wide = await openRedisJournal(server.client(), { name: NAME });
    const many = Array.from({ length: 3000 }, (_, n) => makeEvent(n, { topic: `t${n % 3}` }));
    await Promise.all(many.map((event) => wide.append(event)));
    const retention = { maxEntries: 10 };
    const journal = await openRedisJournal(server.client(), { name: NAME, retention });
    const { floor, head } = await journal.window();
    assertEquals([floor, head], [2991, 3000]);
    const page = await journal.read({ after: 0, topics: ["t0", "t1", "t2"], limit: 1000 });
    assertEquals(page.entries.map(({ offset }) => offset), numbers(2991, 3000));
    assertEquals(await journal.count({ after: 0, topics: ["t0", "t1", "t2"] }, 5000), 10);
    const root = `tidemark:{${NAME}}:`;
    await eventually(async () => {
      await journal.window();
      return await admin.xlen(`${root}log`) === 10;
    }, { what: "the log to be trimmed" });
    const sizes = await Promise.all([0, 1, 2].map((n) => admin.zcard(`${root}t:t${n}`)));
    assertEquals(sizes.reduce((sum, size) => sum + size), 10);
    await Promise.all([wide.close(), journal.close()]);
  },
);

onRedis("what a bound of age lets go is exactly what is too old", async (server) => {
  const maxAgeMs = 700;
  const retention = { maxAgeMs };
  const journal = await openRedisJournal(server.client(), { name: NAME, retention });
  const events = (from: number, to: number): Promise<unknown> =>
    Promise.all(numbers(from, to).map((n) => journal.append(makeEvent(n))));
  const started = performance.now();
  await events(1, 301);
  const begun = performance.now();
  await eventually(() => performance.now() - begun > maxAgeMs / 2, { what: "half of the age" });
  await events(302, 500);
  const floors: number[] = [];
  let first: number | undefined;
  await eventually(async () => {
    const { floor } = await journal.window();
    if (floors.at(-1) !== floor) floors.push(floor);
    if (floor > 1) first ??= performance.now() - started;
    return floor === 501;
  }, { what: "all to be too old", everyMs: 2 });
  // Two clocks, and one of them tells whole milliseconds.
  assertGreater(first ?? 0, maxAgeMs - 20);
  // The entries of one script have one time, and there were several scripts.
  assert(floors.includes(302), `the floors were ${floors}`);
  await journal.close();
});

onRedis("an id is remembered for its time, and then forgotten", async (server) => {
  const options = { name: NAME, appendTimeoutMs: 200, idTtlMs: 600 };
  const journal = await openRedisJournal(server.client(), options);
  const started = performance.now();
  // The ids are forgotten in bulk, a while after the first of them; this one is not the first.
  await journal.append(makeEvent(0, { id: "earlier" }));
  await eventually(() => performance.now() - started > 200, { what: "some of the time" });
  const begun = performance.now();
  const first = await journal.append(makeEvent(1, { id: "same" }));
  const forgotten = await eventually(async () => {
    const asked = performance.now();
    const appended = await journal.append(makeEvent(1, { id: "same" }));
    return appended.offset === first.offset ? undefined : asked;
  }, { what: "the id to be forgotten" });
  // Two clocks, and one of them tells whole milliseconds.
  assertGreater(forgotten - begun, options.idTtlMs - 20);
  const admin = server.client();
  const sizes = await Promise.all([0, 1].map((n) => admin.hlen(`tidemark:{${NAME}}:ids${n}`)));
  assertLess(Math.max(...sizes), 3);
  await journal.close();
});

onRedis("a page of many topics passes over none of their entries", async (server) => {
  const journal = await openRedisJournal(server.client(), { name: NAME });
  const topics = numbers(1, 20).map((n) => `t${n}`);
  // One topic after the other, so that the first page of each reaches a different way.
  const events = numbers(0, 599).map((n) => makeEvent(n, { topic: `t${1 + Math.floor(n / 30)}` }));
  await Promise.all(events.map((event) => journal.append(event)));
  for (const limit of [1, 10, 100, 1000]) {
    const seen: number[] = [];
    for (let after = 0; after < 600;) {
      const page = await journal.read({ after, topics, limit });
      seen.push(...page.entries.map(({ offset }) => offset));
      assertGreater(page.through, after);
      after = page.through;
    }
    assertEquals(seen, numbers(1, 600), `pages of ${limit}`);
  }
  await journal.close();
});

onRedis(
  "an event above the bytes that are kept is refused, and lets nothing go",
  async (server) => {
    const retention = { maxBytes: 100 };
    const journal = await openRedisJournal(server.client(), { name: NAME, retention });
    assertEquals(journal.maxBytes, 100);
    await journal.append(makeEvent(1));
    const error = await assertRejects(
      () => journal.append(makeEvent(2, { data: "é".repeat(60) })),
      JournalError,
    );
    assertEquals(error.fault, "too_large");
    const { floor, head } = await journal.window();
    assertEquals([floor, head], [1, 1]);
    await journal.close();
  },
);

onRedis("the time of an entry is never before that of an older one", async (server) => {
  const admin = server.client();
  const root = `tidemark:{${NAME}}:`;
  const journal = await openRedisJournal(server.client(), { name: NAME });
  await journal.append(makeEvent(1));
  // As if the clock of the server had been set back by an hour since.
  const last = String(Date.now() + 3_600_000);
  await admin.call("HSET", `${root}meta`, "last", last);
  await journal.append(makeEvent(2));
  const [entry] = await admin.xrange(`${root}log`, "2-0", "2-0");
  assertEquals(entry?.[1][entry[1].indexOf("s") + 1], last);
  await journal.close();
});

function makeEvent(n: number, fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic: "t", name: "step", data: `event ${n}`, at: Date.now(), ...fields };
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
