/**
 * A relay over NATS: core publish and subscribe on one subject, without JetStream.
 *
 * **What it asks of the server.** One subscription for each pod, and permission to publish and to
 * subscribe to the subject; without either of them `listen` rejects. It is confirmed when the server
 * has answered a `PING` that was sent after it (`flush`): the server takes the commands of a connection
 * in their order. That says nothing of the other servers of a cluster, which hear of a subscription a
 * moment later; what is lost in that moment is seen by the counters, like every loss. After each
 * reconnection the client subscribes again, and the server is asked again, before `resumed()`.
 *
 * **What is lost.** While the server is away messages are dropped, not kept: the client would do the
 * same at its next attempt to connect. A server that stands still takes nothing: then at most
 * `maxPendingBytes` wait, and the rest is dropped. The server cuts off a pod that reads too slowly; it
 * reconnects, which is an interruption. The client itself drops nothing, so its `slowConsumer`, which
 * speaks of other subscriptions, is not one.
 *
 * Let the connection come back for ever (`maxReconnectAttempts: -1`): one that gave up is closed, and
 * the relay with it. A server that stands still is noticed by the client's own `PING` (`pingInterval`,
 * two minutes by default, and `maxPingOut`): 10 seconds serve better.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { RelayError } from "../errors/relay.ts";
import { hasUnsafeCharacter } from "../wire/text.ts";
import { refused } from "./confirmer.ts";
import type { NatsConnection } from "./nats/connection.ts";
import { Ear } from "./nats/ear.ts";
import { Link } from "./nats/link.ts";
import { Outflow } from "./outflow.ts";
import type { Relay, RelayListener, RelaySubscription } from "./relay.ts";

export type {
  NatsConnection,
  NatsMessage,
  NatsStatus,
  NatsSubscription,
} from "./nats/connection.ts";
export type { Relay, RelayListener, RelaySubscription };

/** A NATS client. */
export interface NatsRelayClient {
  /** The connection. It stays the application's own: the relay never closes it. */
  readonly connection: NatsConnection;
}

/** Options of a relay over NATS. */
export interface NatsRelayOptions {
  /**
   * The subject, one for each audience: 1 to 255 characters, tokens that are not empty with a `.`
   * between them, without spaces and wildcards. Nobody else may publish to it.
   */
  readonly subject: string;
  /**
   * How much may wait for a server that stands still, in bytes; 8 MiB by default, from 1. What would
   * be above it is dropped, and the counters tell. A message that is larger goes alone.
   */
  readonly maxPendingBytes?: number;
}

/** What a server takes that has not been heard of: the default of NATS, in bytes. */
const PAYLOAD_BYTES = 1024 * 1024;

/** After how many bytes the server is asked whether it has taken them. */
const ASK_BYTES = 64 * 1024;

const MAX_SUBJECT = 255;

/**
 * Makes a relay over NATS.
 *
 * @param client The connection, which stays the application's own.
 * @param options Which subject.
 * @returns The relay. Its `maxBytes` is the server's `max_payload`, 1 MiB by default.
 * @throws {ConfigError} When an option makes no sense.
 *
 * @example
 * ```ts no-run
 * import { connect } from "@nats-io/transport-node";
 * import { createNatsRelay } from "@tidemark/sse/relay/nats";
 *
 * const connection = await connect({
 *   servers: "nats://127.0.0.1:4222",
 *   maxReconnectAttempts: -1,
 *   pingInterval: 10_000,
 * });
 * const relay = createNatsRelay({ connection }, { subject: "orders.events" });
 * ```
 */
export function createNatsRelay(client: NatsRelayClient, options: NatsRelayOptions): Relay {
  const { subject, maxPendingBytes } = options;
  checkSubject(subject);
  return new NatsRelay(client.connection, subject, new Outflow(maxPendingBytes));
}

/** A relay on a subject. */
class NatsRelay implements Relay {
  readonly #connection: NatsConnection;
  readonly #subject: string;
  readonly #outflow: Outflow;
  readonly #link: Link;
  readonly #ears = new Set<Ear>();
  #maxBytes = PAYLOAD_BYTES;
  #asking = false;
  #closed = false;

  constructor(connection: NatsConnection, subject: string, outflow: Outflow) {
    this.#connection = connection;
    this.#subject = subject;
    this.#outflow = outflow;
    this.#link = new Link(connection, {
      down: () => this.#each((ear) => ear.confirmer.interrupt()),
      up: () => this.#each((ear) => ear.confirmer.wake()),
      closed: () => this.#each((ear) => ear.end(closedError())),
      refused: (what, error) => {
        // Only who begins can be told; the others' messages are lost, as their siblings see.
        if (what === subject) this.#each((ear) => ear.refusedToSpeak(refused(error)));
      },
    });
  }

  get maxBytes(): number {
    return this.#maxBytes = this.#connection.info?.max_payload ?? this.#maxBytes;
  }

  send(message: Uint8Array): void {
    this.#ensureOpen();
    const { maxBytes } = this;
    if (message.length > maxBytes) {
      throw new RelayError(
        "too_large",
        `the message has ${message.length} bytes, the server takes ${maxBytes}`,
      );
    }
    if (!this.#link.up || !this.#outflow.take(message.length)) return;
    try {
      this.#connection.publish(this.#subject, message);
    } catch (error) {
      // It is draining; what was large has been refused.
      throw closedError(error);
    }
    this.#askWhatArrived();
  }

  async listen(
    listener: RelayListener,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<RelaySubscription> {
    this.#ensureOpen();
    const ear = new Ear({
      connection: this.#connection,
      subject: this.#subject,
      listener,
      up: () => this.#link.up,
    });
    this.#ears.add(ear);
    const close = (): Promise<void> => {
      this.#ears.delete(ear);
      ear.end(closedError());
      return Promise.resolve();
    };
    try {
      await ear.confirmer.begin(options.signal);
    } catch (error) {
      await close();
      throw error;
    }
    return { close };
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#link.stop();
    this.#each((ear) => ear.end(closedError()));
    this.#ears.clear();
    return Promise.resolve();
  }

  /** One question at a time, and none while little is on its way. */
  #askWhatArrived(): void {
    const bytes = this.#outflow.bytes;
    if (this.#asking || bytes < ASK_BYTES) return;
    this.#asking = true;
    const arrived = (): void => {
      this.#asking = false;
      this.#outflow.free(bytes);
      if (!this.#closed) this.#askWhatArrived();
    };
    // It rejects when the connection has broken: then they are lost.
    this.#connection.flush().then(arrived, arrived);
  }

  #each(act: (ear: Ear) => void): void {
    for (const ear of [...this.#ears]) act(ear);
  }

  #ensureOpen(): void {
    if (this.#closed) throw new RelayError("closed", "it has been closed");
    if (this.#connection.isClosed()) throw closedError();
  }
}

function closedError(cause?: unknown): RelayError {
  return new RelayError("closed", "it, or its connection to NATS, has been closed", cause);
}

/** Whitespace, also beyond ASCII, is nothing that an operator sees. */
function checkSubject(subject: string): void {
  const fits = subject.length <= MAX_SUBJECT && subject.isWellFormed() &&
    /^[^\s.*>]+(?:\.[^\s.*>]+)*$/.test(subject) && !hasUnsafeCharacter(subject);
  if (fits) return;
  throw new ConfigError(
    "subject",
    `it is ${JSON.stringify(subject.slice(0, MAX_SUBJECT))}, it must be 1 to ${MAX_SUBJECT} ` +
      "characters, tokens with a . between them, without spaces and wildcards",
  );
}
