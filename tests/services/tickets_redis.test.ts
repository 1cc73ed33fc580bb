/**
 * Tickets in a real Redis: the suite of all stores, several pods at once, and a server that goes away.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { TicketError } from "../../src/errors/ticket.ts";
import { type OpenTicketStores, ticketStoreCases } from "../../src/tickets/conformance.ts";
import { createRedisTicketStore } from "../../src/tickets/redis.ts";
import { createTickets } from "../../src/tickets/tickets.ts";
import { eventually } from "../support/poll.ts";
import { onRedis, type RedisServer } from "../support/redis.ts";

const CLAIMS = { user: "ada", account: "acme", topics: ["orders"] };

/** As a server before 6.2: it does not know the command. */
const WITHOUT_GETDEL = ["--rename-command", "GETDEL", ""];

onRedis("tickets pass the suite of all stores, on three connections", suite);
onRedis("tickets pass it on a server that has no GETDEL", async (server) => {
  const error = await assertRejects(() => server.client().call("GETDEL", "key"), Error);
  assert(error.message.includes("unknown command"), error.message);
  await suite(server);
}, WITHOUT_GETDEL);

/** One server for all cases: each has keys of its own. One after another: a client warns of many. */
async function suite(server: RedisServer): Promise<void> {
  const clients = [server.client(), server.client(), server.client()] as const;
  await Promise.all(clients.map((client) => client.ping()));
  const failed: string[] = [];
  let cases = 0;
  const open = (): Promise<OpenTicketStores> => {
    const prefix = `case:${cases++}:`;
    const [one, two, three] = clients.map((client) => createRedisTicketStore(client, { prefix }));
    assert(one !== undefined && two !== undefined && three !== undefined);
    return Promise.resolve({ stores: [one, two, three], close: () => Promise.resolve() });
  };
  for (const { name, run } of ticketStoreCases(open)) {
    await run().catch((error) => failed.push(`${name}: ${error}`));
  }
  assertEquals(failed, []);
  assertGreater(cases, 10);
}

onRedis(
  "of 50 that present a ticket at once, on five pods, one gets its claims",
  async (server) => {
    const clients = Array.from({ length: 5 }, () => server.client());
    const pods = clients.map((client) => createTickets({ store: createRedisTicketStore(client) }));
    await Promise.all(clients.map((client) => client.ping()));
    for (let round = 0; round < 20; round++) {
      const ticket = await pods[round % 5]?.mint(CLAIMS) ?? "";
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => pods[n % 5]?.redeem(ticket)),
      );
      assertEquals(answers.filter((answer) => answer).map((answer) => answer?.claims), [CLAIMS]);
    }
  },
);

onRedis("Redis holds no ticket, and forgets each at its time", async (server) => {
  const client = server.client();
  await client.ping();
  const tickets = createTickets({ store: createRedisTicketStore(client), ttlMs: 300 });
  const ticket = await tickets.mint(CLAIMS);
  const keys = await client.keys("*");
  assertEquals(keys.length, 1);
  const stored = `${keys} ${await client.get(keys[0] ?? "")}`;
  assert(stored.includes("ada") && !stored.includes(ticket));
  assert(Number(await client.pttl(keys[0] ?? "")) <= 300);
  await eventually(async () => await client.dbsize() === 0, { what: "Redis to forget it" });
  assertEquals(await tickets.redeem(ticket), null);
});

onRedis("a ticket that is given back keeps its end", async (server) => {
  const client = server.client();
  await client.ping();
  const tickets = createTickets({ store: createRedisTicketStore(client) });
  const ticket = await tickets.mint(CLAIMS);
  const [key = ""] = await client.keys("*");
  const before = await client.pexpiretime(key);
  const redeemed = await tickets.redeem(ticket);
  assertEquals(await client.dbsize(), 0);
  await redeemed?.giveBack();
  const after = await client.pexpiretime(key);
  // Pods and Redis share this machine's clock; the way there and back takes a little.
  assertLess(Math.abs(after - before), 1000);
  assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
});

onRedis(
  "while it is away tickets are unavailable at once, and those minted later are good",
  async (server) => {
    const client = server.client();
    await client.ping();
    const store = createRedisTicketStore(client, { timeoutMs: 200 });
    const tickets = createTickets({ store });
    const kept = await tickets.mint(CLAIMS);

    // It hangs: nothing is known of what was sent.
    server.signal("SIGSTOP");
    await unavailable(() => tickets.mint(CLAIMS), "did not answer within 200 ms");
    const hanging = createTickets({ store: createRedisTicketStore(client, { timeoutMs: 60_000 }) });
    const broken = unavailable(() => hanging.redeem("x"), "broke before it answered");
    await server.stop("SIGKILL");
    await broken;

    // It is gone: nothing is sent.
    await eventually(() => client.status !== "ready", { what: "the client to notice" });
    for (const ask of [() => tickets.mint(CLAIMS), () => tickets.redeem(kept)]) {
      const begun = performance.now();
      await unavailable(ask, "not ready");
      assertLess(performance.now() - begun, 150);
    }

    await server.start();
    await eventually(() => client.status === "ready", { what: "the client to come back" });
    // This one was in its memory only.
    assertEquals(await tickets.redeem(kept), null);
    const ticket = await tickets.mint(CLAIMS);
    assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
  },
);

onRedis(
  "a redemption whose answer was lost has used the ticket, or not: never does it open two",
  async (server) => {
    const client = server.client();
    const other = server.client();
    await Promise.all([client.ping(), other.ping()]);
    const tickets = createTickets({ store: createRedisTicketStore(client, { timeoutMs: 100 }) });
    const ticket = await tickets.mint(CLAIMS);
    server.signal("SIGSTOP");
    await unavailable(() => tickets.redeem(ticket), "did not answer");
    server.signal("SIGCONT");
    await client.ping();
    const elsewhere = createTickets({ store: createRedisTicketStore(other) });
    // The command had been sent, and Redis has carried it out.
    assertEquals(await elsewhere.redeem(ticket), null);
  },
);

async function unavailable(ask: () => Promise<unknown>, says: string): Promise<void> {
  const error = await assertRejects(ask, TicketError);
  assertEquals(error.fault, "unavailable");
  assert(error.message.includes(says), error.message);
}
