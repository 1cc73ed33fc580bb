/**
 * What a relay uses of a NATS client: the connection that `connect` of `@nats-io/transport-node` (or
 * `nats-core` over WebSockets) gives.
 *
 * @module
 */

/** A message that was received; `Msg` has this shape. */
export interface NatsMessage {
  /** The payload. */
  readonly data: Uint8Array;
  /** Where an answer goes to; `""` or none for a message that wants none. */
  readonly reply?: string;
}

/** A subscription; `Subscription` has this shape. */
export interface NatsSubscription {
  /** Ends it. */
  unsubscribe(): void;
}

/** What becomes of a connection; `Status` has this shape. */
export interface NatsStatus {
  /** `disconnect`, `reconnect`, `close` and `error` are read. */
  readonly type: string;
  /** What the server refused, when the type is `error`. */
  readonly error?: unknown;
}

/** A connection to NATS; `NatsConnection` has this shape. */
export interface NatsConnection {
  /** What the server said of itself; not there while it is away. */
  readonly info?: { readonly max_payload: number };
  /** Whether it was closed for good. */
  isClosed(): boolean;
  /**
   * Sends a message.
   *
   * @param subject Its subject.
   * @param payload Its bytes.
   * @param options Where an answer goes to.
   */
  publish(subject: string, payload?: Uint8Array, options?: { readonly reply?: string }): void;
  /**
   * Receives messages, again after each reconnection.
   *
   * @param subject Which.
   * @param options Who takes them; an error says that the server refused, and ends it.
   * @returns The subscription.
   */
  subscribe(
    subject: string,
    options?: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  /**
   * Settles when the server has taken all that was sent before; it rejects when the connection breaks.
   */
  flush(): Promise<void>;
  /** What becomes of it. */
  status(): AsyncIterable<NatsStatus>;
}
