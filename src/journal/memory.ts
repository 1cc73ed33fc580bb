/**
 * A journal in memory: for tests, and for a server that is one process and need not outlast it.
 *
 * @module
 */
import { JournalError } from "../errors/journal.ts";
import { follow } from "./follow.ts";
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
} from "./journal.ts";
import { MemoryLog } from "./memory_log.ts";
import { readRetention, type RetentionOptions } from "./retention.ts";

export type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  RetentionOptions,
  TailOptions,
};

/** Options of a journal in memory. */
export interface MemoryJournalOptions {
  /** How much is kept; 7 days by default, as far as the memory reaches. */
  readonly retention?: RetentionOptions;
}

/** Entries in memory, on which journals are opened: one for each pod of a test, one after another. */
export interface MemoryStore {
  /**
   * Opens a journal. All of them share the entries, the epoch and the bounds.
   *
   * @param options The bounds, from now on; by default they stay as they are.
   * @returns A journal, to be closed by whoever opened it.
   * @throws {ConfigError} When a bound makes no sense.
   */
  open(options?: MemoryJournalOptions): Journal;
}

/**
 * Makes a journal in memory, on entries of its own. One object can be handed to several hubs of the
 * process. An event's age counts from when it was appended. The newest 65,536 ids are remembered.
 *
 * @param options How much is kept.
 * @returns The journal. What it holds is gone when nothing refers to it any more.
 * @throws {ConfigError} When a bound makes no sense.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createMemoryJournal } from "@tidemark/sse/journal/memory";
 *
 * const journal = createMemoryJournal({ retention: { maxEntries: 1000 } });
 * const { epoch, offset } = await journal.append({
 *   topic: "orders",
 *   name: "order",
 *   data: "1",
 *   at: Date.now(),
 * });
 * assertEquals([offset, await journal.window()], [1, { epoch, floor: 1, head: 1 }]);
 * await journal.close();
 * ```
 */
export function createMemoryJournal(options: MemoryJournalOptions = {}): Journal {
  return createMemoryStore(options).open();
}

/**
 * Makes a store in memory, for several journals on the same entries.
 *
 * @param options How much is kept.
 * @returns The store.
 * @throws {ConfigError} When a bound makes no sense.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createMemoryStore } from "@tidemark/sse/journal/memory";
 *
 * const store = createMemoryStore();
 * const [one, other] = [store.open(), store.open()];
 * await one.append({ topic: "", name: "tick", data: "1", at: Date.now() });
 * await one.close();
 * assertEquals((await other.window()).head, 1);
 * await other.close();
 * ```
 */
export function createMemoryStore(options: MemoryJournalOptions = {}): MemoryStore {
  const log = new MemoryLog(readRetention(options.retention));
  return {
    open({ retention }: MemoryJournalOptions = {}): Journal {
      if (retention !== undefined) log.bound(readRetention(retention));
      return new MemoryJournal(log);
    },
  };
}

/** A journal on a log. Everything is done when its method returns; the promise only carries it. */
class MemoryJournal implements Journal {
  readonly maxBytes = Infinity;
  readonly #log: MemoryLog;
  #closed = false;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  window(): Promise<JournalWindow> {
    return settled(() => this.#open().window());
  }

  append(event: JournalEvent): Promise<Appended> {
    return settled(() => this.#open().append(event));
  }

  read(query: JournalQuery): Promise<JournalPage> {
    return settled(() => this.#open().read(query));
  }

  count(range: JournalRange, enough: number): Promise<number> {
    return settled(() => this.#open().count(range, enough));
  }

  tail(options: TailOptions): AsyncIterable<readonly JournalEntry[]> {
    return follow(this, this.#log.bell, options);
  }

  rotate(from: string): Promise<string> {
    return settled(() => this.#open().rotate(from));
  }

  close(): Promise<void> {
    this.#closed = true;
    // Its tails look, and see it.
    this.#log.bell.ring();
    return Promise.resolve();
  }

  #open(): MemoryLog {
    if (this.#closed) throw new JournalError("closed", "it has been closed");
    return this.#log;
  }
}

/** What is thrown becomes a rejection. */
function settled<T>(act: () => T): Promise<T> {
  return new Promise((resolve) => resolve(act()));
}
