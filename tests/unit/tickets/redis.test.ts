/**
 * What the store in Redis makes of what its client does. The client is a scripted one; the suite of all
 * stores runs on a real server, in `tests/services`.
 *
 * @module
 */
import { assert, assertEquals, assertLess, assertRejects, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { TicketError } from "../../../src/errors/ticket.ts";
import {
  createRedisTicketStore,
  type RedisTicketClient,
  type RedisTicketOptions,
  type TicketStore,
} from "../../../src/tickets/redis.ts";
import { test } from "../../support/test.ts";

const KEY = "k".repeat(43);

/** A client that answers what a test tells it to. */
class ScriptedClient implements RedisTicketClient {
  status = "ready";
  readonly calls: string[][] = [];
  answer: (call: readonly string[]) => unknown = () => null;
  readonly #listeners: [event: string, listener: () => void][] = [];

  call(...call: string[]): Promise<unknown> {
    this.calls.push(call);
    // What is thrown is thrown at once, as some clients do.
    return Promise.resolve(this.answer(call));
  }

  on(event: string, listener: () => void): void {
    this.#listeners.push([event, listener]);
  }

  off(event: string, listener: () => void): void {
    const index = this.#listeners.findIndex(([e, l]) => e === event && l === listener);
    assert(index !== -1, "it did not listen");
    this.#listeners.splice(index, 1);
  }

  get listening(): number {
    return this.#listeners.length;
  }

  break(event: string): void {
    for (const [each, listener] of [...this.#listeners]) if (each === event) listener();
  }
}

function made(options?: RedisTicketOptions): { client: ScriptedClient; store: TicketStore } {
  const client = new ScriptedClient();
  return { client, store: createRedisTicketStore(client, options) };
}

const ASKS: readonly (readonly [what: string, ask: (store: TicketStore) => Promise<unknown>])[] = [
  ["put", (store) => store.put(KEY, "value", 1000)],
  ["take", (store) => store.take(KEY)],
];

test("Redis: a ticket is one SET with its time, and is taken by one GETDEL", async () => {
  const { client, store } = made();
  client.answer = ([command]) => command === "SET" ? "OK" : "value";
  await store.put(KEY, "value", 29_999.2);
  assertEquals(await store.take(KEY), "value");
  assertEquals(client.calls, [
    ["SET", `tidemark:ticket:${KEY}`, "value", "PX", "30000", "NX"],
    ["GETDEL", `tidemark:ticket:${KEY}`],
  ]);
  const other = made({ prefix: "app:t:" });
  await other.store.take(KEY);
  assertEquals(other.client.calls, [["GETDEL", `app:t:${KEY}`]]);
});

test("Redis: a SET that finds the key there has been sent twice, and has done its work", async () => {
  const { client, store } = made();
  await store.put(KEY, "value", 1000);
  assertEquals(client.calls.length, 1);
});

test("Redis: a server without GETDEL is sent a script, from then on at once", async () => {
  const { client, store } = made();
  client.answer = ([command]) => {
    if (command !== "GETDEL") return "value";
    throw new Error("ERR unknown command `GETDEL`, with args beginning with: `x`, ");
  };
  assertEquals(await store.take(KEY), "value");
  assertEquals(await store.take(KEY), "value");
  assertEquals(client.calls.map(([command]) => command), ["GETDEL", "EVAL", "EVAL"]);
  assertEquals(client.calls[2]?.slice(2), ["1", `tidemark:ticket:${KEY}`]);
});

test("Redis: a GETDEL that is refused is never sent a second way", async () => {
  for (
    const message of ["NOPERM this user has no permissions", "Command timed out", "ECONNRESET"]
  ) {
    const { client, store } = made();
    client.answer = () => Promise.reject(new Error(message));
    const error = await assertRejects(() => store.take(KEY), TicketError);
    assertEquals([error.fault, error.message.includes(message)], ["unavailable", true]);
    assertEquals(client.calls.length, 1);
  }
});

test("Redis: a client that is not ready is sent nothing", async () => {
  for (const status of ["wait", "connecting", "reconnecting", "end", "away"]) {
    for (const [what, ask] of ASKS) {
      const { client, store } = made();
      client.status = status;
      const error = await assertRejects(() => ask(store), TicketError);
      assertEquals([error.fault, error.message.includes(status)], ["unavailable", true], what);
      assertEquals([client.calls.length, client.listening], [0, 0]);
    }
  }
});

test("Redis: a client without a status is always asked", async () => {
  const calls: string[] = [];
  const store = createRedisTicketStore({
    call(command) {
      calls.push(command);
      return Promise.resolve(null);
    },
  });
  assertEquals(await store.take(KEY), null);
  assertEquals(calls, ["GETDEL"]);
});

test("Redis: a server that does not answer is unavailable in its time", async () => {
  for (const [what, ask] of ASKS) {
    const { client, store } = made({ timeoutMs: 30 });
    let settle: (reply: unknown) => void = () => {};
    client.answer = () => new Promise((resolve) => settle = resolve);
    const begun = performance.now();
    const error = await assertRejects(() => ask(store), TicketError);
    assertEquals([error.fault, error.message], [
      "unavailable",
      "Cannot use the tickets: Redis did not answer within 30 ms",
    ], what);
    assertLess(performance.now() - begun, 2000);
    assertEquals(client.listening, 0);
    // What comes too late is nobody's any more.
    settle(Promise.reject(new Error("late")));
  }
});

test("Redis: a connection that breaks fails what waits for it at once, and nothing later", async () => {
  for (const event of ["close", "-node"]) {
    const { client, store } = made();
    client.answer = () => new Promise(() => {});
    const waiting = Array.from({ length: 20 }, () => store.take(KEY));
    // A client warns of more than ten listeners.
    assertEquals(client.listening, 2);
    const refused = Promise.all(waiting.map((take) => assertRejects(() => take, TicketError)));
    client.break(event);
    for (const error of await refused) {
      assert(error.message.includes("broke before it answered"), error.message);
    }
    assertEquals(client.listening, 0);
    client.answer = () => "value";
    assertEquals(await store.take(KEY), "value");
    assertEquals(client.listening, 0);
  }
});

test("Redis: an error says what Redis said, and nothing of the command", async () => {
  for (const [what, ask] of ASKS) {
    const { client, store } = made();
    client.answer = (call) => {
      throw Object.assign(new Error("OOM command not allowed"), { command: { args: call } });
    };
    const error = await assertRejects(() => ask(store), TicketError);
    assert(error.message.includes("OOM command not allowed"), error.message);
    assertEquals(error.cause, undefined, what);
  }
});

test("Redis: a reply of another kind is refused", async () => {
  for (const reply of [undefined, 1, ["value"], new Uint8Array(3), true]) {
    for (const [, ask] of ASKS) {
      const { client, store } = made();
      client.answer = () => reply;
      assertEquals((await assertRejects(() => ask(store), TicketError)).fault, "unavailable");
    }
  }
});

test("Redis: options that make no sense are refused by their name", () => {
  const wrong: readonly (readonly [name: "prefix" | "timeoutMs", value: unknown])[] = [
    ...["", "a b", "é", "a\n", "x".repeat(129), 7, null].map((value) => ["prefix", value] as const),
    ...[0, -1, 0.5, NaN, 60_001, "5", null].map((value) => ["timeoutMs", value] as const),
  ];
  for (const [name, value] of wrong) {
    // As a program without types would pass it.
    const options = { [name]: value } as RedisTicketOptions;
    assertEquals(assertThrows(() => made(options), ConfigError).option, name);
  }
});
