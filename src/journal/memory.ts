/**
 * A journal in memory: for tests, and for a server that is one process and need not outlast it.
 *
 * @module
 */
import { JournalError } from "../errors.ts";
import { Bell } from "./bell.ts";
import { newEpoch } from "./epoch.ts";
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
import { type Held, Run } from "./memory_run.ts";
import { readRetention, type Retention, type RetentionOptions } from "./retention.ts";

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

/** How many ids are remembered: a repetition comes soon, if it comes at all. */
const MAX_IDS = 65_536;

const encoder = new TextEncoder();

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
  const log = new Log(readRetention(options.retention));
  return {
    open({ retention }: MemoryJournalOptions = {}): Journal {
      if (retention !== undefined) log.bound(readRetention(retention));
      return new MemoryJournal(log);
    },
  };
}

/** The entries, with an index by topic. */
class Log {
  /** Rings after each append, and when an epoch or a journal ends. */
  readonly bell = new Bell();
  #retention: Retention;
  #epoch = newEpoch();
  #head = 0;
  #floor = 1;
  #bytes = 0;
  #all = new Run();
  #topics = new Map<string, Run>();
  #ids = new Map<string, Appended>();

  constructor(retention: Retention) {
    this.#retention = retention;
  }

  bound(retention: Retention): void {
    this.#retention = retention;
    if (!this.#counted) return;
    // What came while nobody counted.
    this.#bytes = 0;
    for (const held of this.#all.after(0)) {
      held.bytes = sizeOf(held.entry);
      this.#bytes += held.bytes;
    }
  }

  window(): JournalWindow {
    this.#trim();
    return { epoch: this.#epoch, floor: this.#floor, head: this.#head };
  }

  append(event: JournalEvent): Appended {
    const { topic, name, data, at, id } = event;
    const known = id === undefined ? undefined : this.#ids.get(id);
    if (known !== undefined) return known;
    const offset = this.#head + 1;
    const bytes = this.#counted ? sizeOf(event) : 0;
    const held = { entry: { offset, topic, name, data, at }, bytes, born: performance.now() };
    this.#head = offset;
    this.#bytes += bytes;
    this.#all.push(held);
    this.#topicRun(topic).push(held);
    const appended = { epoch: this.#epoch, offset };
    if (id !== undefined) this.#remember(id, appended);
    this.#trim();
    this.bell.ring();
    return appended;
  }

  read({ after, upTo = Infinity, topics, limit }: JournalQuery): JournalPage {
    const window = this.window();
    const end = Math.max(after, Math.min(upTo, window.head));
    const runs = this.#runs(topics);
    const whole = countIn(runs, after, end) <= limit;
    const through = whole ? end : this.#reach(runs, after, limit);
    const entries: JournalEntry[] = [];
    for (const run of runs) {
      for (const { entry } of run.after(after, through)) entries.push(entry);
    }
    if (runs.length > 1) entries.sort((a, b) => a.offset - b.offset);
    return { ...window, entries, through };
  }

  count({ after, upTo = Infinity, topics }: JournalRange, enough: number): number {
    this.#trim();
    return countIn(this.#runs(topics), after, Math.min(upTo, this.#head), enough);
  }

  rotate(from: string): string {
    if (from !== this.#epoch) return this.#epoch;
    this.#epoch = newEpoch();
    this.#floor = this.#head + 1;
    this.#bytes = 0;
    this.#all = new Run();
    this.#topics = new Map();
    // A repetition of what nobody can read any more is another event.
    this.#ids = new Map();
    this.bell.ring();
    return this.#epoch;
  }

  /** A bound that is not there is not worth encoding every event for. */
  get #counted(): boolean {
    return this.#retention.maxBytes !== Infinity;
  }

  /** The offset up to which some runs have exactly so many entries after another one. */
  #reach(runs: readonly Run[], after: number, limit: number): number {
    let low = after;
    let high = this.#head;
    while (high - low > 1) {
      const middle = low + Math.floor((high - low) / 2);
      if (countIn(runs, after, middle) < limit) low = middle;
      else high = middle;
    }
    return high;
  }

  #runs(topics: readonly string[] | null): readonly Run[] {
    if (topics === null) return [this.#all];
    return [...new Set(topics)].flatMap((topic) => this.#topics.get(topic) ?? []);
  }

  #topicRun(topic: string): Run {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const run = new Run();
    this.#topics.set(topic, run);
    return run;
  }

  #remember(id: string, appended: Appended): void {
    this.#ids.set(id, appended);
    if (this.#ids.size <= MAX_IDS) return;
    for (const oldest of this.#ids.keys()) {
      this.#ids.delete(oldest);
      break;
    }
  }

  #trim(): void {
    const { maxEntries, maxAgeMs, maxBytes } = this.#retention;
    const born = maxAgeMs === Infinity ? -Infinity : performance.now() - maxAgeMs;
    for (;;) {
      const oldest = this.#all.first;
      if (oldest === undefined) return;
      const over = this.#all.length > maxEntries || this.#bytes > maxBytes;
      if (!over && oldest.born > born) return;
      this.#drop(oldest);
    }
  }

  /** The oldest of all is the oldest of its topic. */
  #drop({ entry: { offset, topic }, bytes }: Held): void {
    this.#all.shift();
    this.#bytes -= bytes;
    this.#floor = offset + 1;
    const run = this.#topics.get(topic);
    run?.shift();
    if (run?.length === 0) this.#topics.delete(topic);
  }
}

/** A journal on a log. Everything is done when its method returns; the promise only carries it. */
class MemoryJournal implements Journal {
  readonly maxBytes = Infinity;
  readonly #log: Log;
  #closed = false;

  constructor(log: Log) {
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

  #open(): Log {
    if (this.#closed) throw new JournalError("closed", "it has been closed");
    return this.#log;
  }
}

/** What is thrown becomes a rejection. */
function settled<T>(act: () => T): Promise<T> {
  return new Promise((resolve) => resolve(act()));
}

function sizeOf({ topic, name, data }: JournalEvent): number {
  return encoder.encode(topic + name + data).length;
}

function countIn(runs: readonly Run[], after: number, upTo: number, enough = Infinity): number {
  let count = 0;
  for (const run of runs) {
    count += run.count(after, upTo);
    if (count >= enough) break;
  }
  return count;
}
