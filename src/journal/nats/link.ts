/**
 * Whether the connection is up. A client that is away keeps what is published for a while, and then
 * drops it: so nothing is published or asked for then.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { NatsConnection } from "./connection.ts";

/**
 * How long an answer that the server is away takes, in milliseconds: who asks again at once, and again,
 * must not keep the process from connecting.
 */
const AWAY_MS = 20;

/** Watches a connection. */
export class Link {
  readonly #connection: NatsConnection;
  readonly #status: AsyncIterable<{ readonly type: string }>;
  readonly #listeners = new Set<(up: boolean) => void>();
  #up = true;
  #stopped = false;

  /**
   * Begins to watch.
   *
   * @param connection What is watched.
   */
  constructor(connection: NatsConnection) {
    this.#connection = connection;
    this.#status = connection.status();
    void this.#watch();
  }

  /** Whether the server can be reached, as far as is known. */
  get up(): boolean {
    return this.#up && !this.#connection.isClosed();
  }

  /**
   * Calls back when the server went away, and when it came back.
   *
   * @param listener What to call.
   * @returns Stops that.
   */
  onChange(listener: (up: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Waits for an answer no longer than the server is there.
   *
   * @param ask Asks for it.
   * @returns The answer.
   * @throws {JournalError} `unavailable` when the server is away, or goes away.
   */
  whileUp<T>(ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.up) {
        setTimeout(() => reject(unreachable()), AWAY_MS);
        return;
      }
      const forget = this.onChange(() => {
        forget();
        reject(unreachable());
      });
      ask().then(resolve, reject).finally(forget);
    });
  }

  /** Stops watching. */
  stop(): void {
    this.#stopped = true;
    // The client's iterators are stopped so; `return` would wait for the next event.
    if ("stop" in this.#status && typeof this.#status.stop === "function") this.#status.stop();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#status) {
      if (this.#stopped) return;
      if (type === "disconnect" || type === "close") this.#set(false);
      else if (type === "reconnect") this.#set(true);
    }
    if (!this.#stopped) this.#set(false);
  }

  #set(up: boolean): void {
    if (this.#up === up) return;
    this.#up = up;
    for (const listener of [...this.#listeners]) listener(up);
  }
}

/**
 * What is thrown while the server is away.
 *
 * @param cause What the client threw.
 */
export function unreachable(cause?: unknown): JournalError {
  return new JournalError("unavailable", "the NATS server cannot be reached", cause);
}
