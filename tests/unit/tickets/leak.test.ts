/**
 * Nothing of a ticket, nor of a client's cursor, is ever written anywhere: not to a log, not to the
 * console, not into an error, however much of an error a program prints.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { assert, assertEquals, assertGreater } from "@std/assert";
import { mintHandler } from "../../../src/cluster/handlers/mint.ts";
import { ticketStreamHandler } from "../../../src/cluster/handlers/ticket_stream.ts";
import { TicketError } from "../../../src/errors/ticket.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { Logger } from "../../../src/hub/options.ts";
import { createRedisTicketStore } from "../../../src/tickets/redis.ts";
import {
  createDurableObjectTicketStore,
  createMemoryTicketStore,
  createTickets,
  type TicketStore,
} from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";
import { FailingStore, LaxStore } from "./stores.ts";

const CLAIMS = { user: "ada", topics: ["orders"] };
const METHODS = ["debug", "info", "log", "warn", "error", "trace"] as const;

/** Everything that was written while a test ran, and what may not be in it. */
class Watch {
  readonly lines: string[] = [];
  readonly errors: string[] = [];
  readonly #secrets = new Set<string>();

  /** A logger whose lines are kept. */
  readonly logger: Logger = {
    debug: (...args: unknown[]) => void this.lines.push(show(args)),
    info: (...args: unknown[]) => void this.lines.push(show(args)),
    warn: (...args: unknown[]) => void this.lines.push(show(args)),
    error: (...args: unknown[]) => void this.lines.push(show(args)),
  };

  /** A secret, and what a store calls it. */
  keep(secret: string): string {
    this.#secrets.add(secret);
    this.#secrets.add(createHash("sha256").update(secret).digest("base64url"));
    return secret;
  }

  /** Runs something that may fail, and keeps all that its error says. */
  async attempt<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      this.errors.push(show([error]) + (error instanceof Error ? error.stack : ""));
      return undefined;
    }
  }

  /** Fails when something was said that may not be. The message shows where, not what. */
  check(): void {
    for (const [where, text] of [...this.lines, ...this.errors].entries()) {
      for (const secret of this.#secrets) {
        for (let at = 0; at + 12 <= secret.length; at += 4) {
          assert(!text.includes(secret.slice(at, at + 12)), `text ${where} holds a secret`);
        }
      }
    }
  }
}

/** As much as any program prints of it: causes, and all that hangs on an error. */
function show(values: readonly unknown[]): string {
  return values.map((value) => inspect(value, { depth: 20, showHidden: true })).join(" ") +
    values.map((value) => {
      try {
        return JSON.stringify(value) ?? "";
      } catch {
        return "";
      }
    }).join(" ");
}

/** Watches the console too. */
async function watching(body: (watch: Watch) => Promise<void>): Promise<Watch> {
  const watch = new Watch();
  const before = METHODS.map((method) => console[method]);
  for (const method of METHODS) {
    console[method] = (...args: unknown[]) => void watch.lines.push(show(args));
  }
  try {
    await body(watch);
  } finally {
    for (const [n, method] of METHODS.entries()) console[method] = before[n] ?? console[method];
  }
  watch.check();
  return watch;
}

/** An error as `ioredis` makes it: the command hangs on it, and its message quotes the arguments. */
function redisError(args: readonly string[]): Error {
  const quoted = args.map((arg) => `\`${arg}\``).join(", ");
  const error = new Error(`ERR refused, with args beginning with: ${quoted}`);
  return Object.assign(error, { command: { name: "x", args } });
}

/** Stores that fail in the ways of their kind, telling all that they were told. */
const TALKATIVE: Readonly<Record<string, () => TicketStore>> = {
  "in Redis": () => createRedisTicketStore({ call: (...call) => Promise.reject(redisError(call)) }),
  "in an object": () =>
    createDurableObjectTicketStore({
      sql: {
        exec(query, ...values): never {
          throw Object.assign(new Error(`${query}: ${values.join()}`), { values });
        },
      },
    }),
  "of somebody else's": () => {
    const refuse = (...args: unknown[]): never => {
      throw new Error(`refused ${args.join()}`, { cause: { args } });
    };
    return { put: refuse, take: refuse };
  },
  "that throws our own error": () => {
    const refuse = (...args: unknown[]): never => {
      throw new TicketError("unavailable", `refused ${args.join()}`, { args });
    };
    return { put: refuse, take: refuse };
  },
};

for (const [where, open] of Object.entries(TALKATIVE)) {
  test(`a store ${where} that fails and tells its arguments gives nothing of a ticket away`, async () => {
    const watch = await watching(async (watch) => {
      const talkative = open();
      const store: TicketStore = {
        put: (key, ...rest) => talkative.put(watch.keep(key), ...rest),
        take: (key) => talkative.take(watch.keep(key)),
      };
      const tickets = createTickets({ store, logger: watch.logger });
      await watch.attempt(() => tickets.mint(CLAIMS));
      for (let n = 0; n < 20; n++) {
        const presented = watch.keep(await createTickets({ store: new LaxStore() }).mint(CLAIMS));
        await watch.attempt(() => tickets.redeem(presented));
      }
    });
    assertEquals(watch.errors.length, 21);
    // What the store said is told, but for that.
    for (const text of watch.errors) assert(/refused|tidemark_tickets/.test(text));
  });
}

