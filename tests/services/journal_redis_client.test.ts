/**
 * What a Redis journal makes of what its client does: answers that are lost, late, or refusals. The
 * client is a scripted one, and no server is needed.
 *
 * @module
 */
import { assert, assertEquals, assertLess, assertRejects } from "@std/assert";
import { AppendUnknownError, JournalError } from "../../src/errors/journal.ts";
import type { Journal, JournalEvent } from "../../src/journal/journal.ts";
import { openRedisJournal, type RedisConnection } from "../../src/journal/redis.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";

const EPOCH = "0123456789abcdef";
const EVENT: JournalEvent = { topic: "t", name: "n", data: "d", at: 1 };

/** A client that answers what a test tells it to. */
class ScriptedClient implements RedisConnection {
  status = "ready";
  /** The scripts that were called, by `EVAL` or `EVALSHA`, and with what. */
  readonly calls: string[][] = [];
  /** Answers a script, when it is no longer that of the opening. */
  answer: ((call: string[]) => Promise<unknown>) | null = null;
  /** How many blocking reads it was asked for; it answers none. */
  reads = 0;
  readonly #listeners = new Set<() => void>();

  call(command: string, ...args: string[]): Promise<unknown> {
    if (command === "INFO") {
      return Promise.resolve("role:master\r\nmaxmemory_policy:noeviction\r\n");
    }
    if (command === "CONFIG") return Promise.resolve(["proto-max-bulk-len", "536870912"]);
    if (command === "XREAD") {
      this.reads++;
      return new Promise(() => {});
    }
    if (this.answer === null) return Promise.resolve(["ok", EPOCH, 1, 0]);
    this.calls.push([command, ...args]);
    return this.answer([command, ...args]);
  }

  on(event: string, listener: () => void): void {
    if (event === "close") this.#listeners.add(listener);
  }

