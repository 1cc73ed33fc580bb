/**
 * Fan-out: a frame to every connection that listens, and once a turn what waits to their sinks.
 *
 * @module
 */
import type { Connection } from "./connection.ts";
import type { Frame } from "./ring.ts";
import { Subscribers } from "./subscribers.ts";
import type { Turn } from "./turn.ts";

/** The connections that receive, and those that have something to hand over. */
export class Fanout extends Subscribers<Connection> {
  readonly #turn: Turn;
  #woken: Connection[] = [];

  /** @param turn The time of a flush. */
  constructor(turn: Turn) {
    super();
    this.#turn = turn;
  }

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
   * @param connection The connection, once a turn.
   */
  wake(connection: Connection): void {
    if (this.#woken.push(connection) === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const woken = this.#woken;
    this.#woken = [];
    this.#turn.during(() => {
      for (const connection of woken) connection.flush();
    });
  }
}
