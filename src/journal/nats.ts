/**
 * A journal in NATS JetStream: many pods, one stream, whose sequence is the offset.
 *
 * The stream `NAME` holds an entry for each message of a subject `NAME.TOPIC`; the key-value bucket
 * `NAME_epoch` holds a random generation. The epoch is a hash of the name, the time when the stream
 * was made, and the generation: a purge keeps it, for it keeps the numbering; a stream that was
 * deleted and made again has another one. A pod that sees the counter go back (an older copy of the
 * data was put in place) changes the generation. Entries that an operator deletes from the middle
 * raise the floor above them. Both are made when they are missing. No one else may publish to
 * `NAME.*`.
 *
 * **When is a write on disk?** An append resolves when JetStream confirms it. With one replica that
 * means: it was handed to the operating system. It outlives the end of the server, `kill -9` too, but
 * the server calls `fsync` only every two minutes (`sync_interval` in its configuration; `always`
 * from 2.10 on), so a power cut can take the last two minutes of confirmed entries with it, and a
 * rotation among them. Then the sequence goes on with numbers that had been given: a pod that outlived
 * the cut sees that and rotates the epoch; when all pods went down with the server, nobody can see it,
 * so call {@linkcode Journal.rotate} before you serve again. With three replicas on machines that do
 * not fail together (`replicas: 3`), a confirmed entry is on two of them, and the cut of one loses
 * nothing; while the others choose a leader, some seconds, appends are refused as `unavailable`, or
 * their outcome is unknown. An older copy that is put back while no pod runs needs `rotate` too.
 *
 * **What a pod asks of the server.** A tail pulls from one consumer of its own and looks at stream and
 * key once a second; a page makes a consumer, or up to 16, and deletes them. All of it goes over the
 * one connection that is handed in: permissions are needed to publish to `NAME.*`,
 * `$KV.NAME_epoch.generation` and `$JS.API.>`, and to subscribe to the inbox. Changes are heard of
 * sooner where it may also subscribe to `$KV.NAME_epoch.generation` and
 * `$JS.EVENT.ADVISORY.STREAM.*.NAME`.
 *
 * Servers from 2.9 on are supported. Let the connection come back for ever (`maxReconnectAttempts: -1`):
 * one that gave up is closed, and the journal with it.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { JournalError } from "../errors/journal.ts";
import type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  TailOptions,
} from "./journal.ts";
import { JetStreamApi } from "./nats/api.ts";
import { Appender } from "./nats/appender.ts";
import type { NatsClient, NatsSubscription } from "./nats/connection.ts";
import { GenerationKey } from "./nats/generation.ts";
import { Link, unreachable } from "./nats/link.ts";
import { Reader } from "./nats/reader.ts";
import { OVERHEAD_BYTES } from "./nats/record.ts";
import { Sequence, type Sight } from "./nats/sequence.ts";
import { closedError, Closing, type Store } from "./nats/store.ts";
import { JournalStream } from "./nats/stream.ts";
import { Tail } from "./nats/tail.ts";
import { readRetention, type RetentionOptions } from "./retention.ts";

export type {
  NatsClient,
  NatsConnection,
  NatsHeaders,
  NatsMessage,
  NatsSubscription,
} from "./nats/connection.ts";

/** Options of a journal in JetStream. */
export interface JetStreamJournalOptions {
  /** The name of the stream, and the first token of its subjects: 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /**
   * How much is kept. When it is given, an existing stream is set to it; else that one keeps its
   * bounds, and a new one keeps 7 days. JetStream counts whole messages against `maxBytes`: some 100
   * bytes more for each than topic, name and data have. Ages below 100 ms are 100 ms.
   */
  readonly retention?: RetentionOptions;
  /** How many servers keep the entries, when the stream is made: 1 to 5; 1 by default. */
  readonly replicas?: number;
  /**
   * How long JetStream may take to confirm an append, in milliseconds; 5000 by default, at most
   * 30,000. After it the outcome is unknown. For two minutes JetStream knows the id (or for as long as
   * entries are kept, where that is less): repeat it before.
   */
  readonly appendTimeoutMs?: number;
  /** How long JetStream may take to answer anything else, in milliseconds; 5000 by default. */
  readonly requestTimeoutMs?: number;
  /** The beginning of the subjects on which answers come; the connection's own; `_INBOX` by default. */
  readonly inboxPrefix?: string;
}

const TIMEOUT_MS = 5000;
const MAX_TIMEOUT_MS = 30_000;

/**
 * Opens a journal in JetStream. Several may be open at once, in as many processes.
 *
 * @param client The connection, which stays the application's own, and the client's `headers`.
 * @param options Which stream, and how much it keeps.
 * @returns The journal.
 * @throws {ConfigError} When an option makes no sense.
 * @throws {JournalError} `unsafe` when the stream is set up so that entries could vanish from the
 * middle; `format` when an unknown version wrote it; `unavailable` when JetStream does not answer.
 *
 * @example
 * ```ts ignore
 * import { connect, headers } from "@nats-io/transport-node";
 * import { openJetStreamJournal } from "@tidemark/sse/journal/nats";
 *
 * const connection = await connect({ servers: "nats://127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const journal = await openJetStreamJournal({ connection, headers }, { name: "events" });
 * ```
 */
