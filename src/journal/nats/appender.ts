/**
 * Appending: messages that are published one after another, and their confirmations.
 *
 * JetStream stores what one connection publishes in the order in which it was published, so many are
 * under way at once. Nothing is published while the server is away, for then the client would keep it
 * or drop it; what was under way when it went away has an unknown outcome.
 *
 * @module
 */
import { AppendUnknownError, JournalError } from "../../errors/journal.ts";
import { newEpoch } from "../epoch.ts";
import type { Appended, JournalEvent } from "../journal.ts";
import { readAnswer } from "./api.ts";
import type { NatsMessage, NatsSubscription } from "./connection.ts";
import { unreachable } from "./link.ts";
import { toPayload, toSubject } from "./record.ts";
import { newInbox, type Store } from "./store.ts";

/** How many are under way at once, and how many bytes; one always is. */
const MAX_FLIGHTS = 1024;
const MAX_FLIGHT_BYTES = 8 * 1024 * 1024;

/** What JetStream answers to a message that it has stored. */
interface Stored {
  readonly seq: number;
  readonly duplicate?: boolean;
}

/** An append that has begun. */
interface Flight {
  readonly id: string;
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: Error) => void;
  /** The highest offset that had been given when it was sent. */
  before: number;
  /** When it is given up, on the monotonic clock. */
  deadline: number;
}

/** Appends to one store. */
export class Appender {
  readonly #store: Store;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #inbox: string;
  readonly #subscription: NatsSubscription;
  /** The server remembers ids for two minutes: they are short. */
  readonly #ids = newEpoch();
  readonly #flights = new Map<string, Flight>();
  readonly #waiting = new Waiting();
  /** How many appends have begun and not settled. */
  #begun = 0;
  #bytes = 0;
  #sent = 0;
  #made = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #idle: (() => void)[] = [];

