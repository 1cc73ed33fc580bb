/**
 * Reading the journal for one connection: a page at a time, the next one when the socket has taken
 * this one.
 *
 * @module
 */
import type { JournalEntry, JournalPage } from "../journal/journal.ts";
import type { Backlog } from "./backlog.ts";

/** How many bytes of data a page should have, and how many entries it may. */
const PAGE_BYTES = 262_144;
const MAX_PAGE_ENTRIES = 512;

/** The entries of the first page, when nothing is known of their size. */
const FIRST_PAGE_ENTRIES = 32;

/** What a look at the next entry gives. */
export type Look =
  | { readonly kind: "entry"; readonly entry: JournalEntry }
  /** Everything up to the end has been given. */
  | { readonly kind: "end" }
  /** A page is on its way; whoever asked is woken when it is there. */
  | { readonly kind: "wait" }
  /** What stood after the position, up to before the floor, has been trimmed away. */
  | { readonly kind: "hole"; readonly floor: number }
  /** The journal cannot be read, or is another one now. */
  | { readonly kind: "broken" };

/** A reader of some topics' entries between two offsets. */
export class Pages {
  readonly #backlog: Backlog;
  readonly #topics: readonly string[] | null;
  readonly #epoch: string;
  readonly #wake: () => void;
  readonly #upTo: number;
  /** Up to here everything was given. */
  #position: number;
  #page: JournalPage | null = null;
  #next = 0;
  #asking = false;
  #broken = false;

  /**
   * @param backlog The journal.
   * @param epoch The epoch that the offsets belong to.
   * @param range The first offset, exclusive, the last one, inclusive, and exactly which topics.
   * @param wake Called when there is something to look at.
   */
  constructor(
    backlog: Backlog,
    epoch: string,
    range: {
      readonly after: number;
      readonly upTo: number;
      readonly topics: readonly string[] | null;
    },
    wake: () => void,
  ) {
    this.#backlog = backlog;
    this.#epoch = epoch;
    this.#position = range.after;
    this.#upTo = range.upTo;
    this.#topics = range.topics;
    this.#wake = wake;
  }

  /** Up to which offset everything was given. */
  get position(): number {
    return this.#position;
  }

  /** What comes next; an entry until it is {@linkcode take}n. Asks for a page where there is none. */
  look(): Look {
    if (this.#broken) return { kind: "broken" };
    if (this.#page !== null) {
      const { floor, entries, through } = this.#page;
      if (floor > this.#position + 1 && this.#next === 0) {
        const first = entries[0]?.offset ?? Infinity;
        if (first > this.#position + 1) return { kind: "hole", floor: Math.min(floor, first) };
      }
      const entry = entries[this.#next];
      if (entry !== undefined) return { kind: "entry", entry };
      this.#position = Math.max(this.#position, through);
    }
    if (this.#position >= this.#upTo) return { kind: "end" };
    this.#ask();
    return { kind: "wait" };
  }

  /** The entry that {@linkcode look} showed was given. */
  take(): void {
    const entry = this.#page?.entries[this.#next];
    if (entry === undefined) return;
    this.#next++;
    this.#position = entry.offset;
  }

  /**
   * Goes on behind a hole.
   *
   * @param floor The oldest offset that is still held.
   */
  pass(floor: number): void {
    this.#position = Math.max(this.#position, floor - 1);
  }

  /**
   * Goes on behind a hole that has grown since the page was read: the page is let go.
   *
   * @param floor The oldest offset that is still held.
   */
  skip(floor: number): void {
    this.#page = null;
    this.#next = 0;
    this.pass(floor);
  }

  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    const range = { after: this.#position, upTo: this.#upTo, topics: this.#topics };
    this.#backlog.page(range, entriesAfter(this.#page)).then((page) => {
      this.#asking = false;
      this.#next = 0;
      this.#page = page;
      // One whose head is lower is an older copy: what is to come is not in it.
      this.#broken = page === null || page.epoch !== this.#epoch || page.head < this.#upTo;
      this.#wake();
    });
  }
}

/** As many as fit, by the size of those before. */
function entriesAfter(page: JournalPage | null): number {
  if (page === null || page.entries.length === 0) return FIRST_PAGE_ENTRIES;
  const characters = page.entries.reduce((sum, { data }) => sum + data.length + 1, 0);
  const fitting = Math.floor(PAGE_BYTES * page.entries.length / characters);
  return Math.max(1, Math.min(fitting, MAX_PAGE_ENTRIES));
}
