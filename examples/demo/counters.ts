/**
 * How many events each topic has had, at any cursor: an event is stored a moment after it was numbered,
 * and a page is told only of what it can have received.
 *
 * @module
 */

/** The topics whose events are counted. An event's name is its topic: the wire carries no topics. */
export const TOPICS = ["cpu", "memory", "delay", "burst"] as const;

/** One of {@linkcode TOPICS}. */
export type Topic = typeof TOPICS[number];

/** The last number of each topic. */
export type Counts = Readonly<Record<Topic, number>>;

/** The counters of one process. */
export class Counters {
  readonly #given = zeros();
  readonly #stored = zeros();
  /** What is stored and not counted yet, by offset. */
  #notes: { readonly offset: number; readonly topic: Topic; readonly n: number }[] = [];

  /**
   * Numbers an event.
   *
   * @param topic Its topic.
   * @returns Its number within the topic, from 1.
   */
  next(topic: Topic): number {
    return ++this.#given[topic];
  }

  /** The last number that was given in a topic, stored or not. */
  last(topic: Topic): number {
    return this.#given[topic];
  }

  /**
   * Notes that an event was stored. Events are noted in the order of their offsets.
   *
   * @param topic Its topic.
   * @param n Its number.
   * @param offset Its offset.
   */
  note(topic: Topic, n: number, offset: number): void {
    this.#notes.push({ topic, n, offset });
  }

  /**
   * The counters at a head.
   *
   * @param head The head, not below an earlier one; `Infinity` for all that was noted.
   * @returns The last number of each topic at or below it.
   */
  at(head: number): Counts {
    const beyond = this.#notes.findIndex(({ offset }) => offset > head);
    for (const { topic, n } of this.#notes.splice(0, beyond === -1 ? Infinity : beyond)) {
      this.#stored[topic] = n;
    }
    return { ...this.#stored };
  }
}

function zeros(): Record<Topic, number> {
  return { cpu: 0, memory: 0, delay: 0, burst: 0 };
}
