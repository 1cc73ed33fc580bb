/**
 * Tickets in Redis, shared by all pods.
 *
 * It needs Redis 6.2 or Valkey 7.2, whose `GETDEL` takes a ticket out in one step; on an older server a
 * script of two lines does the same. What `ioredis` makes is taken as a client as it is; that of
 * `node-redis` in one line:
 * `{ call: (...command) => client.sendCommand(command), get status() { return client.isReady ? "ready" : "away"; } }`.
 *
 * A client that sends again what a broken connection left unanswered (`ioredis`, unless
 * `autoResendUnfulfilledCommands` is off) may put a ticket back twice, when the connection breaks just
 * while it is put back. Give tickets a client for which it is off.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { TicketError } from "../errors/ticket.ts";
import { errorForLog, forLog } from "../wire/text.ts";
import type { TicketStore } from "./types.ts";

export type { TicketStore };

/** What is used of a Redis client. What `ioredis` makes fits as it is. */
export interface RedisTicketClient {
  /**
   * Sends a command.
   *
   * @param command Its name.
   * @param args Its arguments.
   * @returns The reply, text as a string.
   */
  call(command: string, ...args: string[]): Promise<unknown>;
  /** Whether commands are sent at once: only while it is `"ready"`. Without it they always are. */
  readonly status?: string;
  /** Listens for the end of a connection, while something is asked. */
  on?(event: "close" | "-node", listener: () => void): unknown;
  /** Listens no more. */
  off?(event: "close" | "-node", listener: () => void): unknown;
}

/** Options of {@linkcode createRedisTicketStore}. */
export interface RedisTicketOptions {
  /**
   * What all keys begin with, the same on every pod; `tidemark:ticket:`; 1 to 128 printable ASCII
   * characters but spaces. With a client's own `keyPrefix` that stands before it.
   */
  readonly prefix?: string;
  /**
   * How long Redis may take to answer, in milliseconds; 2000; a whole number of 1 to 60,000. A ticket
   * whose redemption was not answered may have been taken.
   */
  readonly timeoutMs?: number;
}

const PREFIX = "tidemark:ticket:";
const TIMEOUT_MS = 2000;
const MAX_TIMEOUT_MS = 60_000;
/** `createTickets` cuts it shorter, once a ticket's key that is quoted in it has been removed. */
const MAX_TOLD_BYTES = 2048;

/** `GETDEL`, for a server before 6.2. */
const TAKE = `local value = redis.call("GET", KEYS[1])
if value then redis.call("DEL", KEYS[1]) end
return value`;

/**
 * Makes a store in Redis. Nothing is sent until a ticket is put or taken; the client stays the
 * application's.
 *
 * While the client is not ready, the connection breaks, or Redis takes too long, it rejects with a
 * {@linkcode TicketError} `unavailable`, at once or in its time. That error has no `cause`: the clients'
 * errors hold the whole command.
 *
 * Redis forgets a ticket at its time. A server that evicts (`maxmemory-policy`) may forget it sooner.
 *
 * @param client The client.
 * @param options Where the keys are, and how long to wait.
 * @returns The store.
 * @throws {ConfigError} When an option makes no sense.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { createTickets } from "@tidemark/sse/tickets";
 * import { createRedisTicketStore } from "@tidemark/sse/tickets/redis";
 *
 * const redis = new Redis("redis://127.0.0.1:6379", { autoResendUnfulfilledCommands: false });
 * const tickets = createTickets({ store: createRedisTicketStore(redis) });
 * ```
 */
export function createRedisTicketStore(
  client: RedisTicketClient,
  options: RedisTicketOptions = {},
): TicketStore {
  const { prefix = PREFIX, timeoutMs = TIMEOUT_MS } = options;
  if (typeof prefix !== "string" || !/^[!-~]{1,128}$/.test(prefix)) {
    throw new ConfigError("prefix", "it must be 1 to 128 printable ASCII characters but spaces");
  }
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) {
    const range = `a whole number of 1 to ${MAX_TIMEOUT_MS}`;
    throw new ConfigError("timeoutMs", `it is ${String(timeoutMs)}, it must be ${range}`);
  }
  return new RedisTicketStore(client, prefix, timeoutMs);
}