test("a ticket's whole life, and each of its failures, writes nothing of it", async () => {
  const watch = await watching(async (watch) => {
    const lax = new LaxStore();
    const store = new FailingStore(lax);
    store.error = (key) => redisError([key]);
    let time = Date.now();
    const tickets = createTickets({ store, logger: watch.logger, now: () => time });
    for (const failure of [null, "before", "after"] as const) {
      const ticket = watch.keep(await tickets.mint(CLAIMS));
      store.next = failure;
      const redeemed = await watch.attempt(() => tickets.redeem(ticket));
      store.next = failure;
      await redeemed?.giveBack();
      store.next = null;
      await watch.attempt(() => tickets.redeem(ticket));
      await watch.attempt(() => tickets.redeem(watch.keep(`${ticket}${ticket}`)));
      time += 60_000;
      await watch.attempt(() => tickets.redeem(ticket));
    }
    for (const value of ["{}", "}{", JSON.stringify({ v: 2 })]) {
      const ticket = watch.keep(await tickets.mint(CLAIMS));
      for (const key of lax.kept.keys()) lax.kept.set(key, value);
      assertEquals(await tickets.redeem(ticket), null);
    }
    const full = createTickets({ store: createMemoryTicketStore({ maxTickets: 1 }) });
    watch.keep(await full.mint(CLAIMS));
    await watch.attempt(() => full.mint(CLAIMS));
    await watch.attempt(() => full.mint({ ...CLAIMS, topics: [] }));
  });
  assertGreater(watch.lines.length, 0);
  assertGreater(watch.errors.length, 2);
});

test("the streams that tickets open, and those that they do not, write nothing of tickets or cursors", async () => {
  const watch = await watching(async (watch) => {
    const { logger } = watch;
    const store = new FailingStore(createMemoryTicketStore());
    const tickets = createTickets({ store, logger });
    const hub = createHub({ logger, onPresence: () => Promise.reject(new Error("a hook fails")) });
    hub.publish({ topic: "orders", name: "order", data: "1" });
    const cursor = watch.keep(`${hub.position().epoch}:1`);
    const mint = mintHandler({
      hub,
      tickets,
      identify: () => ({ user: "ada" }),
      authorize: () => true,
      logger,
    });
    const open = ticketStreamHandler({ hub, tickets, logger });
    const minted = async (): Promise<string> => {
      const response = await mint(jsonRequest({ topics: ["orders"] }));
      return watch.keep((await response.json()).ticket);
    };
    const present = async (ticket: string, more = ""): Promise<number> => {
      const url = `http://localhost/events?ticket=${encodeURIComponent(ticket)}${more}`;
      const response = await open(new Request(url, { headers: { "Last-Event-ID": cursor } }));
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      return response.status;
    };
    const ticket = await minted();
    assertEquals(await present(ticket, `&last_event_id=${cursor}`), 200);
    assertEquals(await present(ticket), 401);
    for (const each of [cursor, ticket.repeat(3), `${ticket}\r\nX: y`, ticket.slice(1)]) {
      assertEquals(await present(watch.keep(each)), 401);
    }
    const last = await minted();
    store.error = (key) => redisError([key]);
    store.next = "before";
    assertEquals(await present(last), 503);
    store.next = "before";
    assertEquals((await mint(jsonRequest({ topics: ["orders"] }))).status, 503);
    await hub.shutdown();
    assertEquals(await present(last), 503);
  });
  assert(watch.lines.some((line) => line.includes("a hook fails")));
  assert(watch.lines.some((line) => line.includes("store does not answer")));
});

test("what watches for leaks finds one in a line, in an error and in what hangs on it", async () => {
  const secret = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq";
  const leaks: readonly ((watch: Watch) => unknown)[] = [
    (watch) => watch.logger.error(`the ticket ${secret}`),
    () => console.warn("cut", secret.slice(0, 20)),
    (watch) => watch.attempt(() => Promise.reject(new Error(secret))),
    (watch) => watch.attempt(() => Promise.reject(new Error("x", { cause: { args: [secret] } }))),
    (watch) => watch.attempt(() => Promise.reject(Object.assign(new Error("x"), { secret }))),
  ];
  for (const [n, leak] of leaks.entries()) {
    const found = await watching(async (watch) => {
      watch.keep(secret);
      await leak(watch);
    }).then(() => false, () => true);
    assert(found, `leak ${n} was not found`);
  }
});

function jsonRequest(body: unknown): Request {
  return new Request("http://localhost/ticket", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}
