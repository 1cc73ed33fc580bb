/**
 * Following a journal into a hub: every entry, the pod's own too, in the journal's order.
 *
 * @module
 */
import { JournalEpochError, JournalError, JournalGapError } from "../errors/journal.ts";
import type { Roster } from "../hub/roster.ts";
import { pause } from "../hub/spread.ts";
import type { Journal, JournalEntry } from "../journal/journal.ts";
import { errorForLog } from "../wire/text.ts";

/** How long it waits before it follows a journal anew that was away: twice as long each time. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 5000;

/** What one pod has of a journal. */
export class Tailer {
  readonly #journal: Journal;
  readonly #roster: Roster;
  readonly #stopped = new AbortController();
  #newest: JournalEntry | null = null;
  #waitMs = FIRST_WAIT_MS;
  #reached: (() => void)[] = [];
  #goal = 0;

  /**
   * @param journal The journal.
   * @param roster The hub's connections, which have begun the journal's sequence.
   */
  constructor(journal: Journal, roster: Roster) {
    this.#journal = journal;
    this.#roster = roster;
  }

  /**
   * Follows until it is stopped.
   *
   * @param goal An offset to be told of.
   * @returns Settles when the hub has that offset.
   */
  start(goal: number): Promise<void> {
    this.#goal = goal;
    void this.#run();
    if (this.#roster.log.head >= goal) return Promise.resolve();
    return new Promise((resolve) => this.#reached.push(resolve));
  }

  /** Follows no longer. */
  stop(): void {
    this.#stopped.abort();
    this.#tellReached();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let resumed = false;
    while (!signal.aborted) {
      try {
        if (resumed) await this.#compare();
        resumed = true;
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error);
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { log } = this.#roster;
    const { epoch, head: after } = log;
    for await (const entries of this.#journal.tail({ epoch, after, signal })) {
      if (signal.aborted) return;
      for (const entry of entries) this.#roster.ingest(entry);
      this.#newest = entries[entries.length - 1] ?? this.#newest;
      if (this.#waitMs > FIRST_WAIT_MS) {
        this.#roster.settings.logger.info("The journal is followed again");
      }
      this.#waitMs = FIRST_WAIT_MS;
      if (log.head >= this.#goal) this.#tellReached();
    }
    if (!signal.aborted) throw new JournalError("unavailable", "its tail ended");
  }

  /**
   * A store that was away may have come back as an older copy that has grown on: then another entry
   * stands at an offset that this pod has given out.
   */
  async #compare(): Promise<void> {
    const known = this.#newest;
    const { epoch, head } = this.#roster.log;
    if (known === null || known.offset !== head) return;
    const { entries: [entry], ...window } = await this.#journal.read({
      ...{ after: head - 1, upTo: head, topics: null, limit: 1 },
    });
    if (window.epoch !== epoch) return;
    // Trimmed away meanwhile: then there is nothing to compare.
    const differs = entry === undefined ? window.floor <= head : !same(entry, known);
    if (!differs) return;
    throw new JournalEpochError({ epoch, offset: head }, { epoch, offset: window.head });
  }

  async #recover(error: unknown): Promise<void> {
    const { logger, clock } = this.#roster.settings;
    try {
      if (error instanceof JournalEpochError) return await this.#changeEpoch(error);
      if (error instanceof JournalGapError) return this.#skip(error);
    } catch (failed) {
      error = failed;
    }
    // Once, and not with each attempt.
    if (this.#waitMs === FIRST_WAIT_MS) {
      logger.warn(`The journal cannot be followed: ${errorForLog(error)}`);
    }
    const waitMs = this.#waitMs * (0.5 + Math.random() / 2);
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
    await pause(clock, waitMs, this.#stopped.signal);
  }

  /** The sequence is another one, or has lost what this pod has given out: cursors must not lie. */
  async #changeEpoch({ expected, found }: JournalEpochError): Promise<void> {
    const { log, settings } = this.#roster;
    if (found.epoch === expected.epoch) await this.#journal.rotate(expected.epoch);
    const window = await this.#journal.window();
    const { epoch, head } = window;
    // Those who say goodbye are still given what stood under the old one.
    if (this.#stopped.signal.aborted) return;
    // Not at once again: a store whose copies disagree would be asked without end.
    if (epoch === log.epoch) throw new JournalError("unavailable", "it names two epochs");
    settings.logger.warn(
      `The journal has another epoch now: every client is sent away to be judged anew`,
    );
    this.#newest = null;
    this.#roster.backlog?.note(window);
    this.#roster.begin(epoch, head);
    this.#tellReached();
  }

  /** This pod was away for so long that entries it has not seen are gone: no client may pass them. */
  #skip({ floor }: JournalGapError): void {
    const { log, settings } = this.#roster;
    settings.logger.warn(
      `The journal no longer holds what follows ${log.head}: every client is sent away to be judged`,
    );
    this.#newest = null;
    this.#roster.backlog?.note({ floor });
    this.#roster.begin(log.epoch, floor - 1);
    if (log.head >= this.#goal) this.#tellReached();
  }

  #tellReached(): void {
    for (const resolve of this.#reached.splice(0)) resolve();
  }
}

function same(a: JournalEntry, b: JournalEntry): boolean {
  return a.topic === b.topic && a.name === b.name && a.data === b.data && a.at === b.at;
}
