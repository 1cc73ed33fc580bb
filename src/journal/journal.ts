/**
 * The durable log behind a hub: what it keeps, and what it promises, whoever keeps it.
 *
 * A journal owns the sequence. It gives each event its offset, and every pod that reads it shows the
 * same cursor for the same event; so a client that lands on another pod, or that comes back after all
 * of them were restarted, resumes.
 *
 * Two rules make a cursor true, and every adapter keeps both:
 *
 * - **An offset is never used twice under one epoch.** Retention and a purge keep the epoch, for they
 *   keep the numbering. Losing the counter (a store that came back empty, or an older copy of it)
 *   changes the epoch.
 * - **No holes inside.** Between the floor and the head nothing is missing but numbers that were never
 *   given to an event. A store that is set up to drop entries from the middle is refused when it is
 *   opened.
 *
 * @module
 */

/** An event to keep. It has been checked: its name, its topic and its data may be sent. */
export interface JournalEvent {
  /** Who receives it; `""` for a broadcast. */
  readonly topic: string;
  /** The `event:` field; `""` for none. */
  readonly name: string;
  /** The payload. It may hold any well-formed text, U+0000 and line ends of every kind included. */
  readonly data: string;
  /** When it was published, in milliseconds since the Unix epoch, by the clock of who published it. */
  readonly at: number;
  /**
   * What makes a repetition known: an append whose outcome is unknown is repeated under the same id,
   * and stored once. 1 to 128 printable ASCII characters. Without one the adapter makes its own, where
   * an append can have an unknown outcome at all.
   */
  readonly id?: string;
}

/** An event that is kept, and its place. */
export interface JournalEntry {
  /** Its offset: above that of every entry before it. Numbers may be skipped. */
  readonly offset: number;
  /** As in {@linkcode JournalEvent}. */
  readonly topic: string;
  /** As in {@linkcode JournalEvent}. */
  readonly name: string;
  /** As in {@linkcode JournalEvent}. */
  readonly data: string;
  /** As in {@linkcode JournalEvent}. */
  readonly at: number;
}

/** Where an event was stored. */
export interface Appended {
  /** The epoch of the sequence at that instant. */
  readonly epoch: string;
  /** The entry's offset. */
  readonly offset: number;
}

/** What a journal holds at one instant. */
export interface JournalWindow {
  /** The epoch of the sequence: 16 lowercase hex characters. */
  readonly epoch: string;
  /** The oldest offset that may still be read: everything after `floor - 1` is there. At least 1;
   * `head + 1` when nothing is held. */
  readonly floor: number;
  /** The newest offset that was ever given; 0 before the first. */
  readonly head: number;
}

/** Which entries to count. */
export interface JournalRange {
  /** The offset after which they stand, exclusive; 0 for the beginning. */
  readonly after: number;
  /** The offset up to which they stand, inclusive; the head by default. */
  readonly upTo?: number;
  /** Only entries of exactly these topics (`""` names the broadcasts); `null` for all. */
  readonly topics: readonly string[] | null;
}

/** Which entries to read. */
export interface JournalQuery extends JournalRange {
  /** The most entries of one page; at least 1. */
  readonly limit: number;
}

/** A part of a journal, whole between its ends. */
export interface JournalPage extends JournalWindow {
  /** The matching entries, oldest first. */
  readonly entries: readonly JournalEntry[];
  /**
   * Every matching entry after `after` and up to this offset, that is still held, is in `entries`. The
   * next page is read after it. At least `after`.
   *
   * Whether something was trimmed away in between is for the reader to see: the page is without a hole
   * when `floor <= after + 1`. The window was read no earlier than the entries.
   */
  readonly through: number;
}

/** From where to follow a journal. */
export interface TailOptions {
  /** The epoch that the reader believes in. */
  readonly epoch: string;
  /** The offset after which to begin, exclusive. */
  readonly after: number;
  /** Ends the following. */
  readonly signal: AbortSignal;
}

/** A durable log of events. One object serves one hub; {@linkcode Journal.close} it after the hub. */
export interface Journal {
  /**
   * The most bytes of UTF-8 that topic, name and data of one event may have together, when the store
   * has such a bound; `Infinity` when only the wire's holds.
   */
  readonly maxBytes: number;

  /** Whether nobody else can have the store open: then there are no other pods. Not, by default. */
  readonly sole?: boolean;

  /**
   * What is held now.
   *
   * @returns The window.
   * @throws {JournalError} When the store cannot be asked.
   */
  window(): Promise<JournalWindow>;

  /**
   * Stores an event. Events appended one after another, without waiting, through one object are stored
   * in that order; what many callers append meanwhile may be stored together, and none waits for
   * company.
   *
   * @param event The event.
   * @returns Where it was stored, once it is as durable as the store makes it.
   * @throws {JournalError} When it was not stored, and never will be.
   * @throws {AppendUnknownError} When it is not known whether it was stored: it may yet be delivered.
   * Repeat it with the error's id.
   */
  append(event: JournalEvent): Promise<Appended>;

  /**
   * Reads one page. No cursor of the store stays open between two pages. It settles in bounded time,
   * for a client waits for it: a store that does not answer is `unavailable`.
   *
   * @param query Which entries, and how many at most.
   * @returns The page.
   * @throws {JournalError} When the store cannot be asked.
   */
  read(query: JournalQuery): Promise<JournalPage>;

  /**
   * Counts entries by an index, not by reading them.
   *
   * @param range Which.
   * @param enough Where the counting may stop.
   * @returns How many there are; any number from `enough` on when there are at least as many.
   * @throws {JournalError} When the store cannot be asked.
   */
  count(range: JournalRange, enough: number): Promise<number>;

  /**
   * Follows the journal: every entry after an offset, in order, in batches, as soon as it is stored,
   * by whichever pod.
   *
   * @param options From where, and until when.
   * @returns The batches, none of them empty. It ends quietly when the signal aborts. A reader that is
   * slow holds no other, and is never ahead of what it has taken.
   * @throws {JournalEpochError} When the sequence is not the one named, or no longer, or when its head
   * is below the offset: seen with each batch, and at least once a second while nothing comes.
   * @throws {JournalGapError} When what stands after the offset has been trimmed away.
   * @throws {JournalError} When the store is away. Whoever still wants to know follows it anew.
   */
  tail(options: TailOptions): AsyncIterable<readonly JournalEntry[]>;

  /**
   * Gives the sequence a new epoch, that was never used before: every cursor of the old one is void.
   * Of many who ask at once for the same, one changes it.
   *
   * The numbering goes on, and nothing of the old epoch is readable under the new one: afterwards the
   * window is `floor = head + 1` with the head as it was. So no offset is used twice even where the
   * numbers are the store's own (a stream's sequence), and no reader of the new epoch is shown what
   * may contradict what it saw under the old one. An entry that is stored while the change goes on
   * belongs to the one epoch or to the other. A store may delete the old entries or only hide them;
   * the new epoch and its first offset outlast a restart.
   *
   * @param from The epoch that is to end.
   * @returns The epoch that holds now: the new one, or that of whoever came first.
   * @throws {JournalError} When the store cannot be asked.
   */
  rotate(from: string): Promise<string>;

  /**
   * Lets go of the store. Appends that have begun are finished first; whatever is asked afterwards is
   * rejected. The connection or the file that the application handed in stays its own.
   */
  close(): Promise<void>;
}
