/**
 * A hub as somebody would keep it who never forgets: every event ever published, and which of them
 * the ring's bounds still allow. Verdicts and deliveries are judged from this whole history.
 *
 * @module
 */
import type { Verdict } from "../../src/wire/hello.ts";

/** One durable event, as it was published. */
export interface Published {
  /** Its offset. */
  readonly offset: number;
  /** Its topic; `""` for a broadcast. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
  /** Its data. */
  readonly data: string;
  /** The size of its frame in bytes. */
  readonly bytes: number;
  /** When it was published, on the monotonic clock. */
  readonly born: number;
  /** Whether it is no event, but a place where some are missing that nobody here ever had. */
  readonly gap?: boolean;
}

/** The bounds that decide what is held. */
export interface HistoryBounds {
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly ttlMs: number;
  readonly replyMaxEvents: number;
}

/** Everything that was ever published. */
export class History {
  /** The epoch. */
  readonly epoch: string;
  /** Every durable event. */
  readonly all: Published[] = [];
  readonly #bounds: HistoryBounds;
  /** How many of the oldest are no longer held: once evicted, an event never comes back. */
  #gone = 0;

  /**
   * @param epoch The epoch.
   * @param bounds The bounds.
   */
  constructor(epoch: string, bounds: HistoryBounds) {
    this.epoch = epoch;
    this.#bounds = bounds;
  }

  /** The newest offset. */
  get head(): number {
    return this.all.length;
  }

  /** What is held, oldest first. */
  get held(): readonly Published[] {
    return this.all.slice(this.#gone);
  }

  /** Remembers an event, and evicts what the bounds no longer allow. */
  publish(event: Omit<Published, "offset">): Published {
    const published = { ...event, offset: this.all.length + 1 };
    this.all.push(published);
    this.evict(event.born);
    return published;
  }

  /** Remembers that events are missing: that takes an offset, and is as old as an event. */
  gap(born: number): Published {
    return this.publish({ topic: "", name: "", data: "", bytes: 200, born, gap: true });
  }

  /** How often events went missing. */
  get gaps(): number {
    return this.all.filter(({ gap }) => gap === true).length;
  }

  /** The first place after an offset where events are missing; infinity for none. */
  gapAfter(offset: number): number {
    const found = this.all.find((event) => event.gap === true && event.offset > offset);
    return found?.offset ?? Infinity;
  }

  /** Evicts one by one from the oldest, until every bound holds. */
  evict(now: number): void {
    const { maxEvents, maxBytes, ttlMs } = this.#bounds;
    for (;;) {
      const [oldest] = this.held;
      if (oldest === undefined) return;
      const bytes = this.held.reduce((sum, event) => sum + event.bytes, 0);
      const tooOld = now - oldest.born > ttlMs;
      if (this.held.length <= maxEvents && bytes <= maxBytes && !tooOld) return;
      this.#gone++;
    }
  }

  /** Whether an event is held. */
  holds(event: Published): boolean {
    return event.offset > this.#gone;
  }

  /**
   * Every event between two offsets that a connection would have received.
   *
   * @param from Exclusive.
   * @param to Inclusive.
   * @param topics The connection's topics; `null` for everything.
   */
  matching(from: number, to: number, topics: readonly string[] | null): Published[] {
    return this.all.filter(({ offset, topic }) =>
      offset > from && offset <= to && hears(topics, topic)
    );
  }

  /**
   * The verdict on a cursor, from the words of the wire.
   *
   * @param presented What was presented.
   * @param topics The connection's topics; `null` for everything.
   */
  verdict(presented: string, topics: readonly string[] | null): Verdict {
    if (presented === "") return "fresh";
    const parts = /^([0-9a-f]{16}):(0|[1-9][0-9]*)$/.exec(presented);
    const [, epoch, digits] = parts ?? [];
    if (epoch === undefined || digits === undefined) return "cursor_invalid";
    if (BigInt(digits) > 9_007_199_254_740_991n) return "cursor_invalid";
    if (epoch !== this.epoch) return "epoch_changed";
    const offset = Number(digits);
    if (offset > this.head) return "gap_ahead";
    // What is missing is not even known: whoever stands before it may have missed anything.
    if (this.gapAfter(offset) !== Infinity) return "gap_floor";
    const missed = this.matching(offset, this.head, topics);
    if (!missed.every((event) => this.holds(event))) return "gap_floor";
    return missed.length > this.#bounds.replyMaxEvents ? "gap_budget" : "resumed";
  }
}

/** Whether a connection with these topics receives an event of a topic. */
export function hears(topics: readonly string[] | null, topic: string): boolean {
  return topics === null || topic === "" || topics.includes(topic);
}