class RedisTicketStore implements TicketStore {
  readonly #client: RedisTicketClient;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  /** What is sent and not answered. */
  readonly #waiting = new Set<() => void>();
  readonly #onBreak = (): void => {
    for (const fail of [...this.#waiting]) fail();
  };
  #hasGetDel = true;

  constructor(client: RedisTicketClient, prefix: string, timeoutMs: number) {
    this.#client = client;
    this.#prefix = prefix;
    this.#timeoutMs = timeoutMs;
  }

  async put(key: string, value: string, ttlMs: number): Promise<void> {
    if (!(ttlMs > 0)) return;
    const time = String(Math.ceil(ttlMs));
    try {
      const reply = await this.#ask("SET", this.#prefix + key, value, "PX", time, "NX");
      // Null: it is there already, because the client sent the command twice.
      if (reply !== "OK" && reply !== null) throw unexpected("SET", reply);
    } catch (error) {
      throw asTicketError(error);
    }
  }

  async take(key: string): Promise<string | null> {
    try {
      const reply = await this.#take(this.#prefix + key);
      if (typeof reply !== "string" && reply !== null) throw unexpected("GETDEL", reply);
      return reply;
    } catch (error) {
      throw asTicketError(error);
    }
  }

  async #take(key: string): Promise<unknown> {
    if (this.#hasGetDel) {
      try {
        return await this.#ask("GETDEL", key);
      } catch (error) {
        // A command that the server does not know has taken nothing.
        if (!/^ERR unknown command/i.test(textOf(error))) throw error;
        this.#hasGetDel = false;
      }
    }
    return await this.#ask("EVAL", TAKE, "1", key);
  }

  async #ask(command: string, ...args: string[]): Promise<unknown> {
    const { status } = this.#client;
    if (status !== undefined && status !== "ready") {
      const reason = `the connection to Redis is not ready, it is ${forLog(String(status))}`;
      throw new TicketError("unavailable", reason);
    }
    let end = (): void => {};
    try {
      return await new Promise((resolve, reject) => {
        const fail = (reason: string): void => reject(new TicketError("unavailable", reason));
        const late = `Redis did not answer within ${this.#timeoutMs} ms`;
        const timer = setTimeout(() => fail(late), this.#timeoutMs);
        // Sent again by the client, a redemption would find that its ticket was used: by itself.
        const onBreak = (): void => fail("the connection to Redis broke before it answered");
        end = () => {
          clearTimeout(timer);
          this.#forget(onBreak);
        };
        this.#await(onBreak);
        this.#client.call(command, ...args).then(resolve, reject);
      });
    } finally {
      end();
    }
  }

  /** One listener, however many wait: a client warns of many. */
  #await(onBreak: () => void): void {
    this.#waiting.add(onBreak);
    if (this.#waiting.size > 1) return;
    this.#client.on?.("close", this.#onBreak);
    this.#client.on?.("-node", this.#onBreak);
  }

  #forget(onBreak: () => void): void {
    this.#waiting.delete(onBreak);
    if (this.#waiting.size > 0) return;
    this.#client.off?.("close", this.#onBreak);
    this.#client.off?.("-node", this.#onBreak);
  }
}

function unexpected(command: string, reply: unknown): TicketError {
  return new TicketError("unavailable", `Redis answered ${command} with ${typeof reply}`);
}

/** Without what was thrown: with `ioredis` the command's arguments hang on it. */
function asTicketError(error: unknown): TicketError {
  if (error instanceof TicketError) return error;
  return new TicketError("unavailable", `Redis: ${errorForLog(textOf(error), MAX_TOLD_BYTES)}`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
