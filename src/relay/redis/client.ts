/**
 * What a relay uses of a Redis client: what `ioredis` makes fits as it is.
 *
 * @module
 */

/** A connection that messages are published on. */
export interface RedisPublisher {
  /**
   * Whether commands are sent at once: only while it is `"ready"`, or `"wait"` before the first one.
   * Without it they always are.
   */
  readonly status?: string;
  /**
   * Publishes a message.
   *
   * @param channel Its channel.
   * @param message Its bytes: a `Buffer` wherever there is one, else a `Uint8Array`.
   * @returns Settles when Redis has taken it; it may stay pending when the connection breaks.
   */
  publish(channel: string, message: string | Uint8Array): Promise<unknown>;
  /** Listens for the end of a connection, with which unanswered messages are lost, and for the next. */
  on?(event: "ready" | "close", listener: () => void): unknown;
  /** Listens no more. */
  off?(event: "ready" | "close", listener: () => void): unknown;
}

/** A connection in subscriber mode. */
export interface RedisSubscriber {
  /** As that of a publisher; `"end"` when it will not come back. */
  readonly status?: string;
  /**
   * Subscribes; called again on a subscription that is there, to have it confirmed.
   *
   * @param channel The channel.
   * @returns Settles when Redis has answered, each time anew.
   */
  subscribe(channel: string): Promise<unknown>;
  /**
   * Unsubscribes.
   *
   * @param channel The channel.
   */
  unsubscribe(channel: string): Promise<unknown>;
  /** Takes messages, as the bytes that they are. */
  on(
    event: "messageBuffer",
    listener: (channel: Uint8Array, message: Uint8Array) => void,
  ): unknown;
  /** Listens for a connection that is ready, for its end, and for errors. */
  on(event: "ready" | "close" | "error", listener: () => void): unknown;
  /** Listens no more. */
  off(
    event: "messageBuffer",
    listener: (channel: Uint8Array, message: Uint8Array) => void,
  ): unknown;
  /** Listens no more. */
  off(event: "ready" | "close" | "error", listener: () => void): unknown;
  /**
   * Ends the connection; called on what {@linkcode RedisClient.duplicate} made.
   *
   * @param reconnect Whether it is to come back.
   */
  disconnect?(reconnect?: boolean): unknown;
}

/** How the connection that is listened on differs from the application's. */
export interface RedisDuplicateOptions {
  /** The relay subscribes again by itself, for it must know when that is confirmed. */
  readonly autoResubscribe: false;
}

/** The client of an application; the relay never ends it. */
export interface RedisClient extends RedisPublisher {
  /** Makes a second connection like it, which connects on its own. */
  duplicate?(options: RedisDuplicateOptions): RedisSubscriber;
}
