import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import { TicketError } from "../../../src/errors/ticket.ts";
import { createMemoryTicketStore } from "../../../src/tickets/memory.ts";
import { createTickets, type MemoryTicketOptions } from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";

const CLAIMS = { user: "ada", topics: ["t"] };

test("a full store refuses new tickets, and loses none of the old", async () => {
  let time = 0;
  const store = createMemoryTicketStore({ maxTickets: 3, now: () => time });
  const tickets = createTickets({ store });
  const minted = [
    await tickets.mint(CLAIMS),
    await tickets.mint(CLAIMS),
    await tickets.mint(CLAIMS),
  ];
  time += 100;
  const error = await assertRejects(() => tickets.mint(CLAIMS), TicketError);
  assertEquals([error.fault, error.message], [
    "unavailable",
    "Cannot use the tickets: the store in memory is full, it takes 3 tickets or 67108864 bytes",
  ]);
  for (const ticket of minted) assertEquals((await tickets.redeem(ticket))?.claims, CLAIMS);
  await tickets.mint(CLAIMS);
});

test("a store takes no more than its bytes, and room comes back with each value that goes", async () => {
  let time = 0;
  const store = createMemoryTicketStore({ maxBytes: 20, now: () => time });
  await store.put("a", "12345", 100);
  await store.put("b", "12345", 200);
  await assertRejects(() => store.put("c", "1", 100), TicketError);
  assertEquals(await store.take("a"), "12345");
  await store.put("c", "12345", 100);
  await store.put("c", "54321", 100);
  await assertRejects(() => store.put("d", "1", 100), TicketError);
  time = 100;
  await store.put("d", "12345", 100);
  assertEquals([await store.take("b"), await store.take("c")], ["12345", null]);
});

test("a store forgets those that expire first, at the very instant in which it needs the room", async () => {
  let time = 0;
  const store = createMemoryTicketStore({ maxTickets: 3, now: () => time });
  await store.put("late", "v", 10_000);
  await store.put("soon", "v", 10);
  await store.put("next", "v", 20);
  time = 9;
  await assertRejects(() => store.put("more", "v", 10_000), TicketError);
  time = 10;
  await store.put("more", "v", 10_000);
  await assertRejects(() => store.put("much", "v", 10_000), TicketError);
  time = 20;
  await store.put("much", "v", 10_000);
  for (const key of ["late", "more", "much"]) assertEquals(await store.take(key), "v");
  for (const key of ["soon", "next"]) assertEquals(await store.take(key), null);
});

test("in every order of puts and takes a store holds at most its bound, and refuses only then", async () => {
  const step = fc.oneof(
    fc.record({ put: fc.nat(9), ttlMs: fc.constantFrom(1, 100, 255, 256, 257, 1000, 5000) }),
    fc.record({ take: fc.nat(9) }),
    fc.record({ wait: fc.constantFrom(1, 100, 256, 999, 1000, 6000) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const [maxTickets, start] = [4, 1_000_003];
      let time = start;
      const store = createMemoryTicketStore({ maxTickets, now: () => time });
      const model = new Map<string, number>();
      for (const step of steps) {
        for (const [key, until] of model) if (until <= time) model.delete(key);
        if ("wait" in step) time += step.wait;
        else if ("take" in step) {
          const key = `${step.take}`;
          assertEquals(await store.take(key), model.has(key) ? "v" : null);
          model.delete(key);
        } else {
          const key = `${step.put}`;
          model.delete(key);
          const refused = await store.put(key, "v", step.ttlMs).then(() => false, () => true);
          assertEquals(refused, model.size >= maxTickets);
          if (!refused) model.set(key, time + step.ttlMs);
        }
      }
    }),
  );
});

test("a bound that makes no sense is refused by the name of its option", () => {
  for (const name of ["maxTickets", "maxBytes"] as const) {
    for (const bound of [0, -1, 0.5, NaN, Infinity, "10", null]) {
      // As a program without types would pass it.
      const options = { [name]: bound } as MemoryTicketOptions;
      assertEquals(assertThrows(() => createMemoryTicketStore(options), ConfigError).option, name);
    }
  }
});
