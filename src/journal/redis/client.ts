/**
 * What is used of a Redis client, and one way to ask it.
 *
 * @module
 */

/** What a connection is listened to for. */
export type RedisEvent = "close" | "-node" | "error";

/** A connection that commands are sent on. What `ioredis` makes fits as it is. */
export interface RedisConnection {
  /**
   * Sends a command, after those that were sent before it.
   *
   * @param command Its name.
   * @param args Its arguments.
   * @returns The reply: text as strings, whole numbers as numbers or strings, lists as arrays.
   */
  call(command: string, ...args: string[]): Promise<unknown>;
  /**
   * Whether commands are sent at once: only while it is `"ready"`. Without it they always are.
   */
  readonly status?: string;
  /**
   * Listens for the end of each connection (`close`, and `-node` in a cluster). A client that sends
   * again what a lost connection left unanswered must have it: else a refusal of the second sending
   * is taken for the outcome. `error` is listened to on what {@linkcode RedisClient.duplicate} made.
   */
  on?(event: RedisEvent, listener: () => void): unknown;
  /** Listens no more. */
  off?(event: RedisEvent, listener: () => void): unknown;
  /** Ends the connection; called on those that {@linkcode RedisClient.duplicate} made. */
  disconnect?(): unknown;
}

/**
 * The client of an application; the journal never ends it.
 *
 * That of `ioredis` is one. With `node-redis` there are two connections to hand in, this one and
 * `blocking` in the options, each as
 * `{ call: (...command) => client.sendCommand(command), get status() { return client.isReady ? "ready" : "away"; } }`.
 */
export interface RedisClient extends RedisConnection {
  /** Makes a second connection like it, which connects on its own. */
  duplicate?(): RedisConnection;
}
