/**
 * A short-lived consumer of the stream, from which messages are pulled.
 *
 * It has no name of ours, lives in the server's memory, confirms nothing, and is deleted when its
 * reader is done; the server forgets one whose reader vanished.
 *
 * @module
 */
import { Bell } from "../bell.ts";
import type { JournalEntry } from "../journal.ts";
import type { NatsMessage, NatsSubscription } from "./connection.ts";
import { toEntry } from "./record.ts";
import { newInbox, type Store } from "./store.ts";

const NANOS_PER_MS = 1_000_000;

/** After how long without a pull the server forgets a consumer, in milliseconds. */
const INACTIVE_MS = 30_000;

/** How much later than promised the end of a pull may come, in milliseconds. */
const LATE_MS = 2000;

/** Which messages a consumer gives. */
export interface ConsumerOptions {
  /** The offset with which it begins. */
  readonly start: number;
  /** One subject; `undefined` for all. */
  readonly subject?: string;
}

/** How much is pulled. */
export interface Pull {
  /** The most messages. */
  readonly batch: number;
  /** The most bytes. */
  readonly bytes: number;
  /** How long the server waits for more, in milliseconds. */
  readonly expiresMs: number;
}

/**
 * How often a pull that nobody has taken is sent again, and after how many milliseconds: in a cluster
 * the servers hear of a new consumer one after another.
 */
const MAX_REPEATS = 5;
const REPEAT_MS = 40;

/** What the server answers when it has made a consumer. */
interface ConsumerInfo {
  readonly name: string;
  readonly num_pending: number;
}

/** A consumer of the stream. One pull at a time. */
export class Consumer {
  /** Rings when a message has come, and when a pull has ended. */
  readonly bell: Bell = new Bell();
  /** How many messages it had to give when it was made. */
  readonly pending: number;
  readonly #store: Store;
  readonly #id: string;
  readonly #inbox: string;
  readonly #subscription: NatsSubscription;
  #messages: NatsMessage[] = [];
  #left = 0;
  #deadline = 0;
  #request: Uint8Array = new Uint8Array();
  #repeats = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lost = false;
  #deleted = false;

  private constructor(store: Store, { name, num_pending: pending }: ConsumerInfo) {
    this.#store = store;
    this.#id = `${store.name}.${name}`;
    this.pending = pending;
    this.#inbox = newInbox(store);
    this.#subscription = store.client.connection.subscribe(this.#inbox, {
      callback: (error, message) => this.#take(error, message),
    });
  }

  /**
   * Makes one.
   *
   * @param store Of which store.
   * @param options What it gives.
   * @returns The consumer. Whoever made it deletes it.
   * @throws {JournalError} When the server does not make it.
   */
  static async create(store: Store, { start, subject }: ConsumerOptions): Promise<Consumer> {
    const info = await store.api.ask<ConsumerInfo>(`CONSUMER.CREATE.${store.name}`, {
      stream_name: store.name,
      config: {
        deliver_policy: "by_start_sequence",
        opt_start_seq: start,
        ack_policy: "none",
        replay_policy: "instant",
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: INACTIVE_MS * NANOS_PER_MS,
        ...(subject === undefined ? {} : { filter_subject: subject }),
      },
    });
    return new Consumer(store, info);
  }

  /** Whether the pull is over: it has given all it was asked for, or the server said so. */
  get ended(): boolean {
    return this.#left === 0 || this.lost;
  }

  /** Whether it will give nothing more: another one is needed. */
  get lost(): boolean {
    return this.#lost || this.#left > 0 && performance.now() > this.#deadline;
  }

  /** How long the pull may still be silent, in milliseconds. */
  get patienceMs(): number {
    return Math.max(0, this.#deadline - performance.now()) + 1;
  }

  /**
   * Asks for messages; only when the pull before has ended.
   *
   * @param pull How many.
   */
  pull({ batch, bytes, expiresMs }: Pull): void {
    this.#left = batch;
    this.#deadline = performance.now() + expiresMs + LATE_MS;
    const request = { batch, max_bytes: bytes, expires: expiresMs * NANOS_PER_MS };
    this.#request = new TextEncoder().encode(JSON.stringify(request));
    this.#repeats = 0;
    this.#send();
  }

  /**
   * Takes what has come.
   *
   * @returns The entries, oldest first.
   * @throws {JournalError} `format` when one was not written by this version.
   */
  take(): readonly JournalEntry[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages.map(({ subject, data, reply }) =>
      toEntry(this.#store.name, subject, data, offsetOf(reply ?? ""))
    );
  }

  /** Deletes it. A second call does nothing. */
  delete(): void {
    if (this.#deleted) return;
    this.#deleted = true;
    this.#lost = true;
    clearTimeout(this.#timer);
    this.#subscription.unsubscribe();
    this.#store.api.tell(`CONSUMER.DELETE.${this.#id}`);
    this.bell.ring();
  }

  #send(): void {
    const { connection } = this.#store.client;
    try {
      const subject = `$JS.API.CONSUMER.MSG.NEXT.${this.#id}`;
      connection.publish(subject, this.#request, { reply: this.#inbox });
    } catch {
      // The connection was closed.
      this.#lost = true;
    }
  }

  #take(error: Error | null, message: NatsMessage): void {
    if (error !== null) {
      this.#lost = true;
    } else if (message.headers !== undefined && message.headers.code > 0) {
      this.#status(message.headers.code, message.headers.description);
    } else {
      this.#messages.push(message);
      this.#left--;
      // Half of a long pull may take long: what counts is silence.
      this.#deadline = Math.max(this.#deadline, performance.now() + LATE_MS);
    }
    this.bell.ring();
  }

  #status(code: number, description: string): void {
    if (code === 100) return;
    if (code === 503 && this.#repeats < MAX_REPEATS) {
      this.#repeats++;
      this.#timer = setTimeout(() => this.#send(), REPEAT_MS);
      return;
    }
    // 404: nothing there; 408: the time is over; 409: among others, the bytes are used up.
    const over = code === 404 || code === 408 || /^message size exceeds/i.test(description);
    if (over) this.#left = 0;
    else this.#lost = true;
  }
}

/**
 * The place of a message in its stream, from where its confirmation would go:
 * `$JS.ACK.STREAM.CONSUMER.DELIVERED.OFFSET.…`, or with domain and account before the stream.
 */
function offsetOf(reply: string): number {
  const tokens = reply.split(".");
  return Number(tokens[tokens.length >= 11 ? 7 : 5]);
}
