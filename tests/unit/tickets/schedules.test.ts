import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { TicketError } from "../../../src/errors/ticket.ts";
import {
  type Claims,
  createDurableObjectTicketStore,
  createMemoryTicketStore,
  createTickets,
  type RedeemedTicket,
  type TicketStore,
} from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";
import { claims, NOW } from "./claims.ts";
import { openStorage } from "./sql_storage.ts";
import { FailingStore, type Failure, LaxStore } from "./stores.ts";

const TTL_MS = 1000;

/** Numbers choose among what there is, the newest first, around and around. */
type Step =
  | { readonly do: "mint"; readonly pod: number; readonly claims: Claims; readonly fails: Fails }
  | {
    readonly do: "redeem";
    readonly pod: number;
    readonly ticket: number;
    readonly times: number;
    readonly fails: Fails;
  }
  | { readonly do: "giveBack"; readonly which: number; readonly fails: Fails }
  | { readonly do: "wait"; readonly ms: number };

type Fails = Failure | null;

const pod = fc.nat(1);
const fails: fc.Arbitrary<Fails> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constantFrom("before" as const, "after" as const) },
);
/** Half of them end while a ticket lives, or not long after. */
const soon: fc.Arbitrary<Claims> = fc.record({
  claims,
  left: fc.constantFrom(null, null, 1, 500, 999, 1000, 1001, 5000),
}).map(({ claims, left }) => left === null ? claims : { ...claims, expiresAt: NOW + left });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("mint" as const), pod, claims: soon, fails }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("redeem" as const),
      pod,
      ticket: fc.constantFrom(0, 0, 0, 1, 1, 2, 5),
      times: fc.constantFrom(1, 1, 1, 2, 5),
      fails,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("giveBack" as const),
      which: fc.constantFrom(0, 0, 0, 1, 2),
      fails,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(0, 1, 10, 10, 499, 500, 999, 1000, 1001),
    }),
  },
);

/** What is known of a ticket. */
interface Known {
  readonly ticket: string;
  readonly claims: Claims;
  readonly until: number;
  /** Whether the store has it, as long as its time is not over. */
  there: boolean;
}

interface Shared {
  readonly store: TicketStore;
  close?(): void;
}

type OpenShared = (now: () => number) => Shared;

const STORES: Readonly<Record<string, OpenShared>> = {
  "in memory": (now) => ({ store: createMemoryTicketStore({ now }) }),
  "that forgets nothing by itself": () => ({ store: new LaxStore() }),
  ...(openStorage === undefined ? {} : { "in an object": inObject(openStorage) }),
};

for (const [where, open] of Object.entries(STORES)) {
  test(`a store ${where}: in every schedule of two pods each ticket opens at most one stream for each time that it was minted or given back, never after its time, with its own claims`, async () => {
    const reached = { opened: 0, refused: 0, reopened: 0, failed: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 40, size: "max" }),
        (steps) => follow(open, steps, reached),
      ),
      { numRuns: 100 },
    );
    // A schedule in which nothing happens would show nothing.
    for (const [what, count] of Object.entries(reached)) assert(count > 20, `${what}: ${count}`);
  });
}

async function follow(
  open: OpenShared,
  steps: readonly Step[],
  reached: { opened: number; refused: number; reopened: number; failed: number },
): Promise<void> {
  let time = NOW;
  const now = (): number => time;
  const { store, close } = open(now);
  const failing = [new FailingStore(store), new FailingStore(store)] as const;
  const pods = failing.map((store) => createTickets({ store, ttlMs: TTL_MS, now }));
  const known: Known[] = [];
  const redeemed: { readonly of: Known; readonly pod: number; readonly it: RedeemedTicket }[] = [];
  const given = new Set<RedeemedTicket>();

  /** Tells a pod's store to fail at its next call. */
  const failNext = (pod: number, how: Fails): void => {
    const store = failing[pod];
    if (store !== undefined) store.next = how;
  };

  for (const step of steps) {
    if (step.do === "wait") time += step.ms;
    if (step.do === "mint") {
      // What was in the future once may have passed: then it must be refused.
      if (step.claims.expiresAt !== undefined && step.claims.expiresAt <= time) continue;
      failNext(step.pod, step.fails);
      const ticket = await pods[step.pod]?.mint(step.claims).catch(unavailable);
      assertEquals(ticket === undefined, step.fails !== null);
      if (ticket === undefined) continue;
      const until = Math.min(time + TTL_MS, step.claims.expiresAt ?? Infinity);
      known.push({ ticket, claims: step.claims, until, there: true });
    }
    if (step.do === "redeem") {
      const of = newest(known, step.ticket);
      if (of === undefined) continue;
      const good = of.there && time < of.until;
      failNext(step.pod, step.fails);
      const answers = await Promise.all(
        Array.from(
          { length: step.times },
          () => pods[step.pod]?.redeem(of.ticket).catch(unavailable),
        ),
      );
      const opened = answers.filter((answer) => answer !== null && answer !== undefined);
      assertEquals(answers.filter((answer) => answer === undefined).length, step.fails ? 1 : 0);
      if (step.fails !== null) reached.failed++;
      // The one call that failed may have been the only one, or the one that took it.
      const sure = good && (step.fails === null || (step.fails === "before" && step.times > 1));
      if (sure) assertEquals(opened.length, 1);
      else if (good) assert(opened.length <= 1);
      else assertEquals(opened.length, 0);
      if (step.fails !== "before" || step.times > 1) of.there = false;
      reached[opened.length > 0 ? "opened" : "refused"]++;
      for (const it of opened) {
        assertEquals(it.claims, of.claims);
        if (redeemed.some((other) => other.of === of)) reached.reopened++;
        redeemed.push({ of, pod: step.pod, it });
      }
    }
    if (step.do === "giveBack") {
      const which = newest(redeemed, step.which);
      if (which === undefined) continue;
      failNext(which.pod, step.fails);
      await which.it.giveBack();
      failNext(which.pod, null);
      if (!given.has(which.it) && step.fails !== "before" && time < which.of.until) {
        which.of.there = true;
      }
      given.add(which.it);
    }
  }
  close?.();
}

/** The n-th from the end. */
function newest<T>(list: readonly T[], n: number): T | undefined {
  return list[list.length - 1 - n % Math.max(list.length, 1)];
}

function unavailable(error: unknown): undefined {
  assert(error instanceof TicketError);
  assertEquals(error.fault, "unavailable");
}

function inObject(open: NonNullable<typeof openStorage>): OpenShared {
  return (now) => {
    const storage = open();
    const store = createDurableObjectTicketStore(storage, { now });
    return { store, close: () => storage.close() };
  };
}