export async function openJetStreamJournal(
  client: NatsClient,
  options: JetStreamJournalOptions,
): Promise<Journal> {
  const settings = readOptions(options);
  const { name, replicas, retention, requestTimeoutMs } = settings;
  const { connection, headers } = client;
  if (connection.isClosed()) throw unreachable();
  const link = new Link(connection);
  try {
    const api = new JetStreamApi(connection, link, requestTimeoutMs);
    const stream = new JournalStream(api, { name, replicas, retention });
    const key = new GenerationKey(api, headers, { name, replicas });
    const sequence = new Sequence(name, stream, key);
    let sight = await sequence.look();
    // The bounds were given: they hold for what is there, too.
    if (options.retention !== undefined && await stream.limit()) sight = await sequence.look();
    return new JetStreamJournal(client, { settings, link, api, stream, key, sequence }, sight);
  } catch (error) {
    link.stop();
    throw error;
  }
}

interface Settings {
  readonly name: string;
  readonly replicas: number;
  readonly retention: ReturnType<typeof readRetention>;
  readonly appendTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly inboxPrefix: string;
}

interface Parts {
  readonly settings: Settings;
  readonly link: Link;
  readonly api: JetStreamApi;
  readonly stream: JournalStream;
  readonly key: GenerationKey;
  readonly sequence: Sequence;
}

class JetStreamJournal implements Journal {
  readonly maxBytes: number;
  readonly #store: Store;
  readonly #appender: Appender;
  readonly #reader: Reader;
  readonly #closing = new Closing();
  readonly #subscriptions: readonly NatsSubscription[];
  #closed: Promise<void> | undefined;

  constructor(client: NatsClient, parts: Parts, { maxMessageBytes }: Sight) {
    const { settings, link, api, stream, key, sequence } = parts;
    const { name, appendTimeoutMs, inboxPrefix } = settings;
    const messageBytes = client.connection.info?.max_payload;
    if (messageBytes === undefined) throw unreachable();
    this.maxBytes = Math.min(messageBytes, maxMessageBytes) - OVERHEAD_BYTES;
    if (this.maxBytes < 1) {
      const bytes = this.maxBytes + OVERHEAD_BYTES;
      throw new JournalError("failed", `a message of ${bytes} bytes has no room for an event`);
    }
    this.#store = { name, client, api, link, stream, sequence, messageBytes, inboxPrefix };
    this.#appender = new Appender(this.#store, appendTimeoutMs, this.maxBytes);
    this.#reader = new Reader(this.#store);
    link.onChange((up) => {
      sequence.doubt(true);
      if (!up) this.#appender.disconnected();
    });
    const hear = (subject: string, replaced: boolean): NatsSubscription =>
      client.connection.subscribe(subject, {
        // Who may not listen there looks once a second, as everybody does.
        callback: (error) => error === null && sequence.doubt(replaced),
      });
    this.#subscriptions = [
      hear(key.subject, false),
      hear(`$JS.EVENT.ADVISORY.STREAM.*.${name}`, true),
    ];
  }

  async window(): Promise<JournalWindow> {
    this.#refuseClosed();
    const { epoch, floor, head } = await this.#store.sequence.look();
    return { epoch, floor, head };
  }

  append(event: JournalEvent): Promise<Appended> {
    return this.#closed === undefined
      ? this.#appender.append(event)
      : Promise.reject(closedError());
  }

  async read(query: JournalQuery): Promise<JournalPage> {
    this.#refuseClosed();
    return await this.#reader.read(query);
  }

  async count(range: JournalRange, enough: number): Promise<number> {
    this.#refuseClosed();
    return await this.#reader.count(range, enough);
  }

  tail(options: TailOptions): AsyncIterable<readonly JournalEntry[]> {
    return new Tail(this.#store, options, this.#closing).run();
  }

  async rotate(from: string): Promise<string> {
    this.#refuseClosed();
    return await this.#store.sequence.rotate(from);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.begin();
    await this.#appender.finished();
    this.#appender.stop();
    this.#store.link.stop();
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  #refuseClosed(): void {
    if (this.#closed !== undefined) throw closedError();
  }
}

function readOptions(options: JetStreamJournalOptions): Settings {
  const { name, replicas = 1, appendTimeoutMs, requestTimeoutMs, inboxPrefix = "_INBOX" } = options;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new ConfigError(
      "name",
      `it is ${JSON.stringify(name)}, it must be 1 to 64 of A-Za-z0-9_-`,
    );
  }
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 5) {
    throw new ConfigError("replicas", `it is ${replicas}, it must be 1 to 5`);
  }
  return {
    name,
    replicas,
    retention: readRetention(options.retention),
    appendTimeoutMs: readTimeout("appendTimeoutMs", appendTimeoutMs),
    requestTimeoutMs: readTimeout("requestTimeoutMs", requestTimeoutMs),
    inboxPrefix,
  };
}

function readTimeout(option: string, ms: number = TIMEOUT_MS): number {
  if (!(ms >= 1 && ms <= MAX_TIMEOUT_MS)) {
    throw new ConfigError(option, `it is ${ms}, it must be 1 to ${MAX_TIMEOUT_MS} ms`);
  }
  return ms;
}
