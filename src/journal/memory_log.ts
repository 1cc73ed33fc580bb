/**
 * The entries of a journal in memory.
 *
 * @module
 */
import { Bell } from "./bell.ts";
import { newEpoch } from "./epoch.ts";
import { eventBytes } from "./event_bytes.ts";
import type {
  Appended,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
} from "./journal.ts";
import { type Held, Run } from "./memory_run.ts";
import type { Retention } from "./retention.ts";

/** How many ids are remembered: a repetition comes soon, if it comes at all. */
const MAX_IDS = 65_536;

/** Entries with an index by topic: pages and counts are found by bisection, not by a scan. */
export class MemoryLog {
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

  /** @param retention How much is kept. */
  constructor(retention: Retention) {
    this.#retention = retention;
  }

  /**
   * Changes the bounds, for what is there too.
   *
   * @param retention How much is kept from now on.
   */
  bound(retention: Retention): void {
    this.#retention = retention;
    if (!this.#counted) return;
    // What came while nobody counted.
    this.#bytes = 0;
    for (const held of this.#all.after(0)) {
      held.bytes = eventBytes(held.entry);
      this.#bytes += held.bytes;
    }
  }

  /** As `Journal.window`. */
  window(): JournalWindow {
    this.#trim();
    return { epoch: this.#epoch, floor: this.#floor, head: this.#head };
  }

  /** As `Journal.append`, done at once. */
  append(event: JournalEvent): Appended {
    const { topic, name, data, at, id } = event;
    const known = id === undefined ? undefined : this.#ids.get(id);
    if (known !== undefined) return known;
    const offset = this.#head + 1;
    const bytes = this.#counted ? eventBytes(event) : 0;
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

  /** As `Journal.read`. */
  read({ after, upTo = Infinity, topics, limit }: JournalQuery): JournalPage {
    const window = this.window();
    const end = Math.max(after, Math.min(upTo, window.head));
    const runs = this.#runs(topics);
    const whole = countIn(runs, after, end, limit + 1) <= limit;
    const through = whole ? end : this.#reach(runs, after, limit);
    const entries: JournalEntry[] = [];
    for (const run of runs) {
      for (const { entry } of run.after(after, through)) entries.push(entry);
    }
    if (runs.length > 1) entries.sort((a, b) => a.offset - b.offset);
    return { ...window, entries, through };
  }

  /** As `Journal.count`. */
  count({ after, upTo = Infinity, topics }: JournalRange, enough: number): number {
    this.#trim();
    return countIn(this.#runs(topics), after, Math.min(upTo, this.#head), enough);
  }

  /** As `Journal.rotate`. */
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
      if (countIn(runs, after, middle, limit) < limit) low = middle;
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

function countIn(runs: readonly Run[], after: number, upTo: number, enough = Infinity): number {
  let count = 0;
  for (const run of runs) {
    count += run.count(after, upTo);
    if (count >= enough) break;
  }
  return count;
}
