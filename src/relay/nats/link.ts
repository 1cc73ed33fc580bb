/**
 * Whether a connection to NATS is up, and what the server refused on it.
 *
 * @module
 */
import type { NatsConnection, NatsStatus } from "./connection.ts";

/** Who hears of a connection. */
export interface LinkListener {
  /** It broke. */
  down(): void;
  /** It is up again: the client has subscribed again, which the server has not confirmed yet. */
  up(): void;
  /** It will not come back. */
  closed(): void;
  /** The server refused to take a message. */
  refused(subject: string, error: unknown): void;
}

/** Watches a connection. */
export class Link {
  readonly #connection: NatsConnection;
  readonly #status: AsyncIterable<NatsStatus>;
  readonly #listener: LinkListener;
  #up = true;
  #stopped = false;

  /**
   * Begins to watch.
   *
   * @param connection What is watched.
   * @param listener Who hears of it.
   */
  constructor(connection: NatsConnection, listener: LinkListener) {
    this.#connection = connection;
    this.#listener = listener;
    this.#status = connection.status();
    void this.#watch();
  }

  /** Whether the server can be reached, as far as is known. */
  get up(): boolean {
    return this.#up && !this.#connection.isClosed();
  }

  /** Stops watching. */
  stop(): void {
    this.#stopped = true;
    // The client's iterators are stopped so; `return` would wait for the next event.
    if ("stop" in this.#status && typeof this.#status.stop === "function") this.#status.stop();
  }

  async #watch(): Promise<void> {
    for await (const { type, error } of this.#status) {
      if (this.#stopped) return;
      if (type === "close") break;
      if (type === "error") {
        const subject = refusedSubject(error);
        if (subject !== null) this.#listener.refused(subject, error);
      } else if (type === "disconnect") {
        this.#up = false;
        this.#listener.down();
      } else if (type === "reconnect") {
        this.#up = true;
        this.#listener.up();
      }
    }
    if (this.#stopped) return;
    this.#up = false;
    this.#listener.closed();
  }
}

/** What a permission violation says may not be published to; `null` for any other error. */
function refusedSubject(error: unknown): string | null {
  if (typeof error !== "object" || error === null) return null;
  if (!("operation" in error) || error.operation !== "publish") return null;
  return "subject" in error && typeof error.subject === "string" ? error.subject : null;
}
