/**
 * Fan-out: a frame to every connection that listens, and once a turn what waits to their sinks.
 *
 * @module
 */
import type { Connection } from "./connection.ts";
import type { Frame } from "./ring.ts";
import { Subscribers } from "./subscribers.ts";

/** The connections that receive, and those that have something to hand over. */
export class Fanout extends Subscribers<Connection> {
  #woken = new Set<Connection>();

  /**
   * Offers a frame to those who listen to its topic.
   *
   * @param frame The frame.
   */
  offer(frame: Frame): void {
    this.each(frame.topic, (connection) => connection.offer(frame));
  }

  /**
   * Flushes a connection when this turn's publishing is over: what was published together leaves
   * together.
   *
   * @param connection The connection.
   */
  wake(connection: Connection): void {
    if (this.#woken.size === 0) queueMicrotask(() => this.#flush());
    this.#woken.add(connection);
  }

  #flush(): void {
    const woken = this.#woken;
    this.#woken = new Set();
    for (const connection of woken) connection.flush();
  }
}
