import { createHash } from "node:crypto";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { TicketError } from "../../../src/errors/ticket.ts";
import {
  type Claims,
  createMemoryTicketStore,
  createTickets,
  type Tickets,
  type TicketStore,
} from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";
import { NOW } from "./claims.ts";
import { FailingStore, LaxStore } from "./stores.ts";

const CLAIMS: Claims = {
  user: "ada",
  account: "acme",
  session: "s1",
  topics: ["orders", "trades"],
};
const TICKET = /^[A-Za-z0-9_-]{43}$/;

/** What could be presented in place of a ticket. */
const MALFORMED: readonly unknown[] = [
  "",
  " ",
  "x".repeat(1024 * 1024),
  "A".repeat(42),
  "A".repeat(44),
  "A".repeat(42) + "=",
  "+/".repeat(21) + "A",
  "\ud800",
  "é".repeat(43),
  "\0".repeat(43),
  "a\r\nb",
  undefined,
  null,
  43,
  ["A".repeat(43)],
  { toString: () => "A".repeat(43) },
  Object.create(null),
  Symbol("ticket"),
];

interface World {
  readonly store: LaxStore;
  readonly tickets: Tickets;
  readonly warnings: string[];
  time: number;
}

/** Tickets over a store that forgets nothing, so that only their own check of the time counts. */
function world(ttlMs?: number): World {
  const store = new LaxStore();
  const warnings: string[] = [];
  const logger = { warn: (message: string) => void warnings.push(message) };
  const made = { store, warnings, time: NOW };
  const tickets = createTickets({ store, ttlMs, now: () => made.time, logger });
  return Object.assign(made, { tickets });
}

function hashOf(ticket: string): string {
  return createHash("sha256").update(ticket).digest("base64url");
}

test("a ticket is 32 bytes of base64url, and no two are the same", async () => {
  const { tickets } = world();
  const minted = await Promise.all(Array.from({ length: 1000 }, () => tickets.mint(CLAIMS)));
  for (const ticket of minted) assert(TICKET.test(ticket), "a ticket of another form");
  assertEquals(new Set(minted).size, minted.length);
  // Were one character of a fixed alphabet missing or one place constant, it would show in so many.
  for (let place = 0; place < 42; place++) {
    assertEquals(new Set(minted.map((ticket) => ticket[place])).size, 64);
  }
});

test("a ticket gives its claims once, on any pod", async () => {
  const { store, tickets } = world();
  const other = createTickets({ store, now: () => NOW });
  const ticket = await tickets.mint(CLAIMS);
  assertEquals((await other.redeem(ticket))?.claims, CLAIMS);
  assertEquals(await other.redeem(ticket), null);
  assertEquals(await tickets.redeem(ticket), null);
});

test("of 50 that present a ticket at once, on two pods, one gets its claims", async () => {
  const store = createMemoryTicketStore();
  const pods = [createTickets({ store }), createTickets({ store })] as const;
  for (let round = 0; round < 20; round++) {
    const ticket = await pods[0].mint(CLAIMS);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? pods[0] : pods[1]).redeem(ticket)),
    );
    const opened = answers.filter((answer) => answer !== null);
    assertEquals(opened.map(({ claims }) => claims), [CLAIMS]);
  }
});

test("a store sees the hash of a ticket and its claims, and nothing of the ticket", async () => {
  const { store, tickets } = world();
  const ticket = await tickets.mint(CLAIMS);
  const value = `{"v":1,"until":${NOW + 30_000},"claims":${JSON.stringify(CLAIMS)}}`;
  // Golden: pods of several versions read each other's.
  assertEquals([...store.kept], [[hashOf(ticket), value]]);
  assertEquals(store.asked, [["put", hashOf(ticket), 30_000]]);
  await tickets.redeem(ticket);
  assertEquals(store.asked[1], ["take", hashOf(ticket)]);
  // What a leaked store holds is no ticket.
  const again = await tickets.mint(CLAIMS);
  assertEquals(await tickets.redeem(hashOf(again)), null);
});

