/**
 * What was published in batches, and the counting of what became of it.
 *
 * @module
 */
import type { Heard } from "./journal_listener.ts";

/** What is wrong with what somebody was given. Each number must be 0. */
export interface Wrongs {
  /** Acknowledged, and not given; or something else in its place. */
  readonly lost: number;
  /** Given twice. */
  readonly twice: number;
  /** Given after what was published after it. */
  readonly disordered: number;
  /** Given, and never published; or of another epoch. */
  readonly strange: number;
}

/** One batch: so many events of the same data, on one topic. */
interface Batch {
  readonly writer: number;
  readonly n: number;
  readonly topic: string;
  /** The offsets, once they were acknowledged; `null` while that is in doubt. */
  offsets: readonly number[] | null;
}

/** The book of what writers have published, one batch after the other. */
export class BatchLedger {
  readonly #size: number;
  readonly #batches = new Map<string, Batch>();

  /** @param size How many events one batch has. */
  constructor(size: number) {
    this.#size = size;
  }

  /** How many events were acknowledged. */
  get acknowledged(): number {
    return this.#count(({ offsets }) => offsets !== null) * this.#size;
  }

  /** How many batches it is not known of whether they were stored. */
  get doubtful(): number {
    return this.#count(({ offsets }) => offsets === null);
  }

  /** The highest offset that was acknowledged; 0 for none. */
  highest = 0;

  /**
   * Opens a batch, before it is sent.
   *
   * @param writer Who sends it.
   * @param n Its number among those of that writer, growing.
   * @param topic Its topic.
   * @returns The data of its events.
   */
  begin(writer: number, n: number, topic: string): string {
    const data = `${writer}.${n}`;
    this.#batches.set(data, { writer, n, topic, offsets: null });
    return data;
  }

  /**
   * Notes that a batch was acknowledged.
   *
   * @param data The data of its events.
   * @param offsets Where they were said to be stored.
   */
  acknowledge(data: string, offsets: readonly number[]): void {
    const batch = this.#batches.get(data);
    if (batch === undefined || offsets.length !== this.#size) {
      throw new Error(`The batch ${data} was acknowledged with ${offsets.length} offsets`);
    }
    batch.offsets = offsets;
    this.highest = Math.max(this.highest, ...offsets);
  }

  /**
   * Counts what is wrong with what somebody was given who was there from the beginning.
   *
   * @param heard What it was given, in order.
   * @param epoch The epoch in which all of it was published.
   * @param topic The topic that it listened to; everything by default.
   */
  audit(heard: readonly Heard[], epoch: string, topic?: string): Wrongs {
    const at = new Map(heard.map(({ offset, data }) => [offset, data]));
    const given = new Map<string, number>();
    const newest = new Map<number, number>();
    let [twice, disordered, strange, last] = [heard.length - at.size, 0, 0, 0];
    for (const { epoch: of, offset, data } of heard) {
      const batch = this.#batches.get(data);
      if (of !== epoch || batch === undefined || batch.topic !== (topic ?? batch.topic)) {
        strange++;
        continue;
      }
      if (offset < last || batch.n < (newest.get(batch.writer) ?? 0)) disordered++;
      last = Math.max(last, offset);
      newest.set(batch.writer, batch.n);
      given.set(data, (given.get(data) ?? 0) + 1);
    }
    // A batch in doubt was stored in part, or whole, or not; never more than whole.
    for (const count of given.values()) twice += Math.max(0, count - this.#size);
    let lost = 0;
    for (const [data, batch] of this.#batches) {
      if (batch.topic !== (topic ?? batch.topic)) continue;
      for (const offset of batch.offsets ?? []) if (at.get(offset) !== data) lost++;
    }
    return { lost, twice, disordered, strange };
  }

  #count(which: (batch: Batch) => boolean): number {
    let count = 0;
    for (const batch of this.#batches.values()) if (which(batch)) count++;
    return count;
  }
}
