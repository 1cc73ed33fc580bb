/**
 * A reader that follows a journal to the end of a case and remembers what it saw.
 *
 * @module
 */
import { Bell } from "../bell.ts";
import type { Journal, JournalEntry } from "../journal.ts";
import { ensure, rejects, within } from "./expect.ts";

/** How a tail came to its end. */
export type TailEnd = { readonly error: unknown } | "quiet";

/** From where a follower begins, and how long it waits. */
export interface FollowerOptions {
  /** The epoch that it believes in. */
  readonly epoch: string;
  /** The offset after which it begins. */
  readonly after: number;
  /** How long it waits for what must come about, in milliseconds. */
  readonly patienceMs: number;
}

/** Follows a journal. */
export class Follower {
  readonly #patienceMs: number;
  readonly #abort = new AbortController();
  readonly #bell = new Bell();
  readonly #entries: JournalEntry[] = [];
  readonly #running: Promise<void>;
  #end: TailEnd | undefined;
  #broken: string | undefined;

  /**
   * Begins to follow.
   *
   * @param journal What is followed.
   * @param options From where.
   */
  constructor(journal: Pick<Journal, "tail">, options: FollowerOptions) {
    this.#patienceMs = options.patienceMs;
    this.#running = this.#run(journal, options);
  }

  /** Every entry that was seen so far. */
  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  /** How it ended; `undefined` while it goes on. */
  get end(): TailEnd | undefined {
    return this.#end;
  }

  /**
   * Waits until so many entries were seen.
   *
   * @param count How many.
   * @returns Exactly these.
   * @throws {Error} When there are more, when the tail ends, or when it takes too long.
   */
  async take(count: number): Promise<readonly JournalEntry[]> {
    await this.until(() => this.#entries.length >= count, `a tail to give ${count} entries`);
    const { length } = this.#entries;
    ensure(length === count, `a tail to give ${count} entries, it gave ${length}`);
    return this.#entries;
  }

  /**
   * Waits for a condition that entries bring about.
   *
   * @param check The condition.
   * @param what What it means.
   * @throws {Error} When the tail ends before, gives what no tail may, or takes too long.
   */
  async until(check: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      if (this.#broken !== undefined) throw new Error(this.#broken);
      if (check()) return;
      if (this.#end !== undefined) throw new Error(`Expected ${what}, it ended ${this.#how()}`);
      // Nothing rings for a reader that was given up.
      ensure(!this.#abort.signal.aborted, `${what}, it was aborted`);
      const ms = deadline - performance.now();
      const seen = `it gave ${this.#entries.length} entries in ${this.#patienceMs} ms`;
      ensure(ms > 0, `${what}, ${seen}`);
      await this.#bell.wait(ms, this.#abort.signal);
    }
  }

  /**
   * Waits until the tail ends with an error of one class.
   *
   * @param kind The class.
   * @param ms How long that may take, in milliseconds.
   * @returns The error.
   * @throws {Error} When it ends in another way, or does not end.
   */
  async fails<E extends Error>(kind: new (...args: never[]) => E, ms: number): Promise<E> {
    await within(this.#running, ms, `a tail to end with ${kind.name}`);
    if (this.#broken !== undefined) throw new Error(this.#broken);
    const end = this.#end;
    const ending = end === undefined || end === "quiet"
      ? Promise.resolve("a quiet end")
      : Promise.reject(end.error);
    return await rejects(ending, kind, "a tail");
  }

  /**
   * Aborts the tail.
   *
   * @param ms How long the end may take, in milliseconds.
   * @throws {Error} When it does not end, or not quietly.
   */
  async stop(ms: number = this.#patienceMs): Promise<void> {
    this.#abort.abort();
    await within(this.#running, ms, "a tail to end once its signal aborts");
    if (this.#broken !== undefined) throw new Error(this.#broken);
    ensure(
      this.#end === "quiet",
      `a tail to end quietly once its signal aborts, not ${this.#how()}`,
    );
  }

  /**
   * Aborts the tail, whatever became of it.
   *
   * @returns Settles when it is over, or was given up.
   */
  async discard(): Promise<void> {
    this.#abort.abort();
    await within(this.#running, this.#patienceMs, "a tail to end").catch(() => {});
  }

  async #run(journal: Pick<Journal, "tail">, { epoch, after }: FollowerOptions): Promise<void> {
    let position = after;
    try {
      for await (const batch of journal.tail({ epoch, after, signal: this.#abort.signal })) {
        if (batch.length === 0) this.#broken ??= "Expected a tail to give no empty batch";
        for (const entry of batch) {
          if (entry.offset <= position) {
            this.#broken ??= `Expected a tail to give offsets above ${position} next, it gave ` +
              `${entry.offset}`;
          }
          position = entry.offset;
          this.#entries.push(entry);
        }
        this.#bell.ring();
      }
      this.#end = "quiet";
    } catch (error) {
      this.#end = { error };
    }
    this.#bell.ring();
  }

  #how(): string {
    return this.#end === "quiet" ? "quietly" : `with ${String(this.#end?.error)}`;
  }
}
