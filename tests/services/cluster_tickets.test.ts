/**
 * Tickets in one Redis for three pods of three runtimes.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertLess, assertMatch } from "@std/assert";
import { Redis } from "ioredis";
import { createRedisTicketStore } from "../../src/tickets/redis.ts";
import { createTickets } from "../../src/tickets/tickets.ts";
import { exchange, fetchRaw } from "../suites/lib/exchange.ts";
import { BROKER_PROGRAMS, brokerSpec } from "../support/cluster_broker.ts";
import {
  type Cluster,
  looksOf,
  median,
  nth,
  post,
  ROOM,
  startCluster,
  type TimedAnswer,
} from "../support/cluster_pods.ts";
import type { RunningFixture } from "../support/fixture.ts";
import { eventually } from "../support/poll.ts";
import { openStream } from "../support/stream.ts";
import { test } from "../support/test.ts";

/** So many connections present one ticket at once. */
const AT_ONCE = 50;
/** So often each kind of refused ticket is presented. */
const TIMES = 30;
/** How far the middles of two kinds may lie apart, on a machine that does much else. */
const TOLERANCE_MS = 40;
const OPTIONS = { needs: [BROKER_PROGRAMS.redis, "node"], foreignTimers: true };

let world: Promise<Cluster> | undefined;
/** Every ticket that there was. */
const tickets = new Set<string>();

function onTickets(title: string, body: (cluster: Cluster) => Promise<void>): void {
  test(`tickets of three pods: ${title}`, async () => {
    world ??= startCluster("redis", (port) => ({ tickets: brokerSpec("redis", port, ROOM) }));
    await body(await world);
  }, OPTIONS);
}

onTickets(
  "of 50 connections that present one at once, over all pods, one is opened",
  async (cluster) => {
    const { pods } = cluster;
    // One that each pod has minted, all of them at the same time.
    await Promise.all(pods.map(async (minter, m) => {
      const ticket = await mint(minter, [`bound:${m}`]);
      const exchanges = await Promise.all(
        Array.from(
          { length: AT_ONCE },
          (_, i) => exchange(`${nth(pods, i).url}/events?ticket=${ticket}`),
        ),
      );
      const statuses = exchanges.map(({ head }) => head.status);
      for (const one of exchanges) one.close();
      assertEquals(statuses.filter((status) => status === 200).length, 1);
      assertEquals(statuses.filter((status) => status === 401).length, AT_ONCE - 1);
    }));
  },
);

onTickets(
  "a stream is what its ticket says, on whichever pod, and no HEAD uses one",
  async ({ pods }) => {
    const ticket = await mint(nth(pods, 0), ["bound"]);
    const address = `${nth(pods, 2).url}/events?ticket=${ticket}&topic=secret&user=root&lag=1`;
    const probe = await exchange(address, { method: "HEAD" });
    assertEquals(probe.head.status, 200);
    probe.close();
    const stream = await openStream(address);
    const { connection } = await stream.hello();
    await nth(pods, 1).publish({ topic: "secret", name: "n", data: "secret" });
    await nth(pods, 1).publish({ topic: "bound", name: "n", data: "bound" });
    assertEquals((await stream.events(1)).map(({ data }) => data), ["bound"]);
    // Whose it is stands in the ticket as well, and every pod keeps to it.
    const call = { connection, topic: "more" };
    const [own, other] = await Promise.all([
      post(nth(pods, 1), "/subscribe", { ...call, user: "ann" }),
      post(nth(pods, 1), "/subscribe", { ...call, user: "root" }),
    ]);
    assertEquals([own.answer.head.status, other.answer.head.status], [200, 404]);
    await stream.close();
  },
);

onTickets(
  "used, expired and invented ones look the same, and take as long",
  async ({ pods, broker }) => {
    const redis = new Redis({ host: "127.0.0.1", port: broker.port });
    try {
      const kinds = await makeRefused(pods, redis);
      const answers = new Map<string, { readonly pod: number; readonly timed: TimedAnswer }[]>();
      for (let i = 0; i < TIMES; i++) {
        // All kinds on one pod side by side, each first at times.
        const names = Object.keys(kinds);
        const turn = names.map((_, k) => nth(names, k + i));
        await Promise.all(turn.map(async (kind) => {
          const timed = await present(nth(pods, i), kinds[kind]?.[i]);
          answers.set(kind, [...answers.get(kind) ?? [], { pod: i % pods.length, timed }]);
        }));
      }
      const looks = pods.map((_, p) =>
        nth([...answers.values()].flat().filter(({ pod }) => pod === p), 0).timed
      );
      const middles = [...answers].map(([kind, of]) => {
        assertEquals(of.length, TIMES);
        for (const { pod, timed } of of) {
          assertEquals(timed.answer.head.status, 401, kind);
          assertEquals(looksOf(timed), looksOf(nth(looks, pod)), kind);
          assertEquals(timed.answer.text, nth(looks, 0).answer.text, kind);
        }
        return [kind, median(of.map(({ timed }) => timed.tookMs))] as const;
      });
      console.log(middles.map(([kind, ms]) => `${kind} ${ms.toFixed(2)} ms`).join(", "));
      const times = middles.map(([, ms]) => ms);
      assertLess(Math.max(...times) - Math.min(...times), TOLERANCE_MS);
    } finally {
      redis.disconnect();
    }
  },
);