test("used, expired, invented and malformed tickets get one answer by one way", async () => {
  const made = world();
  const { store, tickets } = made;
  const [used, expired] = [await tickets.mint(CLAIMS), await tickets.mint(CLAIMS)];
  await tickets.redeem(used);
  made.time += 30_000;
  const invented = "A".repeat(43);
  for (const presented of [used, expired, invented, ...MALFORMED]) {
    store.asked.length = 0;
    // As a program without types would hand it on.
    assertEquals(await tickets.redeem(presented as string), null);
    assertEquals(store.asked.map(([what]) => what), ["take"]);
    assert(TICKET.test(store.asked[0]?.[1] ?? ""), "a key of another form");
  }
  assertEquals(made.warnings, []);
});

test("what is presented with something around it is another ticket, however long", async () => {
  const { store, tickets } = world();
  const ticket = await tickets.mint(CLAIMS);
  for (const more of ["=", "A", "\n", "\0", "x".repeat(85), "x".repeat(100_000)]) {
    assertEquals(await tickets.redeem(ticket + more), null);
    assertEquals(await tickets.redeem(more + ticket), null);
  }
  assertEquals(store.asked.at(-1)?.[1], hashOf("x".repeat(128)));
  assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
});

test("a ticket ends at its time by the clock of the pod, whatever the store keeps", async () => {
  for (const [left, expected] of [[1, CLAIMS], [0.5, CLAIMS], [0, null], [-1, null]] as const) {
    const made = world(1000);
    const ticket = await made.tickets.mint(CLAIMS);
    made.time += 1000 - left;
    assertEquals((await made.tickets.redeem(ticket))?.claims ?? null, expected);
  }
});

test("a ticket does not outlive the authority that it stands for", async () => {
  const made = world();
  const ticket = await made.tickets.mint({ ...CLAIMS, expiresAt: NOW + 5000 });
  assertEquals(made.store.asked[0]?.[2], 5000);
  made.time += 5000;
  assertEquals(await made.tickets.redeem(ticket), null);
  const later = { ...CLAIMS, expiresAt: made.time + 3_600_000 };
  const other = await made.tickets.mint(later);
  assertEquals(made.store.asked.at(-1)?.[2], 30_000);
  assertEquals((await made.tickets.redeem(other))?.claims, later);
});

test("a ticket that is given back lasts for the rest of its time, under the same key", async () => {
  const made = world();
  const { store, tickets } = made;
  const ticket = await tickets.mint(CLAIMS);
  const value = store.kept.get(hashOf(ticket));
  made.time += 10_000;
  const redeemed = await tickets.redeem(ticket);
  made.time += 5000;
  await redeemed?.giveBack();
  assertEquals(store.asked.at(-1), ["put", hashOf(ticket), 15_000]);
  assertEquals(store.kept.get(hashOf(ticket)), value);
  made.time += 14_999;
  assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
});

test("a ticket is given back once for each time that it was redeemed", async () => {
  const { store, tickets } = world();
  const ticket = await tickets.mint(CLAIMS);
  const first = await tickets.redeem(ticket);
  await Promise.all([first?.giveBack(), first?.giveBack()]);
  const second = await tickets.redeem(ticket);
  // Were it given back once more, it would open a second stream beside this one.
  await first?.giveBack();
  assertEquals(await tickets.redeem(ticket), null);
  await second?.giveBack();
  assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
  assertEquals(store.asked.filter(([what]) => what === "put").length, 3);
});

test("a ticket is not given back after its time", async () => {
  const made = world();
  const ticket = await made.tickets.mint(CLAIMS);
  const redeemed = await made.tickets.redeem(ticket);
  made.time += 30_000;
  await redeemed?.giveBack();
  assertEquals(made.store.kept.size, 0);
});

test("giving a ticket back never throws", async () => {
  const store = new FailingStore(new LaxStore());
  const tickets = createTickets({ store });
  for (const failure of ["before", "after"] as const) {
    const redeemed = await tickets.redeem(await tickets.mint(CLAIMS));
    store.next = failure;
    await redeemed?.giveBack();
  }
});

