/**
 * A relay over Redis: publish and subscribe on one channel.
 *
 * **Which connections.** Messages are published on the application's own client. To listen takes a
 * connection of its own, which can do nothing else: `client.duplicate()`, or the `subscriber` of the
 * options. What `ioredis` makes fits as it is. The user needs `+publish +subscribe +unsubscribe` and the
 * channel (`&NAME`). Of a cluster, hand in connections to one node, not the cluster's client: a cluster
 * carries every message to every node, and the client hides when it listens to another one.
 *
 * **When a subscription is confirmed.** When Redis has answered `SUBSCRIBE`, and the other connection is
 * ready. It is asked again after each reconnection, before `resumed()`, and every 5 seconds: a
 * connection of the relay's own that has not answered by the next time is made anew.
 *
 * **What is lost.** While the connection is away messages are dropped, not kept. A Redis that stands
 * still takes nothing: then at most `maxPendingBytes` wait, and the rest is dropped. Redis cuts off a
 * pod that reads too slowly (`client-output-buffer-limit pubsub`, by default above 32 MB, or 8 MB for a
 * minute); it reconnects, which is an interruption. What a broken connection left unanswered is sent
 * again by some clients, `ioredis` among them: a message may then come twice.
 *
 * With `node-redis`, whose functions take other arguments, two connected clients are handed in so:
 *
 * ```ts ignore
 * const ready = (client) => client.isReady ? "ready" : "away";
 * const renamed = (event) => event === "close" ? "reconnecting" : event;
 * let hear = () => {};
 * const onMessage = (message, channel) => hear(channel, message);
 * const relay = createRedisRelay({
 *   get status() {
 *     return ready(client);
 *   },
 *   publish: (channel, message) => client.publish(channel, message),
 *   on: (event, listener) => client.on(renamed(event), listener),
 *   off: (event, listener) => client.off(renamed(event), listener),
 * }, {
 *   channel: "orders",
 *   subscriber: {
 *     get status() {
 *       return ready(subscriber);
 *     },
 *     async subscribe(channel) {
 *       await subscriber.subscribe(channel, onMessage, true);
 *       // What is subscribed already is not asked for again.
 *       await subscriber.ping();
 *     },
 *     unsubscribe: (channel) => subscriber.unsubscribe(channel, onMessage, true),
 *     on: (event, listener) =>
 *       event === "messageBuffer" ? hear = listener : subscriber.on(renamed(event), listener),
 *     off: (event, listener) =>
 *       event === "messageBuffer" ? hear = () => {} : subscriber.off(renamed(event), listener),
 *   },
 * });
 * ```
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { RelayError } from "../errors/relay.ts";
import { Outflow } from "./outflow.ts";
import type { RedisClient, RedisSubscriber } from "./redis/client.ts";
import { Ear, isAwake } from "./redis/ear.ts";
import type { Relay, RelayListener, RelaySubscription } from "./relay.ts";

export type {
  RedisClient,
  RedisDuplicateOptions,
  RedisPublisher,
  RedisSubscriber,
} from "./redis/client.ts";
export type { Relay, RelayListener, RelaySubscription };

/** Options of a relay over Redis. */
export interface RedisRelayOptions {
  /** The channel, one for each audience; not empty. Nobody else may publish to it. */
  readonly channel: string;
  /**
   * The connection to listen on, which stays the application's own; a duplicate of the client by
   * default. It may serve other channels too, but no other relay of this one.
   */
  readonly subscriber?: RedisSubscriber;
  /**
   * The most bytes of one message: 1 to 512 MiB, the bound of Redis itself; 16 MiB by default. By
   * default Redis cuts off every listener for whom more than 32 MB wait, so a message above that would
   * reach nobody.
   */
  readonly maxBytes?: number;
  /**
   * How much may wait for a Redis that stands still, in bytes; 8 MiB by default, from 1. What would be
   * above it is dropped, and the counters tell. A message that is larger goes alone.
   */
  readonly maxPendingBytes?: number;
}

/** What a message takes at least, in bytes: the command, and what the client keeps for its answer. */
const MESSAGE_BYTES = 128;

/** How often a subscription is confirmed anew, in milliseconds. */
const BEAT_MS = 5000;

const MEBIBYTE = 1024 * 1024;
const DEFAULT_BYTES = 16 * MEBIBYTE;
const MAX_BYTES = 512 * MEBIBYTE;

