/**
 * What can go wrong with a journal.
 *
 * @module
 */
import { TidemarkError } from "../errors.ts";

/**
 * What is the matter with a journal's store.
 *
 * - `unavailable`: it is away, or does not answer; it may come back.
 * - `unsafe`: it is set up so that entries could vanish from the middle.
 * - `locked`: somebody else has it open who must not.
 * - `full`: it takes nothing more.
 * - `damaged`: what it holds contradicts itself.
 * - `format`: it was written by a version of this library that this one does not know.
 * - `too_large`: the event is above the store's bound.
 * - `closed`: the journal has been closed.
 * - `failed`: it refused for a reason of its own.
 */
export type JournalFault =
  | "unavailable"
  | "unsafe"
  | "locked"
  | "full"
  | "damaged"
  | "format"
  | "too_large"
  | "closed"
  | "failed";

/** A journal could not be opened, written or read. An event that met it is not stored. */
export class JournalError extends TidemarkError {
  /** What is the matter. */
  readonly fault: JournalFault;

  /**
   * Makes the error.
   *
   * @param fault What is the matter.
   * @param reason What was wrong, and the bound it broke.
   * @param cause What the store threw.
   */
  constructor(fault: JournalFault, reason: string, cause?: unknown) {
    super("journal", `Cannot use the journal: ${reason}`);
    this.fault = fault;
    if (cause !== undefined) this.cause = cause;
  }
}

/**
 * It is not known whether an event was stored: the store did not answer in time. It may yet be
 * delivered. Publish it again with the same id: it will be there once.
 */
export class AppendUnknownError extends TidemarkError {
  /** The id to repeat. */
  readonly id: string;

  /**
   * Makes the error.
   *
   * @param id The id under which the event may have been stored.
   * @param reason Why it is not known.
   * @param cause What the store's client threw.
   */
  constructor(id: string, reason: string, cause?: unknown) {
    super("append_unknown", `Cannot say whether the event was stored: ${reason}`);
    this.id = id;
    if (cause !== undefined) this.cause = cause;
  }
}

/** A journal's sequence is not the one that a reader was following: its cursors mean nothing now. */
export class JournalEpochError extends TidemarkError {
  /** Where the reader stood. */
  readonly expected: { readonly epoch: string; readonly offset: number };
  /** What the journal holds: its epoch, and its head as `offset`. */
  readonly found: { readonly epoch: string; readonly offset: number };

  /**
   * Makes the error.
   *
   * @param expected Where the reader stood.
   * @param found What the journal holds.
   */
  constructor(
    expected: { readonly epoch: string; readonly offset: number },
    found: { readonly epoch: string; readonly offset: number },
  ) {
    const what = expected.epoch === found.epoch
      ? `its head is ${found.offset}, below the offset ${expected.offset} that was read`
      : `its epoch is ${found.epoch}, not ${expected.epoch}`;
    super("journal_epoch", `Cannot follow the journal: ${what}`);
    this.expected = expected;
    this.found = found;
  }
}

/** What stands after an offset is no longer in a journal. */
export class JournalGapError extends TidemarkError {
  /** The offset after which something is missing. */
  readonly after: number;
  /** The oldest offset that is still there. */
  readonly floor: number;

  /**
   * Makes the error.
   *
   * @param after The offset after which something is missing.
   * @param floor The oldest offset that is still there.
   */
  constructor(after: number, floor: number) {
    super("journal_gap", `Cannot follow the journal after ${after}: it begins at ${floor} now`);
    this.after = after;
    this.floor = floor;
  }
}
