/**
 * What a case works with: one store, the journals on it, and the readers that follow them.
 *
 * @module
 */
import type { Journal, JournalEntry, JournalEvent, JournalWindow } from "../journal.ts";
import type { RetentionOptions } from "../retention.ts";
import { ensure, reason, show, within } from "./expect.ts";
import { Follower } from "./follower.ts";
import type { JournalHook, JournalStore, JournalSubject } from "./subject.ts";

/** How long the suite waits by default, in milliseconds. */
const PATIENCE_MS = 10_000;

/** How long to wait between two looks, in milliseconds. */
const POLL_MS = 20;

/** No bound at all: what a case does not speak of must not be trimmed. */
const KEEP: RetentionOptions = { maxAgeMs: 0 };

/**
 * How soon a tail tells of another epoch while nothing comes, in milliseconds: the second of
 * `Journal.tail`, and time for a busy machine.
 */
export const TELLS_MS = 4000;

/** How soon a tail ends when its signal aborts, in milliseconds. */
export const ENDS_MS = 1000;

/** A case before it is bound to an implementation. */
export interface Draft {
  /** What it expects, as a sentence. */
  readonly name: string;
  /** How many openers it needs; any by default. */
  readonly openers?: "many" | "one";
  /** The hooks that it needs. */
  readonly hooks?: readonly JournalHook[];
  /** What it does. */
  readonly body: (bench: Bench) => Promise<void>;
}

/** What a case works with. */
export class Bench {
  /** The implementation. */
  readonly subject: JournalSubject;
  /** The store. */
  readonly store: JournalStore;
  /** How long to wait for what must come about, in milliseconds. */
  readonly patienceMs: number;
  readonly #journals: Journal[] = [];
  readonly #followers: Follower[] = [];

  /**
   * @param subject The implementation.
   * @param store A new store.
   */
  constructor(subject: JournalSubject, store: JournalStore) {
    this.subject = subject;
    this.store = store;
    this.patienceMs = subject.patienceMs ?? PATIENCE_MS;
  }

  /** Opens a journal; without bounds unless some are given. */
  async open(retention: RetentionOptions = {}): Promise<Journal> {
    const options = { retention: { ...KEEP, ...retention } };
    const journal = await within(this.store.open(options), this.patienceMs, "the store to open");
    this.#journals.push(journal);
    return journal;
  }

  /** Closes a journal and opens another one. */
  async reopen(journal: Journal, retention: RetentionOptions = {}): Promise<Journal> {
    await within(journal.close(), this.patienceMs, "the journal to close");
    return await this.open(retention);
  }

  /** Follows a journal until the case is over. */
  follow(journal: Journal, from: { readonly epoch: string; readonly after: number }): Follower {
    const follower = new Follower(journal, { ...from, patienceMs: this.patienceMs });
    this.#followers.push(follower);
    return follower;
  }

  /** Waits until a check has an answer; a check that throws ends the waiting. */
  async eventually<T>(check: () => Promise<T | undefined>, what: string): Promise<T> {
    const deadline = performance.now() + this.patienceMs;
    for (;;) {
      const answer = await within(check(), this.patienceMs, what);
      if (answer !== undefined) return answer;
      ensure(performance.now() < deadline, `${what} within ${this.patienceMs} ms`);
      await new Promise<void>((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Waits until retention has done what a check wants to see; the window as it is then. */
  async trimmed(
    journal: Journal,
    check: (window: JournalWindow) => boolean | Promise<boolean>,
    what: string,
  ): Promise<JournalWindow> {
    let last: JournalWindow | undefined;
    const look = async (): Promise<JournalWindow | undefined> => {
      await this.store.trim?.();
      last = await journal.window();
      return await check(last) ? last : undefined;
    };
    await this.eventually(look, what).catch((error: unknown) => {
      throw new Error(`${reason(error)}; the window was ${show(last)}`, { cause: error });
    });
    // What was looked at before the check may be older than what the check saw.
    return await journal.window();
  }

  /** Ends the readers, closes the journals and lets go of the store. */
  async end(): Promise<void> {
    await Promise.all(this.#followers.map((follower) => follower.discard()));
    try {
      for (const journal of this.#journals) {
        await within(journal.close(), this.patienceMs, "the journal to close");
      }
    } finally {
      await within(this.store.dispose(), this.patienceMs, "the store to be disposed of");
    }
  }
}

/** An event that differs from every other with another number. */
export function makeEvent(n: number, fields: Partial<JournalEvent> = {}): JournalEvent {
  return { topic: "", name: "step", data: `event ${n}`, at: Date.now(), ...fields };
}

/**
 * Appends events in a row, without waiting between them.
 *
 * @param journal Where to.
 * @param events Which.
 * @returns What is now stored, as it must be read.
 */
export async function fill(
  journal: Journal,
  events: readonly JournalEvent[],
): Promise<JournalEntry[]> {
  const stored = await Promise.all(events.map((event) => journal.append(event)));
  return events.map((event, index) => asEntry(event, stored[index]?.offset ?? Number.NaN));
}

/** The entry that an event becomes. */
export function asEntry({ topic, name, data, at }: JournalEvent, offset: number): JournalEntry {
  return { offset, topic, name, data, at };
}

/** So many plain events. */
export function plain(count: number, from = 0): JournalEvent[] {
  return Array.from({ length: count }, (_, index) => makeEvent(from + index));
}

/** Everything that a journal holds, page by page. */
export async function readAll(
  journal: Journal,
  topics: readonly string[] | null = null,
  limit = 1000,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  let after = 0;
  for (;;) {
    const page = await journal.read({ after, topics, limit });
    entries.push(...page.entries);
    if (page.through >= page.head) return entries;
    ensure(page.through > after, `a page after ${after} to reach further, it was through ${after}`);
    after = page.through;
  }
}