onTickets("none stands in Redis or in a log", async ({ pods, broker }) => {
  const redis = new Redis({ host: "127.0.0.1", port: broker.port });
  await mint(nth(pods, 0), ["bound"]);
  const keys = await redis.keys("*");
  assertGreater(keys.length, 0);
  const stored = (await Promise.all(keys.map((key) => redis.get(key)))).join("\n");
  redis.disconnect();
  // What is stored is what was looked for, and none of the tickets.
  assertMatch(stored, /bound/);
  checkSecret(keys.join("\n") + stored);

  // A pod that cannot look a ticket up has something to write.
  await broker.kill();
  for (const pod of pods) {
    const { answer } = await present(pod, nth([...tickets], 0));
    assertEquals(answer.head.status, 503);
    await eventually(() => pod.log() !== "", { what: "the pod to write something" });
    checkSecret(pod.log());
  }
});

test("tickets of three pods: they end", async () => {
  await (await world)?.stop();
}, OPTIONS);

/** Mints a ticket for ann. */
async function mint(pod: RunningFixture, topics: readonly string[]): Promise<string> {
  const { answer } = await post(pod, "/ticket", { user: "ann", topics });
  assertEquals(answer.head.status, 200, answer.text);
  const { ticket } = JSON.parse(answer.text);
  assertMatch(ticket, /^[A-Za-z0-9_-]{43}$/);
  tickets.add(ticket);
  return ticket;
}

async function present(pod: RunningFixture, ticket: string | undefined): Promise<TimedAnswer> {
  const query = ticket === undefined ? "" : `?ticket=${ticket}`;
  const asked = performance.now();
  const answer = await fetchRaw(`${pod.url}/events${query}`);
  return { answer, tookMs: performance.now() - asked };
}

/** So many of each kind that opens nothing. */
async function makeRefused(
  pods: readonly RunningFixture[],
  redis: Redis,
): Promise<Readonly<Record<string, readonly (string | undefined)[]>>> {
  const store = createRedisTicketStore(redis, { prefix: `${ROOM}:ticket:` });
  const brief = createTickets({ store, ttlMs: 1 });
  // Redis still has it, and the pods' clocks say that its time is over.
  const kept = createTickets({
    store: { put: (key, value) => store.put(key, value, 60_000), take: (key) => store.take(key) },
    ttlMs: 1,
  });
  const claims = { user: "ann", topics: ["bound"] };
  const used = await Promise.all(Array.from({ length: TIMES }, async (_, i) => {
    const ticket = await mint(nth(pods, i), ["bound"]);
    const opened = await exchange(`${nth(pods, i + 1).url}/events?ticket=${ticket}`);
    assertEquals(opened.head.status, 200);
    opened.close();
    return ticket;
  }));
  const times = <T>(make: () => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: TIMES }, make));
  const forgotten = await times(() => brief.mint(claims));
  const expired = await times(() => kept.mint(claims));
  for (const ticket of [...forgotten, ...expired]) tickets.add(ticket);
  await eventually(async () => (await redis.keys(`${ROOM}:ticket:*`)).length <= TIMES, {
    what: "Redis to have forgotten what has expired",
  });
  assert((await redis.keys(`${ROOM}:ticket:*`)).length === TIMES, "the others are still there");
  const invented = used.map((ticket) => [...ticket].reverse().join(""));
  return {
    used,
    forgotten,
    expired,
    invented,
    "no ticket at all": used.map(() => undefined),
    "none that could be": used.map((_, i) => "x".repeat(i * 10)),
  };
}

function checkSecret(text: string): void {
  assertGreater(tickets.size, 0);
  for (const ticket of tickets) {
    assert(!text.includes(ticket), "a ticket stands there in the clear");
    // Nor a good part of one.
    assert(!text.includes(ticket.slice(0, 12)), "a part of a ticket stands there in the clear");
  }
}
