/**
 * Following a journal without a clock, where nobody else writes to it.
 *
 * @module
 */
import { Bell } from "../../journal/bell.ts";
import { follow } from "../../journal/follow.ts";
import type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  TailOptions,
} from "../../journal/journal.ts";

/**
 * A journal whose every change passes through here. Its tail looks after each of them, and never
 * because time has passed: as long as a timer is pending a Durable Object is not evicted, and billed.
 *
 * What the application does to the tables by itself is seen with the next append.
 */
export class SoleJournal implements Journal {
  readonly maxBytes: number;
  readonly sole = true;
  readonly #journal: Journal;
  readonly #bell = new Bell();

  /** @param journal The journal. */
  constructor(journal: Journal) {
    this.#journal = journal;
    this.maxBytes = journal.maxBytes;
  }

  window(): Promise<JournalWindow> {
    return this.#journal.window();
  }

  append(event: JournalEvent): Promise<Appended> {
    return this.#ringAfter(this.#journal.append(event));
  }

  read(query: JournalQuery): Promise<JournalPage> {
    return this.#journal.read(query);
  }

  count(range: JournalRange, enough: number): Promise<number> {
    return this.#journal.count(range, enough);
  }

  tail(options: TailOptions): AsyncIterable<readonly JournalEntry[]> {
    return follow(this, this.#bell, options, Infinity);
  }

  rotate(from: string): Promise<string> {
    return this.#ringAfter(this.#journal.rotate(from));
  }

  close(): Promise<void> {
    return this.#ringAfter(this.#journal.close());
  }

  /** After a failure too: what is not known to be stored may be. */
  #ringAfter<T>(change: Promise<T>): Promise<T> {
    return change.finally(() => this.#bell.ring());
  }
}