/**
 * Makes a relay over Redis.
 *
 * @param client The client, which stays the application's own.
 * @param options Which channel.
 * @returns The relay. It connects when it is first listened to.
 * @throws {ConfigError} When an option makes no sense, or there is no connection to listen on.
 *
 * @example
 * ```ts no-run
 * import { Redis } from "ioredis";
 * import { createRedisRelay } from "@tidemark/sse/relay/redis";
 *
 * const relay = createRedisRelay(new Redis("redis://127.0.0.1:6379"), { channel: "orders" });
 * ```
 */
export function createRedisRelay(client: RedisClient, options: RedisRelayOptions): Relay {
  const { channel, subscriber, maxBytes = DEFAULT_BYTES, maxPendingBytes } = options;
  if (channel === "" || !channel.isWellFormed()) {
    throw new ConfigError("channel", "it must be text, and not empty");
  }
  if (!(maxBytes >= 1 && maxBytes <= MAX_BYTES)) {
    throw new ConfigError("maxBytes", `it is ${maxBytes}, it must be 1 to ${MAX_BYTES}`);
  }
  if (subscriber === undefined && client.duplicate === undefined) {
    throw new ConfigError("subscriber", "it is needed, for the client cannot be duplicated");
  }
  return new RedisRelay({ client, channel, subscriber, maxBytes }, new Outflow(maxPendingBytes));
}

interface Settings {
  readonly client: RedisClient;
  readonly channel: string;
  readonly subscriber: RedisSubscriber | undefined;
  readonly maxBytes: number;
}

/** A relay on a channel. */
class RedisRelay implements Relay {
  readonly #settings: Settings;
  readonly #outflow: Outflow;
  #ear: Ear | null = null;
  /** Of the connection that messages go out on: what an older one took along is not waited for. */
  #breaks = 0;
  #closed = false;

  constructor(settings: Settings, outflow: Outflow) {
    this.#settings = settings;
    this.#outflow = outflow;
    settings.client.on?.("close", this.#onBreak);
    settings.client.on?.("ready", this.#onReady);
  }

  get maxBytes(): number {
    return this.#settings.maxBytes;
  }

  send(message: Uint8Array): void {
    this.#ensureOpen();
    const { client, channel, maxBytes } = this.#settings;
    if (message.length > maxBytes) {
      throw new RelayError(
        "too_large",
        `the message has ${message.length} bytes, the bound is ${maxBytes}`,
      );
    }
    const bytes = message.length + MESSAGE_BYTES;
    if (!isAwake(client.status) || !this.#outflow.take(bytes)) return;
    const breaks = this.#breaks;
    const settled = (): void => {
      if (breaks === this.#breaks) this.#outflow.free(bytes);
    };
    // What Redis did not take is lost, and the counters tell.
    client.publish(channel, asBuffer(message)).then(settled, settled);
  }

  async listen(
    listener: RelayListener,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<RelaySubscription> {
    this.#ensureOpen();
    options.signal?.throwIfAborted();
    const ear = this.#ear ??= this.#connect();
    const line = ear.add(listener);
    const close = (): Promise<void> => {
      ear.remove(line, closedError());
      if (ear.idle && ear === this.#ear) {
        this.#ear = null;
        ear.end(closedError());
      }
      return Promise.resolve();
    };
    try {
      await line.confirmer.begin(options.signal);
    } catch (error) {
      await close();
      throw error;
    }
    return { close };
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#settings.client.off?.("close", this.#onBreak);
    this.#settings.client.off?.("ready", this.#onReady);
    this.#ear?.end(closedError());
    this.#ear = null;
    return Promise.resolve();
  }

  readonly #onBreak = (): void => {
    this.#breaks++;
    this.#outflow.clear();
  };

  readonly #onReady = (): void => this.#ear?.wake();

  #connect(): Ear {
    const { client, channel, subscriber } = this.#settings;
    const connection = subscriber ?? client.duplicate?.({ autoResubscribe: false });
    if (connection === undefined) throw new RelayError("failed", "the client cannot be duplicated");
    return new Ear({
      subscriber: connection,
      own: subscriber === undefined,
      channel,
      speaker: () => client.status,
      beatMs: BEAT_MS,
    });
  }

  #ensureOpen(): void {
    if (this.#closed || this.#settings.client.status === "end") throw closedError();
  }
}

function closedError(): RelayError {
  return new RelayError("closed", "it has been closed, or its client has ended");
}

/** What is used of the class that clients for Node take bytes in; of others they make text. */
interface BufferMaker {
  from(buffer: ArrayBufferLike, offset: number, length: number): Uint8Array;
}

/** The same bytes, not a copy. */
function asBuffer(message: Uint8Array): Uint8Array {
  const { Buffer } = globalThis as { readonly Buffer?: BufferMaker };
  return Buffer?.from(message.buffer, message.byteOffset, message.byteLength) ?? message;
}