  /**
   * @param store Where to.
   * @param timeoutMs How long a confirmation may take, in milliseconds.
   * @param maxBytes The most bytes of topic, name and data.
   */
  constructor(store: Store, timeoutMs: number, maxBytes: number) {
    this.#store = store;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
    this.#inbox = newInbox(store);
    this.#subscription = store.client.connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => error === null && this.#answered(message),
    });
  }

  /**
   * Appends an event.
   *
   * @param event The event.
   * @returns Where it was stored.
   * @throws As `Journal.append`.
   */
  append(event: JournalEvent): Promise<Appended> {
    return new Promise((resolve, reject) => {
      if (!this.#store.link.up) throw unreachable();
      const flight = {
        id: event.id ?? `${this.#ids}.${(++this.#made).toString(36)}`,
        subject: toSubject(this.#store.name, event.topic),
        payload: toPayload(event, this.#maxBytes),
        resolve,
        reject,
        before: 0,
        deadline: 0,
      };
      this.#begun++;
      if (this.#waiting.first === undefined && this.#hasRoom(flight)) this.#send(flight);
      else this.#waiting.push(flight);
    });
  }

  /**
   * Gives up what is under way: the server went away.
   */
  disconnected(): void {
    for (const [token, flight] of [...this.#flights]) {
      this.#land(token);
      this.#fail(flight, new AppendUnknownError(flight.id, "the NATS server went away"));
    }
    this.#refuseWaiting(unreachable());
  }

  /** Settles when every append that has begun has settled. */
  finished(): Promise<void> {
    if (this.#begun === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Lets go. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#subscription.unsubscribe();
  }

  #hasRoom({ payload }: Flight): boolean {
    return this.#flights.size === 0 ||
      this.#flights.size < MAX_FLIGHTS && this.#bytes + payload.length <= MAX_FLIGHT_BYTES;
  }

  #send(flight: Flight): void {
    const { connection, headers } = this.#store.client;
    const token = String(++this.#sent);
    flight.before = this.#store.sequence.highest;
    flight.deadline = performance.now() + this.#timeoutMs;
    const fields = headers();
    // A client trims the values of headers, and ids may begin or end with a space.
    fields.set("Nats-Msg-Id", encodeURIComponent(flight.id));
    try {
      connection.publish(flight.subject, flight.payload, {
        reply: `${this.#inbox}.${token}`,
        headers: fields,
      });
    } catch (error) {
      this.#fail(flight, unreachable(error));
      return;
    }
    this.#flights.set(token, flight);
    this.#bytes += flight.payload.length;
    this.#timer ??= setTimeout(() => this.#expire(), this.#timeoutMs);
  }

  #answered({ subject, data, headers }: NatsMessage): void {
    const flight = this.#land(subject.slice(this.#inbox.length + 1));
    if (flight === undefined) return;
    if (headers?.code === 503) {
      const reason = "no stream takes the event: JetStream is away, or the stream was deleted";
      this.#store.sequence.doubt(true);
      // It is made again, so that the next append finds it.
      Promise.resolve(this.#store.sequence.known()).catch(() => {});
      this.#fail(flight, new JournalError("unavailable", reason));
    } else {
      this.#settle(flight, data);
    }
    this.#sendWaiting();
  }

  #settle(flight: Flight, data: Uint8Array): void {
    const { sequence } = this.#store;
    let stored: Stored;
    try {
      stored = readAnswer<Stored>("the event", data);
    } catch (error) {
      this.#fail(flight, error instanceof Error ? error : new Error(String(error)));
      return;
    }
    // A number that had been given before: the counter was lost.
    if (stored.duplicate !== true && stored.seq <= flight.before) sequence.doubt(true);
    const sight = sequence.known();
    if (!(sight instanceof Promise)) {
      this.#succeed(flight, sight.epoch, stored.seq);
      return;
    }
    sight.then(
      ({ epoch }) => this.#succeed(flight, epoch, stored.seq),
      // It is stored, but nobody knows under which epoch: a repetition will tell.
      (error) =>
        this.#fail(flight, new AppendUnknownError(flight.id, "its epoch is unknown", error)),
    );
  }

  #succeed(flight: Flight, epoch: string, offset: number): void {
    this.#store.sequence.saw(epoch, offset);
    flight.resolve({ epoch, offset });
    this.#ended();
  }

  #fail(flight: Flight, error: Error): void {
    flight.reject(error);
    this.#ended();
  }

  #ended(): void {
    if (--this.#begun > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  #land(token: string): Flight | undefined {
    const flight = this.#flights.get(token);
    if (flight === undefined) return undefined;
    this.#flights.delete(token);
    this.#bytes -= flight.payload.length;
    if (this.#flights.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    return flight;
  }

  #sendWaiting(): void {
    for (;;) {
      const { first } = this.#waiting;
      if (first === undefined || !this.#hasRoom(first)) return;
      this.#waiting.drop();
      this.#send(first);
    }
  }

  /** The flights stand in the order of their deadlines. */
  #expire(): void {
    this.#timer = undefined;
    const now = performance.now();
    let expired = false;
    for (const [token, flight] of this.#flights) {
      const left = flight.deadline - now;
      if (left > 0) {
        this.#timer = setTimeout(() => this.#expire(), left);
        break;
      }
      expired = true;
      this.#land(token);
      const reason = `JetStream did not confirm it within ${this.#timeoutMs} ms`;
      this.#fail(flight, new AppendUnknownError(flight.id, reason));
    }
    if (!expired) return;
    this.#store.sequence.doubt(true);
    // What has not been sent would wait behind a server that does not answer.
    this.#refuseWaiting(
      new JournalError("unavailable", "JetStream does not confirm what it is sent"),
    );
  }

  #refuseWaiting(error: JournalError): void {
    for (const flight of this.#waiting.take()) this.#fail(flight, error);
  }
}

/** What waits for its turn. */
class Waiting {
  #flights: Flight[] = [];
  #next = 0;

  get first(): Flight | undefined {
    return this.#flights[this.#next];
  }

  push(flight: Flight): void {
    this.#flights.push(flight);
  }

  drop(): void {
    this.#next++;
    if (this.#next === this.#flights.length) this.take();
    // Each is moved once or twice in all, however many wait.
    else if (this.#next > this.#flights.length / 2) this.#flights = this.take();
  }

  take(): Flight[] {
    const flights = this.#flights.slice(this.#next);
    this.#flights = [];
    this.#next = 0;
    return flights;
  }
}
