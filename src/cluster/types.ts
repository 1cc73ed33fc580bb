/**
 * What a hub is whose events a journal numbers.
 *
 * @module
 */
import type { HubOptions } from "../hub/options.ts";
import type { PublishEvent, StreamHub } from "../hub/types.ts";
import type { Journal } from "../journal/journal.ts";

/** Options of {@linkcode openHub}. */
export interface JournaledHubOptions extends HubOptions {
  /**
   * Where the events are kept. The ring in front of it holds 1024 events by default and needs no
   * `ttlMs`; `replay.replyMaxEvents` may be above the ring's size, and is 100 000 by default.
   */
  readonly journal: Journal;
}

/** An event for a journaled hub. */
export interface JournaledEvent extends PublishEvent {
  /**
   * Whether to wait until the event is stored; `true`. With `false` it is stored in the background, in
   * order with the others, and `publish` settles at once with 0: for what comes many times a second. A
   * failure is counted and logged, and nobody is told.
   */
  readonly ack?: boolean;
  /** Repeats a publication whose outcome is unknown: the id of an {@linkcode AppendUnknownError}. */
  readonly id?: string;
}

/** A hub whose events a journal numbers: a cursor holds on every pod, and after every restart. */
export interface JournaledHub extends StreamHub {
  /**
   * Stores an event, whence it reaches every pod's clients.
   *
   * @param event What to publish. Its data is read at once.
   * @returns Its offset, once it is stored; 0 for an ephemeral event, with `ack: false`, and after
   * shutdown. An ephemeral event stays on this pod, unless it has joined a relay.
   * @throws What {@linkcode Hub.publish} throws, as a rejection; nothing was stored then.
   * @throws {JournalError} When it was not stored; no client receives it.
   * @throws {AppendUnknownError} When it is not known whether it was stored, and it may yet be
   * delivered: publish it again with the error's id.
   */
  publish(event: JournaledEvent): Promise<number>;
}
