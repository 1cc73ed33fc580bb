/**
 * What this library uses of a NATS client: the connection that `connect` of `@nats-io/transport-node`
 * (or `nats-core` over WebSockets) gives, and its `headers`.
 *
 * @module
 */

/** The headers of a message; `MsgHdrs` has this shape. */
export interface NatsHeaders {
  /** The status of a message of the server; 0 for every other one. */
  readonly code: number;
  /** What the status means; `""` for none. */
  readonly description: string;
  /**
   * Sets a header.
   *
   * @param key Its name.
   * @param value Its value.
   */
  set(key: string, value: string): void;
}

/** A message that was received; `Msg` has this shape. */
export interface NatsMessage {
  /** The subject under which it was published. */
  readonly subject: string;
  /** The payload. */
  readonly data: Uint8Array;
  /** Where an answer goes to. */
  readonly reply?: string;
  /** The headers, if there are any. */
  readonly headers?: NatsHeaders;
}

/** A subscription; `Subscription` has this shape. */
export interface NatsSubscription {
  /** Ends it. */
  unsubscribe(): void;
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
   * @param options Where an answer goes to, and the headers.
   */
  publish(
    subject: string,
    payload?: Uint8Array,
    options?: { readonly reply?: string; readonly headers?: NatsHeaders },
  ): void;
  /**
   * Sends a message and waits for one answer.
   *
   * @param subject Its subject.
   * @param payload Its bytes.
   * @param options How long to wait, in milliseconds, and the headers.
   * @returns The answer; it rejects when none comes.
   */
  request(
    subject: string,
    payload?: Uint8Array,
    options?: { readonly timeout: number; readonly headers?: NatsHeaders },
  ): Promise<NatsMessage>;
  /**
   * Receives messages.
   *
   * @param subject Which; it may hold wildcards.
   * @param options Who takes them.
   * @returns The subscription.
   */
  subscribe(
    subject: string,
    options?: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  /** What becomes of the connection; of the types `disconnect`, `reconnect` and `close` are read. */
  status(): AsyncIterable<{ readonly type: string }>;
}

/** A NATS client. */
export interface NatsClient {
  /** The connection. It stays the application's own: the journal never closes it. */
  readonly connection: NatsConnection;
  /** Makes empty headers: the client's own `headers`. */
  readonly headers: () => NatsHeaders;
}