  off(_event: string, listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** How many listen for its end. */
  get listening(): number {
    return this.#listeners.size;
  }

  break(): void {
    for (const listener of this.#listeners) listener();
  }
}

interface Opened {
  readonly client: ScriptedClient;
  readonly blocking: ScriptedClient;
  readonly journal: Journal;
}

async function opened(appendTimeoutMs = 5000): Promise<Opened> {
  const client = new ScriptedClient();
  const blocking = new ScriptedClient();
  const options = { name: "n", appendTimeoutMs, readTimeoutMs: appendTimeoutMs, blocking };
  return { client, blocking, journal: await openRedisJournal(client, options) };
}

/** How many events an append's script has been given. */
function eventsIn(call: readonly string[]): number {
  return (call.length - 4 - 8) / 5;
}

const REFUSALS = [
  ["OOM command not allowed when used memory > 'maxmemory'.", "full"],
  ["LOADING Redis is loading the dataset in memory", "unavailable"],
  ["READONLY You can't write against a read only replica.", "unavailable"],
  ["MISCONF Redis is configured to save RDB snapshots, but it's unable to persist", "failed"],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "damaged"],
  ["NOPERM this user has no permissions to run the 'evalsha' command", "failed"],
  ["ERR user_script:12: attempt to index a nil value script: 1f, on @user_script:12.", "damaged"],
  [
    "ERR Error running script (call to f_1): @user_script:9: OOM command not allowed when used",
    "full",
  ],
  ["Stream isn't writeable and enableOfflineQueue options is false", "unavailable"],
] as const;

test("Redis: an append that the server or the client refused is not stored, and says why", async () => {
  for (const [message, fault] of REFUSALS) {
    const { client, journal } = await opened();
    client.answer = () => Promise.reject(new Error(message));
    const whole = await assertRejects(() => journal.append(EVENT), JournalError);
    assertEquals(whole.fault, fault, message);
    assert(whole.message.includes(message.slice(0, 40)), whole.message);
    if (!message.startsWith("Stream")) {
      client.answer = () => Promise.resolve(["ok", EPOCH, 1, message]);
      const one = await assertRejects(() => journal.append(EVENT), JournalError);
      assertEquals(one.fault, fault, message);
    }
    await journal.close();
  }
});

test("Redis: an append whose answer the client has lost is unknown, under the id that was sent", async () => {
  const lost = [
    "Connection is closed.",
    "Command timed out",
    "Reached the max retries per request limit (which is 20).",
    "read ECONNRESET",
  ];
  for (const message of lost) {
    const { client, journal } = await opened();
    client.answer = () => Promise.reject(new Error(message));
    const error = await assertRejects(() => journal.append(EVENT), AppendUnknownError);
    assertEquals(error.id, client.calls[0]?.[12]);
    assert(error.cause instanceof Error);
    const named = { ...EVENT, id: "mine" };
    assertEquals(
      (await assertRejects(() => journal.append(named), AppendUnknownError)).id,
      "mine",
    );
    await journal.close();
  }
});

test("Redis: an append is unknown when the connection ends, whatever its second sending is told", async () => {
  const { client, journal } = await opened();
  let settle: (reply: Promise<unknown>) => void = () => {};
  client.answer = () => new Promise((resolve) => settle = resolve);
  const append = journal.append(EVENT);
  await turns();
  const read = journal.window();
  client.status = "reconnecting";
  const begun = performance.now();
  client.break();
  const [, refused] = await Promise.all([
    assertRejects(() => append, AppendUnknownError),
    assertRejects(() => read, JournalError),
  ]);
  assertLess(performance.now() - begun, 1000);
  assertEquals(refused.fault, "unavailable");
  settle(Promise.reject(new Error("LOADING Redis is loading the dataset in memory")));
  client.status = "ready";
  client.answer = () => Promise.resolve(["ok", EPOCH, 1, 7]);
  assertEquals(await journal.append(EVENT), { epoch: EPOCH, offset: 7 });
  await journal.close();
  assertEquals(client.listening, 0);
});

test("Redis: a client that is not ready is sent nothing", async () => {
  const { client, journal } = await opened();
  client.answer = () => Promise.resolve(["ok", EPOCH, 1, 1]);
  for (const status of ["connecting", "reconnecting", "end"]) {
    client.status = status;
    for (const ask of [() => journal.append(EVENT), () => journal.window()]) {
      const error = await assertRejects(ask, JournalError);
      assertEquals(error.fault, "unavailable");
      assert(error.message.includes(status), error.message);
    }
  }
  assertEquals(client.calls, []);
  await journal.close();
});

test("Redis: a server that does not answer makes the sent unknown and the rest unavailable, each in its time", async () => {
  const { client, journal } = await opened(100);
  client.answer = () => new Promise(() => {});
  const begun = performance.now();
  const sent = [journal.append(EVENT), journal.append(EVENT)];
  await turns();
  const waiting = journal.append(EVENT);
  const closed = journal.close();
  const [refused] = await Promise.all([
    assertRejects(() => waiting, JournalError),
    ...sent.map((append) => assertRejects(() => append, AppendUnknownError)),
  ]);
  assertEquals(refused.fault, "unavailable");
  assertEquals(client.calls.map(eventsIn), [2]);
  await closed;
  assertLess(performance.now() - begun, 1000);
});

test("Redis: appends go one script after another, with all that came meanwhile, and none is too long", async () => {
  const { client, journal } = await opened();
  const answers: (() => void)[] = [];
  let head = 0;
  client.answer = (call) =>
    new Promise((resolve) => {
      const offsets = Array.from({ length: eventsIn(call) }, () => ++head);
      answers.push(() => resolve(["ok", EPOCH, 1, ...offsets]));
    });
  const data = "x".repeat(100_000);
  const appends = [journal.append(EVENT)];
  await turns();
  for (let n = 0; n < 300; n++) appends.push(journal.append(EVENT));
  for (let n = 0; n < 5; n++) appends.push(journal.append({ ...EVENT, data }));
  appends.push(journal.append({ ...EVENT, data: data.repeat(5) }));
  while (answers.length > 0) {
    assertEquals(answers.length, 1);
    answers.shift()?.();
    await turns();
  }
  const offsets = (await Promise.all(appends)).map(({ offset }) => offset);
  assertEquals(offsets, appends.map((_, index) => index + 1));
  assertEquals(client.calls.map(eventsIn), [1, 128, 128, 46, 2, 1, 1]);
  await journal.close();
});

test("Redis: a script that the server does not know is sent whole, once", async () => {
  const { client, journal } = await opened();
  client.answer = ([command]) =>
    command === "EVALSHA"
      ? Promise.reject(new Error("NOSCRIPT No matching script. Please use EVAL."))
      : Promise.resolve(["ok", EPOCH, 1, 1]);
  assertEquals(await journal.append(EVENT), { epoch: EPOCH, offset: 1 });
  const [byName, whole, ...more] = client.calls;
  assertEquals(more, []);
  assertEquals([byName?.[0], whole?.[0]], ["EVALSHA", "EVAL"]);
  assertEquals(byName?.slice(2), whole?.slice(2));
  const text = new TextEncoder().encode(whole?.[1]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", text));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  assertEquals(byName?.[1], hex);
  await journal.close();
});

test("Redis: an append that the server finds late is sent once more, by the right clock", async () => {
  const { client, journal } = await opened();
  const until = (call: readonly string[] | undefined): number => Number(call?.[10]);
  client.answer = () => Promise.resolve(["ok", EPOCH, 1_000_000, 1]);
  await journal.append(EVENT);
  let late = 1;
  const later = 9_000_000;
  client.answer = () => Promise.resolve(late-- > 0 ? ["late", later] : ["ok", EPOCH, later, 2]);
  assertEquals((await journal.append(EVENT)).offset, 2);
  const [, first, second] = client.calls;
  assertLess(Math.abs(until(first) - 1_060_000), 5000);
  assertLess(Math.abs(until(second) - (later + 60_000)), 5000);
  late = 2;
  await assertRejects(() => journal.append(EVENT), AppendUnknownError);
  await journal.close();
});

test("Redis: a blocking read that is never answered is asked for again", async () => {
  const { client, blocking, journal } = await opened();
  client.answer = () => Promise.resolve(["ok", EPOCH, 1, 0, 0, ""]);
  const abort = new AbortController();
  const tail = journal.tail({ epoch: EPOCH, after: 0, signal: abort.signal });
  const ended = tail[Symbol.asyncIterator]().next();
  await eventually(() => blocking.reads === 1, { what: "a blocking read" });
  await eventually(() => blocking.reads >= 2, { what: "another one" });
  abort.abort();
  assertEquals((await ended).done, true);
  await journal.close();
});

/** Lets everything run that waits for nothing. */
async function turns(): Promise<void> {
  for (let n = 0; n < 50; n++) await Promise.resolve();
}
