/**
 * What one connection of the hop is made of, on the object's side.
 *
 * @module
 */
import type { DepartureCause } from "../../../hub/presence.ts";
import type { Journal, JournalEntry } from "../../../journal/journal.ts";
import type { WindowCounts } from "./window.ts";

/** A topic's past that is still to be sent. */
export interface PendingHistory {
  /** The topic. */
  readonly topic: string;
  /** Sent up to here; `null` while it is being found out where it begins. */
  after: number | null;
  /** What stands behind comes live. */
  readonly upTo: number;
  /** Whether its beginning was sent. */
  begun: boolean;
  /** It was said that nothing is missing after this offset; `Infinity` where it was not. */
  wholeAfter: number;
}

/** What a socket's attachment holds: all that is needed to go on after the object's memory is gone. */
export interface HopSaved extends WindowCounts {
  /** Marks the attachment as the hop's. */
  readonly tidemark: 1;
  /** The connection's id. */
  readonly connection: string;
  /** The epoch of its offsets. */
  readonly epoch: string;
  /** Everything that is its, up to here, was sent. */
  readonly position: number;
  /** Whether it had everything that was stored. */
  readonly live: boolean;
  /** Whether a hook's frames were still to come: only the memory that is gone knew them. */
  readonly opening: boolean;
  /** The pasts that are still to be sent. */
  readonly histories: readonly PendingHistory[];
}

/** What a connection reads, shared by all. */
export interface HopSource {
  /** The journal. */
  readonly journal: Pick<Journal, "read">;
  /** The epoch of the sequence. */
  readonly epoch: string;
  /** Up to here everything was handed to those who are live. */
  readonly head: number;
}

/** A connection's socket. */
export interface HopPort {
  /** Sends a message; one that the socket does not take any more is dropped. */
  send(message: Uint8Array | string): void;
  /** Keeps what is needed to go on. */
  save(saved: HopSaved): void;
  /**
   * Closes it.
   *
   * @param kept Whether its Worker may ask for the same connection again.
   * @param cause Why it has ended, where it has.
   */
  close(kept: boolean, cause: DepartureCause): void;
}

/** An event that was just stored, encoded once for all. */
export interface LiveEvent {
  /** The event. */
  readonly entry: JournalEntry;
  /** The size of its frame. */
  readonly size: number;
  /** The frame as a message, whose position is its own offset. */
  readonly message: Uint8Array;
}
