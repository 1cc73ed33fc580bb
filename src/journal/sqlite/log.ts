/**
 * The sequence in its tables: storing, reading, trimming and renaming it, each in one step.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { eventBytes } from "../event_bytes.ts";
import type {
  Appended,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
} from "../journal.ts";
import type { Retention } from "../retention.ts";
import { isTableMissing } from "./faults.ts";
import { floorOf } from "./floor.ts";
import { countEntries, readEntries, type Span } from "./read.ts";
import {
  changeEpoch,
  integer,
  type Mark,
  markFrom,
  type Meta,
  prepareTables,
  readMeta,
} from "./schema.ts";
import type { SqlStore } from "./store.ts";
import { toColumn } from "./text.ts";

/** The least number of rows that one step of trimming deletes, when there are so many to delete. */
const TRIM_ROWS = 64;

const INSERT = `INSERT INTO tidemark_entries (offset, topic, name, data, at, latest, before, id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

/** What one transaction has stored. */
export interface Stored {
  /** Where each event stands. */
  readonly places: readonly Appended[];
  /** The epoch in which they were stored. */
  readonly epoch: string;
  /** The head since. */
  readonly head: number;
  /** Where reading begins since. */
  readonly floor: number;
}

/** The sequence. Whoever holds it is the only one who writes to its tables. */
export class SqlLog {
  readonly #store: SqlStore;
  readonly #retention: Retention;
  readonly #now: () => number;
  /** What the record held when we last wrote it, or first read it. */
  #known: { readonly epoch: string; readonly head: number };
  /** What readers may be told of: up to here it is on disk. */
  #settled: number;
  /** Where reading began last: it does not go back when the clock does. */
  #floor = 1;

  /**
   * Makes the tables where there are none.
   *
   * @param store The database.
   * @param retention What is kept.
   * @param now The time, in milliseconds since the Unix epoch.
   * @throws {JournalError} When the tables are not those of a journal.
   */
  constructor(store: SqlStore, retention: Retention, now: () => number) {
    this.#store = store;
    this.#retention = retention;
    this.#now = now;
    this.#known = store.transaction(() => {
      prepareTables(store);
      return present(readMeta(store));
    });
    this.#settled = this.#known.head;
  }

  /**
   * Stores events as one: all of them, or none.
   *
   * @param events Which.
   * @returns Where they stand; readers do not see them until {@linkcode settle}.
   */
  append(events: readonly JournalEvent[]): Stored {
    const meta = this.#meta();
    const stored = this.#store.transaction(() => this.#insert(meta, events));
    // Not before the commit: what was undone has moved nothing.
    this.#known = stored;
    this.#floor = stored.floor;
    return stored;
  }

  /**
   * Lets readers see what is on disk now.
   *
   * @param stored What is.
   */
  settle({ epoch, head }: Pick<Stored, "epoch" | "head">): void {
    if (epoch === this.#known.epoch) this.#settled = Math.max(this.#settled, head);
  }

  /** What is held. */
  window(): JournalWindow {
    return this.#windowOf(this.#meta());
  }

  /**
   * Reads a page.
   *
   * @param query Which entries.
   * @returns The page.
   */
  read(query: JournalQuery): JournalPage {
    const window = this.window();
    const span = within(query, window);
    const { entries, through } = readEntries(this.#store, query.topics, span, query.limit);
    return { ...window, entries, through: Math.max(query.after, through) };
  }

  /**
   * Counts entries.
   *
   * @param range Which.
   * @param enough Where the counting may stop.
   * @returns How many.
   */
  count(range: JournalRange, enough: number): number {
    const span = within(range, this.window());
    // Offsets are given without a hole, and only the oldest entries leave.
    if (range.topics === null) return Math.max(0, span.upTo - span.after);
    return countEntries(this.#store, range.topics, span, enough);
  }

  /**
   * Gives the sequence a new epoch, if it still has the one named.
   *
   * @param from The epoch that is to end.
   * @returns The epoch since.
   */
  rotate(from: string): string {
    const { epoch, head } = this.#meta();
    if (epoch !== from) return epoch;
    this.#known = { epoch: changeEpoch(this.#store), head };
    this.#floor = head + 1;
    return this.#known.epoch;
  }

  /**
   * Deletes some of what no bound lets stay.
   *
   * @param rows The most rows.
   * @returns Whether there is more.
   */
  trim(rows: number): boolean {
    const meta = this.#meta();
    const floor = this.#floorOf(meta);
    if (floor === meta.floor && (meta.first?.offset ?? floor) >= floor) return false;
    return this.#store.transaction(() => {
      // A bound that is wider next time does not bring back what this one has dropped.
      this.#store.run("UPDATE tidemark_journal SET floor = ?", floor);
      return this.#delete(meta.first, floor, rows);
    });
  }

  /**
   * The record, if it is still as we left it. Nobody else may write it: when it is not, the database
   * was put back to an earlier state, or was emptied, and its numbers may have been used.
   */
  #meta(): Meta {
    let meta: Meta | undefined;
    try {
      meta = readMeta(this.#store);
    } catch (error) {
      if (!isTableMissing(error)) throw error;
    }
    const { epoch, head } = this.#known;
    return meta?.epoch === epoch && meta.head === head ? meta : this.#adopt();
  }

  #adopt(): Meta {
    const store = this.#store;
    const meta = store.transaction(() => {
      prepareTables(store);
      changeEpoch(store);
      return present(readMeta(store));
    });
    this.#known = meta;
    this.#settled = meta.head;
    this.#floor = meta.floor;
    return meta;
  }

  #windowOf(meta: Meta): JournalWindow {
    const head = Math.min(meta.head, this.#settled);
    this.#floor = this.#floorOf(meta);
    return { epoch: meta.epoch, floor: Math.min(this.#floor, head + 1), head };
  }

  #insert(meta: Meta, events: readonly JournalEvent[]): Stored {
    const { epoch } = meta;
    let { head, bytes, latest } = meta;
    const places = events.map((event): Appended => {
      const known = event.id === undefined ? undefined : this.#offsetOf(event.id, meta.floor);
      if (known !== undefined) return { epoch, offset: known };
      const { topic, name, data, at, id = null } = event;
      head++;
      const earlier = at < latest ? latest : null;
      const texts = [toColumn(topic), toColumn(name), toColumn(data)] as const;
      this.#store.run(INSERT, head, ...texts, at, earlier, bytes, id);
      latest = earlier ?? at;
      bytes += eventBytes(event);
      return { epoch, offset: head };
    });
    const first = meta.first ?? markFrom(this.#store, meta.head + 1) ?? null;
    const floor = this.#floorOf({ ...meta, first, head, bytes, latest });
    const sql = "UPDATE tidemark_journal SET head = ?, floor = ?, bytes = ?, latest = ?";
    this.#store.run(sql, head, floor, bytes, latest);
    // Twice as many as came: a journal that is too long grows shorter, and no append waits long.
    this.#delete(first, floor, Math.max(TRIM_ROWS, 2 * events.length));
    return { places, epoch, head, floor };
  }

  #offsetOf(id: string, floor: number): number | undefined {
    const row = this.#store.all("SELECT offset FROM tidemark_entries WHERE id = ?", id)[0];
    if (row === undefined) return undefined;
    const offset = integer(row, "offset");
    if (offset >= floor) return offset;
    // It is gone already, but for the deleting.
    this.#store.run("UPDATE tidemark_entries SET id = NULL WHERE offset = ?", offset);
    return undefined;
  }

  #floorOf(meta: Meta): number {
    return Math.max(this.#floor, floorOf(this.#store, meta, this.#retention, this.#now()));
  }

  #delete(first: Mark | null, floor: number, rows: number): boolean {
    if (first === null || first.offset >= floor) return false;
    const end = Math.min(floor, first.offset + rows);
    this.#store.run("DELETE FROM tidemark_entries WHERE offset < ?", end);
    return end < floor;
  }
}

function present(meta: Meta | undefined): Meta {
  if (meta === undefined) throw new JournalError("damaged", "its record is missing");
  return meta;
}

/** The part of a range that is held. */
function within({ after, upTo = Infinity }: JournalRange, { floor, head }: JournalWindow): Span {
  return { after: Math.max(after, floor - 1), upTo: Math.min(upTo, head) };
}
