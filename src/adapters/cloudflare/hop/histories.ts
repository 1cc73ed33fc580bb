/**
 * The pasts of topics that one connection is still to be sent, one after another.
 *
 * @module
 */
import { historyFrame } from "../../../wire/control.ts";
import type { HopReader } from "./reader.ts";
import type { PendingHistory } from "./types.ts";

/** Lets a topic's past begin. */
export interface Past {
  /**
   * It is known where it begins.
   *
   * @param after After which offset.
   * @param wholeAfter After which offset it was said that nothing is missing.
   */
  start(after: number, wholeAfter?: number): void;
  /** Nobody wants it, if it has not been started. */
  forgo(): void;
}

/** The histories of one connection. */
export class HopHistories {
  readonly #pending: PendingHistory[];
  readonly #epoch: string;

  /**
   * @param saved Those that were pending when the object's memory went away.
   * @param epoch The epoch of their offsets.
   */
  constructor(saved: readonly PendingHistory[], epoch: string) {
    this.#pending = saved.map((history) => ({ ...history }));
    this.#epoch = epoch;
  }

  /** How many are still to be sent. */
  get length(): number {
    return this.#pending.length;
  }

  /** Those that are, as an attachment keeps them. */
  get saved(): readonly PendingHistory[] {
    return this.#pending;
  }

  /**
   * Adds one.
   *
   * @param topic The topic.
   * @param upTo Where it ends.
   * @param changed Called when there may be something to send.
   */
  add(topic: string, upTo: number, changed: () => void): Past {
    const history: PendingHistory = {
      topic,
      after: null,
      upTo,
      begun: false,
      wholeAfter: Infinity,
    };
    this.#pending.push(history);
    return {
      start(after, wholeAfter = Infinity) {
        history.wholeAfter = wholeAfter;
        history.after = Math.min(after, upTo);
        changed();
      },
      forgo: () => {
        const at = history.after === null ? this.#pending.indexOf(history) : -1;
        if (at !== -1) this.#pending.splice(at, 1);
        changed();
      },
    };
  }

  /** @param topic Its past is not wanted any more. */
  forgo(topic: string): void {
    const kept = this.#pending.filter((history) => history.begun || history.topic !== topic);
    this.#pending.splice(0, Infinity, ...kept);
    // Whoever was told that it begins is told that it ends.
    for (const history of kept) if (history.topic === topic) history.after = history.upTo;
  }

  /**
   * What is to be sent next.
   *
   * @param reader Reads it.
   * @param room How many bytes may be sent.
   * @returns The bytes; `wait` while it is not known where the next one begins, `broken` when it cannot
   * be what it was said to be.
   * @throws {JournalError} When the journal cannot be read.
   */
  async next(reader: HopReader, room: number): Promise<Uint8Array | "wait" | "broken"> {
    const history = this.#pending[0];
    if (history === undefined || history.after === null) return "wait";
    const { topic, after, upTo } = history;
    if (!history.begun) {
      history.begun = true;
      return historyFrame("begin", topic);
    }
    if (after >= upTo) {
      this.#pending.shift();
      return historyFrame("end", topic);
    }
    const wanted = { ids: false, matches: () => true };
    const piece = await reader.read({ after, upTo, topics: [topic] }, room, wanted);
    if (piece.epoch !== this.#epoch || piece.floor > Math.max(after, history.wholeAfter) + 1) {
      return "broken";
    }
    // Unless nobody wants it any more.
    if (history.after !== after) return new Uint8Array(0);
    history.after = Math.max(after, piece.through);
    return piece.bytes;
  }
}
