/**
 * A journal in Redis: many pods, one sequence.
 *
 * It needs Redis 6.2 or Valkey 7.2, and a client: what `ioredis` makes is taken as it is, and
 * `node-redis` in a few lines (see {@linkcode RedisClient}). Each append, and each page, is one Lua
 * script, so what a pod reads is what held at one instant.
 *
 * ## When an entry is on disk
 *
 * An append settles when Redis has it in memory. When it is on disk is for the server to say:
 *
 * - `appendonly yes`, `appendfsync always`: before the append settles. Nothing that was acknowledged
 *   is lost, whatever ends the machine.
 * - `appendonly yes`, `appendfsync everysec` (what Redis does once `appendonly` is on): a killed process
 *   loses nothing; a power cut loses up to two seconds.
 * - `appendonly no`: whatever came after the last snapshot is lost with the process.
 *
 * A replica that takes over has what had reached it: acknowledged entries may be missing there too.
 *
 * Entries that were lost had offsets, and clients have seen them. A pod that follows the journal
 * notices (the head is below where it stands, or another entry stands there) and the sequence gets
 * another epoch, so that no cursor means two things: clients then reconcile. What nobody can notice
 * is an older copy that was restored while no pod ran: call {@linkcode Journal.rotate} then.
 *
 * ## What it costs
 *
 * Beyond its own text an entry takes some 50 bytes in the stream and 100 in the index of its topic,
 * by which pages and counts of a topic are read without a scan; its id takes 100 more for a few
 * minutes. Retention deletes at most a few hundred entries with each append, page or window; what is
 * over the bounds can't be read from that instant on.
 *
 * ## The client
 *
 * The journal is right with any options of `ioredis`:
 *
 * - While the client is not ready, appends and reads are refused at once (`unavailable`), so nothing
 *   waits in its offline queue.
 * - When a connection breaks, what was sent and not answered is an `AppendUnknownError` at once. The
 *   client may send it again (`autoResendUnfulfilledCommands`, on by default): it is stored once, the
 *   ids see to it, and what reaches the server later than half of `idTtlMs` is not run.
 * - `maxRetriesPerRequest` and `commandTimeout` make an append that was sent unknown sooner than
 *   `appendTimeoutMs`. With a `commandTimeout` below a second, tails may wake up to a second late.
 * - With `keyPrefix`, all keys have it. It must not have braces.
 *
 * Give the journal a client of its own, or one that runs no transactions and no blocking commands.
 *
 * ## Where the keys are
 *
 * All keys begin with `tidemark:{NAME}:`, and in a cluster the braces hold them in one slot. The scripts
 * make the other keys from the first one, which Redis and Valkey allow inside of a slot; an access rule
 * needs `~tidemark:{NAME}:*`. The one journal does not grow beyond one shard.
 *
 * The server must not evict: `maxmemory-policy noeviction`, which is checked. Then a full server
 * refuses appends (`full`), and nothing disappears. An operator may delete the oldest entries
 * (`XTRIM` of the stream): the floor follows. Whoever deletes others damages the journal.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import type { Journal } from "./journal.ts";
import type { RedisClient, RedisConnection } from "./redis/client.ts";
import { inspectServer } from "./redis/inspect.ts";
import { Link } from "./redis/link.ts";
import { readRedisOptions, type RedisJournalOptions } from "./redis/options.ts";
import { nameScripts, RedisJournal } from "./redis/store.ts";
import { Watcher } from "./redis/watcher.ts";

export type { RedisClient, RedisConnection, RedisEvent } from "./redis/client.ts";
export type { RedisJournalOptions } from "./redis/options.ts";

/**
 * Opens a journal in Redis, and makes it when it is not there. Many may open one.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { openRedisJournal } from "@tidemark/sse/journal/redis";
 *
 * const redis = new Redis("redis://127.0.0.1:6379");
 * const journal = await openRedisJournal(redis, { name: "orders" });
 * ```
 *
 * @param client The application's client; it stays the application's own.
 * @param options The journal's name, and what is kept.
 * @returns The journal.
 * @throws {ConfigError} When an option makes no sense, or there is no connection for blocking reads.
 * @throws {JournalError} `unsafe` when the server may drop entries, or is a replica; `format` when
 * another version wrote the data; `damaged` when they contradict themselves; `unavailable` when the
 * server can't be asked.
 */
export async function openRedisJournal(
  client: RedisClient,
  options: RedisJournalOptions,
): Promise<Journal> {
  const settings = readRedisOptions(options);
  if (options.blocking === undefined && typeof client.duplicate !== "function") {
    throw new ConfigError("blocking", "it is missing, and the client has no duplicate()");
  }
  const link = new Link(client, `${settings.root}meta`, settings.readTimeoutMs);
  const blocking = new Blocking(client, options.blocking);
  const watcher = new Watcher(() => blocking.get(), `${settings.root}log`);
  try {
    const taken = await inspectServer(link, options.onWarning ?? (() => {}));
    const maxBytes = Math.min(taken, settings.maxBytes);
    const release = (): void => {
      link.drop();
      blocking.end();
    };
    const journal = new RedisJournal(
      { link, watcher, settings, maxBytes, release },
      await nameScripts(),
    );
    await journal.window();
    return journal;
  } catch (error) {
    link.drop();
    throw error;
  }
}

/** The connection for blocking reads: the application's, or one that is made when it is needed. */
class Blocking {
  readonly #client: RedisClient;
  readonly #given: RedisConnection | undefined;
  #made: RedisConnection | undefined;
  #ended = false;

  constructor(client: RedisClient, given: RedisConnection | undefined) {
    this.#client = client;
    this.#given = given;
  }

  get(): RedisConnection {
    if (this.#given !== undefined) return this.#given;
    if (this.#ended) throw new Error("the journal has been closed");
    this.#made ??= this.#make();
    return this.#made;
  }

  end(): void {
    this.#ended = true;
    void this.#made?.disconnect?.();
  }

  #make(): RedisConnection {
    const made = this.#client.duplicate?.();
    if (made === undefined) throw new Error("the client made no connection");
    made.on?.("error", () => {});
    return made;
  }
}
