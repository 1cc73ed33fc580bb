/**
 * A journal over a sequence in tables: it gathers appends, wakes readers, and ends.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { Bell } from "../bell.ts";
import { eventBytes } from "../event_bytes.ts";
import { follow } from "../follow.ts";
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
} from "../journal.ts";
import type { Retention } from "../retention.ts";
import { asAppendError, asJournalError } from "./faults.ts";
import { SqlLog, type Stored } from "./log.ts";
import { CommitError, type SqlStore } from "./store.ts";
import { startTrimming } from "./trimming.ts";
import { soon } from "./turn.ts";

/** The most events of one transaction: so many take some ten milliseconds, when nothing else runs. */
const MAX_BATCH = 1000;

/** How often it is looked whether the file is still there, at most, in milliseconds. */
const INSPECT_MS = 1000;

/** What a journal is made with. */
export interface SqlJournalOptions {
  /** What is kept. */
  readonly retention: Retention;
  /** The most bytes of one event that the store takes. */
  readonly maxBytes: number;
  /** The time, in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Whether a timer deletes what is too old. */
  readonly timer: boolean;
}

interface Waiting {
  readonly event: JournalEvent;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: Error) => void;
}

/** A journal in SQLite. */
export class SqlJournal implements Journal {
  readonly maxBytes: number;
  readonly sole = true;
  readonly #store: SqlStore;
  readonly #log: SqlLog;
  readonly #bell = new Bell();
  readonly #stopTrimming: () => void;
  #queue: Waiting[] = [];
  #scheduled = false;
  #inspectAt = 0;
  #settling: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /**
   * Opens it.
   *
   * @param store The database, which is now the journal's.
   * @param options What is kept.
   * @throws What the database says, when it cannot be opened.
   */
  constructor(store: SqlStore, { retention, maxBytes, now, timer }: SqlJournalOptions) {
    this.#store = store;
    this.#log = new SqlLog(store, retention, now);
    // An event above the bound of all would leave in the instant in which it came.
    this.maxBytes = Math.min(maxBytes, retention.maxBytes);
    this.#stopTrimming = timer ? startTrimming((rows) => this.#log.trim(rows)) : () => {};
  }

  window(): Promise<JournalWindow> {
    return this.#ask(() => this.#log.window());
  }

  append(event: JournalEvent): Promise<Appended> {
    if (this.#closing !== undefined) return Promise.reject(closed());
    const bytes = this.maxBytes === Infinity ? 0 : eventBytes(event);
    if (bytes > this.maxBytes) {
      const reason = `the event has ${bytes} bytes, it may have ${this.maxBytes}`;
      return Promise.reject(new JournalError("too_large", reason));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ event, resolve, reject });
      this.#schedule();
    });
  }

  read(query: JournalQuery): Promise<JournalPage> {
    return this.#ask(() => this.#log.read(query));
  }

  count(range: JournalRange, enough: number): Promise<number> {
    return this.#ask(() => this.#log.count(range, enough));
  }

  tail(options: TailOptions): AsyncIterable<readonly JournalEntry[]> {
    return follow(this, this.#bell, options);
  }

  rotate(from: string): Promise<string> {
    return this.#ask(async () => {
      const epoch = this.#log.rotate(from);
      await this.#store.settle?.();
      this.#bell.ring();
      return epoch;
    });
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#stopTrimming();
    while (this.#queue.length > 0) this.#flush();
    await this.#settling;
    this.#trim();
    this.#store.release();
    // Those who follow it look once more, and hear that it is closed.
    this.#bell.ring();
  }

  async #ask<T>(body: () => T | Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw closed();
    try {
      this.#inspect();
      return await body();
    } catch (error) {
      throw asJournalError(error);
    }
  }

  /** For the floor alone, that the next one to open it finds it where clients were told. */
  #trim(): void {
    try {
      this.#log.trim(0);
    } catch {
      // It is read anew, then.
    }
  }

  #inspect(): void {
    const now = performance.now();
    if (this.#store.inspect === undefined || now < this.#inspectAt) return;
    this.#store.inspect();
    this.#inspectAt = now + INSPECT_MS;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    soon(() => {
      this.#scheduled = false;
      this.#flush();
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const batch = this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.slice(MAX_BATCH);
    try {
      this.#inspect();
    } catch (error) {
      reject(batch, error);
      return;
    }
    this.#writeOrHalve(batch);
  }

  /** One of them may be what the database would not take: it is not to fail the others. */
  #writeOrHalve(batch: readonly Waiting[]): void {
    if (batch.length === 0) return;
    try {
      this.#write(batch);
    } catch (error) {
      if (batch.length === 1 || !mayBeOnes(error)) {
        reject(batch, error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      this.#writeOrHalve(batch.slice(0, half));
      this.#writeOrHalve(batch.slice(half));
    }
  }

  #write(batch: readonly Waiting[]): void {
    const stored = this.#log.append(batch.map(({ event }) => event));
    if (this.#store.settle === undefined) {
      this.#tell(batch, stored);
      return;
    }
    // In their order, whatever the store's own order is.
    this.#settling = Promise.all([this.#settling, this.#store.settle()])
      .then(() => this.#tell(batch, stored), (error) => reject(batch, new CommitError(error)));
  }

  #tell(batch: readonly Waiting[], stored: Stored): void {
    this.#log.settle(stored);
    stored.places.forEach((place, index) => batch[index]?.resolve(place));
    this.#bell.ring();
  }
}

function reject(batch: readonly Waiting[], error: unknown): void {
  for (const { event, reject } of batch) reject(asAppendError(error, event.id));
}

/** Whether a failure may be one event's own, or may pass by a smaller one. */
function mayBeOnes(error: unknown): boolean {
  return ["full", "too_large", "failed"].includes(asJournalError(error).fault);
}

function closed(): JournalError {
  return new JournalError("closed", "it has been closed");
}
