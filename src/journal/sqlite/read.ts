/**
 * Reading and counting entries, by the primary key or by the index of topics.
 *
 * @module
 */
import type { JournalEntry } from "../journal.ts";
import { countOf, integer } from "./schema.ts";
import type { SqlRow, SqlStore } from "./store.ts";
import { fromColumn, toColumn } from "./text.ts";

/** How many rows are fetched at once. */
const ROWS = 32;

/** How many units of text a page may hold before it ends early; an event may be a megabyte. */
const PAGE_LENGTH = 4 * 1024 * 1024;

/** The least number of offsets that are looked up for each of many topics. */
const LEAST_OFFSETS = 64;

const QUERIES = {
  all: `SELECT offset, topic, name, data, at FROM tidemark_entries
    WHERE offset > ? AND offset <= ? ORDER BY offset LIMIT ?`,
  topic: `SELECT offset, topic, name, data, at FROM tidemark_entries
    WHERE topic = ? AND offset > ? AND offset <= ? ORDER BY offset LIMIT ?`,
  offsets: `SELECT offset FROM tidemark_entries
    WHERE topic = ? AND offset > ? AND offset <= ? ORDER BY offset LIMIT ?`,
  count: `SELECT count(*) AS n FROM (SELECT 1 FROM tidemark_entries
    WHERE topic = ? AND offset > ? AND offset <= ? LIMIT ?)`,
} as const;

/** A span of offsets: after one, exclusive, up to another, inclusive. */
export interface Span {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly upTo: number;
}

/** Entries, and how far they are all that match. */
export interface Found {
  /** The entries, oldest first. */
  readonly entries: readonly JournalEntry[];
  /** Every match up to this offset is among them. */
  readonly through: number;
}

/**
 * Reads entries.
 *
 * @param store The database.
 * @param topics Their topics; `null` for all.
 * @param span Where they stand.
 * @param limit The most of them.
 * @returns Those of them that make a page: at least one, when there is one.
 */
export function readEntries(
  store: SqlStore,
  topics: readonly string[] | null,
  span: Span,
  limit: number,
): Found {
  if (span.upTo <= span.after) return { entries: [], through: span.upTo };
  if (topics === null) return readRows(store, QUERIES.all, [], span, limit);
  const distinct = [...new Set(topics)];
  const [only] = distinct;
  if (only === undefined) return { entries: [], through: span.upTo };
  if (distinct.length === 1) return readRows(store, QUERIES.topic, [only], span, limit);
  return mergeTopics(store, distinct, span, limit);
}

/**
 * Counts entries of topics by the index alone.
 *
 * @param store The database.
 * @param topics Their topics.
 * @param span Where they stand.
 * @param enough Where the counting stops.
 * @returns How many there are; `enough` when there are more.
 */
export function countEntries(
  store: SqlStore,
  topics: readonly string[],
  { after, upTo }: Span,
  enough: number,
): number {
  let count = 0;
  for (const topic of new Set(topics)) {
    if (count >= enough || upTo <= after) break;
    count += countOf(store.all(QUERIES.count, toColumn(topic), after, upTo, enough - count));
  }
  return count;
}

function readRows(
  store: SqlStore,
  sql: string,
  topic: readonly string[],
  { after, upTo }: Span,
  limit: number,
): Found {
  const entries: JournalEntry[] = [];
  const values = topic.map(toColumn);
  let position = after;
  let length = 0;
  while (entries.length < limit && length < PAGE_LENGTH) {
    const wanted = Math.min(ROWS, limit - entries.length);
    const rows = store.all(sql, ...values, position, upTo, wanted);
    for (const row of rows) {
      const entry = toEntry(row);
      entries.push(entry);
      position = entry.offset;
      length += entry.data.length + entry.name.length + entry.topic.length;
    }
    if (rows.length < wanted) return { entries, through: upTo };
  }
  return { entries, through: position };
}

/**
 * Looks up where the next entries of each topic stand, keeps the first of them all, and reads those.
 * One statement over all topics would sort everything that they ever held, for each page anew.
 */
function mergeTopics(
  store: SqlStore,
  topics: readonly string[],
  { after, upTo }: Span,
  limit: number,
): Found {
  const each = Math.min(limit, Math.max(LEAST_OFFSETS, Math.ceil(2 * limit / topics.length)));
  let through = upTo;
  const places: { readonly topic: string; readonly offset: number }[] = [];
  for (const topic of topics) {
    const rows = store.all(QUERIES.offsets, toColumn(topic), after, through, each);
    for (const row of rows) places.push({ topic, offset: integer(row, "offset") });
    // More of this topic may stand behind these: the page ends here at the latest.
    if (rows.length === each) through = places.at(-1)?.offset ?? through;
  }
  const chosen = places.filter(({ offset }) => offset <= through)
    .sort((a, b) => a.offset - b.offset);
  if (chosen.length > limit) through = chosen[limit - 1]?.offset ?? through;
  return readPlaces(store, chosen.slice(0, limit).map(({ offset }) => offset), through);
}

function readPlaces(store: SqlStore, offsets: readonly number[], through: number): Found {
  const entries: JournalEntry[] = [];
  let length = 0;
  for (const offset of offsets) {
    const row = store.all(QUERIES.all, offset - 1, offset, 1)[0];
    if (row === undefined) continue;
    const entry = toEntry(row);
    entries.push(entry);
    length += entry.data.length + entry.name.length + entry.topic.length;
    if (length >= PAGE_LENGTH) return { entries, through: offset };
  }
  return { entries, through };
}

function toEntry(row: SqlRow): JournalEntry {
  return {
    offset: integer(row, "offset"),
    topic: fromColumn(row, "topic"),
    name: fromColumn(row, "name"),
    data: fromColumn(row, "data"),
    at: integer(row, "at"),
  };
}