test("a value that this version did not write is no ticket, and is told once", async () => {
  const until = NOW + 30_000;
  const strange = [
    JSON.stringify({ v: 2, until, claims: CLAIMS }),
    JSON.stringify({ until, claims: CLAIMS }),
    JSON.stringify({ v: "1", until, claims: CLAIMS }),
    JSON.stringify({ v: 1, claims: CLAIMS }),
    JSON.stringify({ v: 1, until: String(until), claims: CLAIMS }),
    JSON.stringify({ v: 1, until, claims: { ...CLAIMS, topics: [] } }),
    JSON.stringify({ v: 1, until, claims: { ...CLAIMS, topics: [""] } }),
    JSON.stringify({ v: 1, until, claims: { topics: ["t"] } }),
    JSON.stringify({ v: 1, until, claims: { ...CLAIMS, expiresAt: NOW - 1 } }),
    JSON.stringify({ v: 1, until }),
    "[]",
    "null",
    "",
    "}{",
  ];
  const { store, tickets, warnings } = world();
  for (const value of strange) {
    const ticket = await tickets.mint(CLAIMS);
    store.kept.set(hashOf(ticket), value);
    assertEquals(await tickets.redeem(ticket), null, value);
    for (const warning of warnings) {
      for (const secret of [ticket, hashOf(ticket), "ada"]) assert(!warning.includes(secret));
    }
  }
  assertEquals(warnings.length, 1);
});

test("claims that are refused leave the store alone", async () => {
  const { store, tickets } = world();
  const error = await assertRejects(() => tickets.mint({ ...CLAIMS, topics: [] }), TicketError);
  assertEquals(error.fault, "claims");
  assertEquals(store.asked, []);
});

test("a store that fails is unavailable, and no ticket is lost that it did not take", async () => {
  const store = new FailingStore(createMemoryTicketStore());
  const tickets = createTickets({ store });
  const ticket = await tickets.mint(CLAIMS);
  for (const ask of [() => tickets.mint(CLAIMS), () => tickets.redeem(ticket)]) {
    store.next = "before";
    const error = await assertRejects(ask, TicketError);
    assertEquals([error.fault, error.code], ["unavailable", "ticket"]);
    assert(error.message.includes("the store is away"), error.message);
  }
  assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
});

test("a redemption whose answer was lost has used the ticket", async () => {
  const store = new FailingStore(createMemoryTicketStore());
  const tickets = createTickets({ store });
  const ticket = await tickets.mint(CLAIMS);
  store.next = "after";
  await assertRejects(() => tickets.redeem(ticket), TicketError);
  assertEquals(await tickets.redeem(ticket), null);
});

test("a store that throws at once, or throws what is no error, is unavailable as well", async () => {
  const thrown: readonly unknown[] = [new Error("x"), "text", undefined, null, {
    toString() {
      throw new Error("no text");
    },
  }];
  for (const each of thrown) {
    const fail = (): never => {
      throw each;
    };
    const store: TicketStore = { put: fail, take: fail };
    const tickets = createTickets({ store });
    for (const ask of [() => tickets.mint(CLAIMS), () => tickets.redeem("x")]) {
      assertEquals((await assertRejects(ask, TicketError)).fault, "unavailable");
    }
  }
});

test("a time that makes no sense is refused by the name of its option", () => {
  for (const ttlMs of [0, -1, 0.5, NaN, Infinity, 600_001, "30000", null]) {
    // As a program without types would pass it.
    const options = { store: new LaxStore(), ttlMs: ttlMs as number };
    assertEquals(assertThrows(() => createTickets(options), ConfigError).option, "ttlMs");
  }
  for (const ttlMs of [1, 30_000, 600_000, undefined]) {
    createTickets({ store: new LaxStore(), ttlMs });
  }
});

test("a clock that says nothing lets no ticket through", async () => {
  const store = new LaxStore();
  const ticket = await createTickets({ store, now: () => NOW }).mint(CLAIMS);
  assertEquals(await createTickets({ store, now: () => NaN }).redeem(ticket), null);
});
