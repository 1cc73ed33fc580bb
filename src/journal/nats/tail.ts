/**
 * Following the stream from one pull consumer: nothing is asked for before what was given has been
 * taken, so a slow reader holds only itself.
 *
 * @module
 */
import { JournalEpochError, JournalError, JournalGapError } from "../../errors/journal.ts";
import type { JournalEntry, TailOptions } from "../journal.ts";
import { Consumer } from "./consumer.ts";
import { unreachable } from "./link.ts";
import type { Sight } from "./sequence.ts";
import { closedError, type Closing, type Store } from "./store.ts";

/** How many entries are asked for at once. */
const BATCH = 512;

/** The most bytes that are asked for at once, unless one message may have more. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** How many consumers in a row may give nothing that goes on. */
const MAX_FRUITLESS = 3;

/** How long a pull waits, in milliseconds: at its end a quiet journal is looked at. */
const LOOK_MS = 900;

/** Follows one store. */
export class Tail {
  readonly #store: Store;
  readonly #closing: Closing;
  readonly #options: TailOptions;
  #position: number;

  /**
   * @param store What is followed.
   * @param options From where, and until when.
   * @param closing Begins when the journal is closed.
   */
  constructor(store: Store, options: TailOptions, closing: Closing) {
    this.#store = store;
    this.#closing = closing;
    this.#options = options;
    this.#position = options.after;
  }

  /**
   * Follows.
   *
   * @returns The batches.
   * @throws What `Journal.tail` throws.
   */
  async *run(): AsyncGenerator<readonly JournalEntry[], void, undefined> {
    let fruitless = 0;
    while (this.#goesOn()) {
      const sight = await this.#answer(this.#store.sequence.look());
      if (sight === undefined) continue;
      this.#check(sight);
      const before = this.#position;
      const making = Consumer.create(this.#store, { start: before + 1 });
      const consumer = await this.#answer(making);
      if (consumer === undefined) {
        making.then((late) => late.delete(), () => {});
        continue;
      }
      const forget = this.#onEnd(() => consumer.delete());
      let whole = true;
      try {
        whole = yield* this.#follow(consumer);
      } finally {
        forget();
        consumer.delete();
      }
      fruitless = this.#position > before ? 0 : fruitless + 1;
      if (fruitless === MAX_FRUITLESS) {
        const reason = `the stream does not give what follows on ${before}`;
        throw new JournalError(whole ? "unavailable" : "damaged", reason);
      }
    }
  }

  /** Until the consumer is lost, or leaves something out: then it returns false. */
  async *#follow(consumer: Consumer): AsyncGenerator<readonly JournalEntry[], boolean, undefined> {
    const { sequence, link, messageBytes } = this.#store;
    const bytes = Math.max(BATCH_BYTES, 2 * messageBytes);
    const pull = { batch: BATCH, bytes, expiresMs: LOOK_MS };
    const forget = sequence.onDoubt(() => consumer.bell.ring());
    let silent = 0;
    try {
      consumer.pull(pull);
      while (this.#goesOn()) {
        const { rings } = consumer.bell;
        if (!link.up) throw unreachable();
        const { entries, whole } = this.#next(consumer.take());
        if (entries.length > 0) {
          silent = 0;
          if (!await this.#accept(entries)) continue;
          yield entries;
        }
        if (!whole || consumer.lost) return whole;
        if (consumer.ended) {
          const sight = entries.length > 0 ? null : await this.#answer(sequence.look());
          if (sight === undefined) continue;
          // The server has more, twice in a row, and it does not come.
          if (sight !== null && this.#check(sight) > this.#position && ++silent > 1) return true;
          consumer.pull(pull);
        } else if (sequence.stale) {
          const sight = await this.#answer(sequence.known());
          if (sight !== undefined) this.#check(sight);
        } else if (consumer.bell.rings === rings) {
          await consumer.bell.wait(consumer.patienceMs, this.#options.signal);
        }
      }
      return true;
    } finally {
      forget();
    }
  }

  /** Whether entries may be given: the epoch still holds, and somebody reads. */
  async #accept(entries: readonly JournalEntry[]): Promise<boolean> {
    const { sequence } = this.#store;
    const known = sequence.known();
    const sight = known instanceof Promise ? await this.#answer(known) : known;
    if (sight === undefined || !this.#goesOn()) return false;
    // The window may have been seen before these were stored: only the epoch counts.
    if (sight.epoch !== this.#options.epoch) this.#foreign(sight.epoch, sequence.highest);
    this.#position = entries.at(-1)?.offset ?? this.#position;
    sequence.saw(sight.epoch, this.#position);
    return true;
  }

  /** What goes on from the position without a gap. */
  #next(
    taken: readonly JournalEntry[],
  ): { readonly entries: readonly JournalEntry[]; readonly whole: boolean } {
    let expected = this.#position + 1;
    const gap = taken.findIndex(({ offset }) => offset !== expected++);
    if (gap < 0) return { entries: taken, whole: true };
    return { entries: taken.slice(0, gap), whole: false };
  }

  /** The head, when what was seen is what the reader believes in. */
  #check({ epoch, floor, head }: Sight): number {
    const position = this.#position;
    if (epoch !== this.#options.epoch || head < position) this.#foreign(epoch, head);
    if (floor > position + 1) throw new JournalGapError(position, floor);
    return head;
  }

  #foreign(epoch: string, head: number): never {
    const expected = { epoch: this.#options.epoch, offset: this.#position };
    throw new JournalEpochError(expected, { epoch, offset: head });
  }

  /** Whether anybody still reads. */
  #goesOn(): boolean {
    if (this.#options.signal.aborted) return false;
    if (this.#closing.begun) throw closedError();
    return true;
  }

  /** An answer; `undefined` when the following ends before it comes. */
  #answer<T>(asked: T | Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const forget = this.#onEnd(() => resolve(undefined));
      Promise.resolve(asked).then(resolve, reject).finally(forget);
    });
  }

  /** Calls back when the following ends, also while the reader is elsewhere. */
  #onEnd(end: () => void): () => void {
    const { signal } = this.#options;
    signal.addEventListener("abort", end);
    const forget = this.#closing.on(end);
    return () => {
      signal.removeEventListener("abort", end);
      forget();
    };
  }
}
