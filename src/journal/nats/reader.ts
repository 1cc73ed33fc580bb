/**
 * Reading and counting.
 *
 * A page of all topics, or of many, is read from one consumer of everything; one of a few topics from
 * a consumer for each, merged by offset: servers below 2.10 take one subject for a consumer. Where a
 * topic ends is asked of the stream's leader, so that a consumer on a server that is behind cannot
 * make a page look whole.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { JournalEntry, JournalPage, JournalQuery, JournalRange } from "../journal.ts";
import { Consumer } from "./consumer.ts";
import { toSubject } from "./record.ts";
import type { Store } from "./store.ts";

/** Up to how many topics each has a consumer of its own. */
const MAX_LANES = 16;

/** How many entries one page looks at, when it picks out topics itself. */
const SCAN_ENTRIES = 2048;

/** The most entries that are asked for at once. */
const MAX_BATCH = 4096;

/** The most bytes of one page, unless one message may have more. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** How long what must be there may take to come, in milliseconds. */
const COMES_MS = 2000;

/** A part of a page: all there is of its kind up to an offset. */
interface Part {
  readonly entries: readonly JournalEntry[];
  readonly through: number;
}

/** Where a part begins, where it ends, and how many entries it may have. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly limit: number;
  /** How many of its kind are read at once. */
  readonly lanes?: number;
}

/** Reads pages and counts, from one store. */
export class Reader {
  readonly #store: Store;

  /** @param store From which. */
  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Reads one page.
   *
   * @param query Which entries.
   * @returns The page.
   * @throws {JournalError} When the store cannot be asked.
   */
  async read({ after, upTo = Infinity, topics, limit }: JournalQuery): Promise<JournalPage> {
    const before = await this.#store.sequence.look();
    const end = Math.max(after, Math.min(upTo, before.head));
    const start = Math.max(after + 1, before.floor);
    const none = { entries: [], through: end };
    const wanted = topics === null ? null : [...new Set(topics)];
    const empty = start > end || wanted?.length === 0;
    const part = empty ? none : await this.#part(wanted, { start, end, limit });
    const { epoch, floor, head } = await this.#store.sequence.look();
    if (epoch !== before.epoch) return { epoch, floor, head, entries: [], through: after };
    if (topics === null) checkWhole(part.entries, Math.max(start, floor));
    // What is below the floor is no longer held.
    const through = Math.max(after, part.through, Math.min(end, floor - 1));
    if (through === after && after < end) {
      throw new JournalError(
        "unavailable",
        `nothing came after ${after}, though the head is ${head}`,
      );
    }
    return { epoch, floor, head, entries: part.entries, through };
  }

