/**
 * What the conformance suite is told about an implementation of a journal.
 *
 * @module
 */
import type { Journal } from "../journal.ts";
import type { RetentionOptions } from "../retention.ts";

/**
 * What only the owner of a store can do to it. Each is a method of {@linkcode JournalStore}; a case
 * that needs one which is not named in {@linkcode JournalSubject.hooks} is not listed.
 */
export type JournalHook = "restart" | "copy" | "empty" | "purge" | "foreignFormat";

/** A copy of a store as it was at one instant. */
export interface JournalStoreCopy {
  /**
   * Puts the copy in the place of what the store holds now. Journals are open meanwhile, and tails
   * run, as when a broker was restarted on an older copy of its data.
   */
  restore(): Promise<void>;
}

/** One store, empty when it is made, on which journals are opened. */
export interface JournalStore {
  /**
   * Opens a journal on the store. After it was closed, another one finds the same data.
   *
   * @param options The bounds of what is kept, as the adapter itself takes them.
   * @returns The journal. The suite closes it.
   */
  open(options: { readonly retention: RetentionOptions }): Promise<Journal>;

  /**
   * Makes the store apply its retention now, where it does so at a time of its own choosing that the
   * suite could not wait for. Without it the suite polls {@linkcode Journal.window}.
   */
  trim?(): Promise<void>;

  /** Restarts the broker and keeps its data; journals are open meanwhile. Settles when it is up. */
  restart?(): Promise<void>;

  /** Copies what the store holds; journals are open meanwhile. */
  copy?(): Promise<JournalStoreCopy>;

  /** Takes everything away, the counter and the epoch too; journals are open meanwhile. */
  empty?(): Promise<void>;

  /** Deletes all entries as the store's own tool does it, and keeps the numbering. */
  purge?(): Promise<void>;

  /** Makes the store one that an unknown version of the library wrote; no journal is open. */
  foreignFormat?(): Promise<void>;

  /** Lets go of everything; all journals are closed. Called once, at the end of each case. */
  dispose(): Promise<void>;
}

/** An implementation of a journal, for the conformance suite. */
export interface JournalSubject {
  /** Makes a new and empty store. Cases may run side by side, each on its own. */
  makeStore(): Promise<JournalStore>;

  /**
   * Who may have one store open at once: `"many"` journals, as several pods do, or `"one"`; then a
   * second one is refused with the fault `locked`.
   */
  readonly openers: "many" | "one";

  /** The optional methods of its stores that may be called; none by default. */
  readonly hooks?: readonly JournalHook[];

  /**
   * How long the suite waits for what must come about, in milliseconds; 10,000 by default. What the
   * contract itself gives a time for is not stretched by it.
   */
  readonly patienceMs?: number;

  /** How many random schedules the property case runs, each on a store of its own; 20 by default. */
  readonly schedules?: number;
}

/** One case of the suite. */
export interface JournalCase {
  /** What it expects, as a sentence. */
  readonly name: string;
  /**
   * Runs it on a store of its own.
   *
   * @returns Settles when it is over and everything is closed.
   * @throws {Error} When an expectation was not met; the message says which.
   */
  run(): Promise<void>;
}
