/**
 * What stands behind the ring: a journal, read page by page, by a few connections at a time.
 *
 * @module
 */
import type { Journal, JournalPage, JournalRange, JournalWindow } from "../journal/journal.ts";
import { errorForLog } from "../wire/text.ts";
import type { EventLog } from "./log.ts";
import type { HubSettings } from "./options.ts";

/** The most readers of the journal at once; more wait for their turn. */
const MAX_READERS = 16;

/** How long a question to the journal may take before a connection is not kept waiting any longer. */
const PATIENCE_MS = 2000;

/** How often, within its patience, a pod looks whether its tail has reached an offset. */
const REACH_MS = 20;

/** The journal behind one hub's ring. */
export class Backlog {
  readonly #journal: Journal;
  readonly #log: EventLog;
  readonly #settings: HubSettings;
  readonly #waiting = new Set<(wanted: boolean) => void>();
  #readers = 0;
  /** The floor that was last heard of. */
  #floor = 1;
  #failing = false;

  /**
   * @param journal The journal.
   * @param log The hub's sequence, which follows it.
   * @param settings The hub's settings.
   */
  constructor(journal: Journal, log: EventLog, settings: HubSettings) {
    this.#journal = journal;
    this.#log = log;
    this.#settings = settings;
  }

  /** The oldest offset that the journal was last known to hold; 0 when it holds none. */
  get floor(): number {
    return this.#floor > this.#log.head ? 0 : this.#floor;
  }

  /**
   * Notes what the journal holds.
   *
   * @param window What it said.
   */
  note({ floor }: Pick<JournalWindow, "floor">): void {
    this.#floor = floor;
  }

  /**
   * Waits until this pod has ingested an offset, or the journal says that it was never given.
   *
   * @param offset The offset, above the pod's head.
   * @returns Whether the pod has it, or nobody does; `null` when the journal did not say in time.
   */
  async reach(offset: number): Promise<boolean | null> {
    const window = await this.#ask(() => this.#journal.window());
    if (window === null) return null;
    this.note(window);
    // Of another epoch: whoever follows the journal will notice, and the cursor is void then.
    if (window.epoch !== this.#log.epoch || window.head < offset) return false;
    const { clock } = this.#settings;
    const until = clock.monotonic() + PATIENCE_MS;
    while (this.#log.head < offset) {
      if (clock.monotonic() >= until) return null;
      await new Promise<void>((resolve) => clock.after(REACH_MS, resolve));
    }
    return true;
  }

  /**
   * What stands in the journal for a connection.
   *
   * @param range Which entries.
   * @param enough Where the counting may stop.
   * @returns How many there are, and the window in which they were counted; `null` when the journal
   * did not say in time.
   */
  async measure(
    range: JournalRange,
    enough: number,
  ): Promise<{ readonly count: number; readonly window: JournalWindow } | null> {
    const measured = await this.#ask(async () => {
      const count = await this.#journal.count(range, enough);
      // Afterwards: what was trimmed meanwhile must be seen.
      return { count, window: await this.#journal.window() };
    });
    if (measured !== null) this.note(measured.window);
    return measured;
  }

  /**
   * Reads a page.
   *
   * @param range Which entries.
   * @param limit How many at most.
   * @returns The page; `null` when the journal cannot be read now.
   */
  async page(range: JournalRange, limit: number): Promise<JournalPage | null> {
    const page = await this.#turn(() => this.#journal.read({ ...range, limit }));
    if (page !== null) this.note(page);
    return page;
  }

  /**
   * Looks at the first entry.
   *
   * @param range Which entries.
   * @returns A page of at most one; `null` when the journal did not say in time.
   */
  peek(range: JournalRange): Promise<JournalPage | null> {
    return this.#ask(() => this.#journal.read({ ...range, limit: 1 }));
  }

  /** Asks, in turn, but not longer than a connection is kept waiting. */
  #ask<T>(question: () => Promise<T>): Promise<T | null> {
    return new Promise((resolve) => {
      const patience = new AbortController();
      const timer = this.#settings.clock.after(PATIENCE_MS, () => {
        patience.abort();
        resolve(null);
      });
      this.#turn(question, patience.signal).then((answer) => {
        timer.cancel();
        resolve(answer);
      });
    });
  }

  /** Settles with `null` when the journal fails: whoever asked goes without, and one line tells why. */
  async #turn<T>(read: () => Promise<T>, unwanted?: AbortSignal): Promise<T | null> {
    if (!await this.#place(unwanted)) return null;
    try {
      const answer = await read();
      this.#failing = false;
      return answer;
    } catch (error) {
      if (!this.#failing) {
        this.#settings.logger.warn(`The journal cannot be read: ${errorForLog(error)}`);
      }
      this.#failing = true;
      return null;
    } finally {
      // The place is handed on, not given up, so that none who came later takes it.
      const [next] = this.#waiting;
      if (next === undefined) this.#readers--;
      else next(true);
    }
  }

  /** Waits for a place; without end, unless it is no longer wanted: a journal may be away for long. */
  async #place(unwanted: AbortSignal | undefined): Promise<boolean> {
    if (this.#readers < MAX_READERS) {
      this.#readers++;
      return true;
    }
    return await new Promise<boolean>((resolve) => {
      const leave = (): void => settle(false);
      const settle = (wanted: boolean): void => {
        unwanted?.removeEventListener("abort", leave);
        this.#waiting.delete(settle);
        resolve(wanted);
      };
      this.#waiting.add(settle);
      unwanted?.addEventListener("abort", leave);
    });
  }
}