  /**
   * Counts entries by what the server counts for a consumer; all topics together need no counting.
   *
   * @param range Which.
   * @param enough Where the counting may stop.
   * @returns How many.
   * @throws {JournalError} When the store cannot be asked.
   */
  async count({ after, upTo = Infinity, topics }: JournalRange, enough: number): Promise<number> {
    const { floor, head } = await this.#store.sequence.look();
    const end = Math.min(upTo, head);
    const start = Math.max(after + 1, floor);
    if (start > end) return 0;
    if (topics === null) return end - start + 1;
    const subjects = [...new Set(topics)].map((topic) => toSubject(this.#store.name, topic));
    let count = 0;
    for (let i = 0; i < subjects.length && count < enough; i += MAX_LANES) {
      const some = subjects.slice(i, i + MAX_LANES);
      const counts = await Promise.all(some.map(async (subject) => {
        const from = await this.#pending(subject, start);
        return from === 0 || end >= head ? from : from - await this.#pending(subject, end + 1);
      }));
      for (const each of counts) count += Math.max(0, each);
    }
    return count;
  }

  async #pending(subject: string, start: number): Promise<number> {
    const consumer = await Consumer.create(this.#store, { subject, start });
    consumer.delete();
    return consumer.pending;
  }

  async #part(topics: readonly string[] | null, span: Span): Promise<Part> {
    if (topics === null) return await this.#fetch(undefined, span);
    if (topics.length > MAX_LANES) return await this.#scan(new Set(topics), span);
    const lanes = await this.#lanes(topics, span);
    if (lanes.length === 0) return { entries: [], through: span.end };
    // A share for each: so the page is bounded, and the first of each is among them.
    const limit = Math.ceil(span.limit / lanes.length);
    const parts = await Promise.all(lanes.map(async ({ subject, last }) => {
      const end = Math.min(span.end, last);
      const part = await this.#fetch(subject, { ...span, end, limit, lanes: lanes.length });
      return part.through >= last ? { ...part, through: span.end } : part;
    }));
    return merge(parts, span);
  }

  /** The topics that have anything from the beginning of a span on, and where each ends. */
  async #lanes(
    topics: readonly string[],
    { start }: Span,
  ): Promise<readonly { readonly subject: string; readonly last: number }[]> {
    const lanes = await Promise.all(topics.map(async (topic) => {
      const subject = toSubject(this.#store.name, topic);
      return { subject, last: await this.#store.stream.lastOf(subject) };
    }));
    return lanes.filter(({ last }) => last >= start);
  }

  /** Many topics: everything is read, for a bounded while, and the rest left out. */
  async #scan(topics: ReadonlySet<string>, span: Span): Promise<Part> {
    const limit = Math.max(span.limit, SCAN_ENTRIES);
    const { entries, through } = await this.#fetch(undefined, { ...span, limit });
    return cut(entries.filter(({ topic }) => topics.has(topic)), through, span.limit);
  }

  /** The entries of one subject, or of all, from one consumer. */
  async #fetch(subject: string | undefined, span: Span): Promise<Part> {
    const { start, end, limit, lanes = 1 } = span;
    const options = subject === undefined ? { start } : { start, subject };
    const consumer = await Consumer.create(this.#store, options);
    const entries: JournalEntry[] = [];
    const { signal } = new AbortController();
    // Without a subject nothing is left out between two entries.
    const most = subject === undefined ? Math.min(limit, end - start + 1) : limit;
    try {
      consumer.pull({
        batch: Math.min(most, MAX_BATCH),
        // Twice what one may have: a pull must not end before its first message.
        bytes: Math.max(Math.floor(PAGE_BYTES / lanes), 2 * this.#store.messageBytes),
        expiresMs: COMES_MS,
      });
      for (;;) {
        const { rings } = consumer.bell;
        entries.push(...consumer.take());
        const last = entries.at(-1)?.offset ?? 0;
        // An entry beyond the end shows that there is none before it which has not come.
        if (last >= end) return cut(entries.filter(({ offset }) => offset <= end), end, limit);
        if (consumer.ended) return cut(entries, last, limit);
        if (consumer.bell.rings === rings) {
          await consumer.bell.wait(consumer.patienceMs, signal);
        }
      }
    } finally {
      consumer.delete();
    }
  }
}

/** Parts as one: whole as far as all of them are. */
function merge(parts: readonly Part[], { end, limit }: Span): Part {
  const through = parts.reduce((least, part) => Math.min(least, part.through), end);
  const entries = parts.flatMap((part) => part.entries)
    .filter(({ offset }) => offset <= through)
    .sort((a, b) => a.offset - b.offset);
  return cut(entries, through, limit);
}

/** Of all topics nothing is left out: each number has its entry. */
function checkWhole(entries: readonly JournalEntry[], start: number): void {
  let expected = start;
  for (const { offset } of entries) {
    if (offset < start) continue;
    if (offset !== expected++) {
      throw new JournalError("damaged", `the entry ${expected - 1} is missing from the stream`);
    }
  }
}

function cut(entries: readonly JournalEntry[], through: number, limit: number): Part {
  if (entries.length <= limit) return { entries, through };
  const kept = entries.slice(0, limit);
  return { entries: kept, through: kept.at(-1)?.offset ?? 0 };
}
