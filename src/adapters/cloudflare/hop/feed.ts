/**
 * What the hop's connections are handed: every event that is stored, once, in order.
 *
 * It follows the journal without a clock, so that nothing but its clients' messages and what is
 * published wakes the object, and nothing keeps it awake.
 *
 * @module
 */
import { JournalEpochError, JournalGapError } from "../../../errors/journal.ts";
import type { Timer } from "../../../hub/clock.ts";
import type { HubSettings } from "../../../hub/options.ts";
import type { Journal, JournalEntry } from "../../../journal/journal.ts";
import { formatCursor } from "../../../wire/cursor.ts";
import { encodeFrame } from "../../../wire/frame.ts";
import { errorForLog } from "../../../wire/text.ts";
import type { HopConnection } from "./connection.ts";
import type { HopSource, LiveEvent } from "./types.ts";
import { encodePart } from "./wire.ts";

/**
 * How long after an event those whom it did not concern are told where they stand, in milliseconds:
 * well below the 10 s after which an idle object may sleep.
 */
const TELL_MS = 2000;

/** The fan-out of one object. */
export class HopFeed implements HopSource {
  readonly journal: Journal;
  readonly #connections: Iterable<HopConnection>;
  readonly #settings: Pick<HubSettings, "clock" | "logger">;
  readonly #stopped = new AbortController();
  #epoch: string;
  #head: number;
  #running = false;
  #failing = false;
  #telling: Timer | null = null;

  /**
   * @param journal The journal.
   * @param from Where it stands.
   * @param connections Who is handed what is stored.
   * @param settings The hub's.
   */
  constructor(
    journal: Journal,
    from: { readonly epoch: string; readonly head: number },
    connections: Iterable<HopConnection>,
    settings: Pick<HubSettings, "clock" | "logger">,
  ) {
    this.journal = journal;
    this.#epoch = from.epoch;
    this.#head = from.head;
    this.#connections = connections;
    this.#settings = settings;
  }

  get epoch(): string {
    return this.#epoch;
  }

  get head(): number {
    return this.#head;
  }

  /** Follows the journal, unless it does; called whenever something happens to the object. */
  follow(): void {
    if (this.#running || this.#stopped.signal.aborted) return;
    this.#running = true;
    void this.#run();
  }

  /** Follows it no longer. */
  stop(): void {
    this.#stopped.abort();
    this.#telling?.cancel();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    try {
      while (!signal.aborted) await this.#follow(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!this.#failing) {
        this.#settings.logger.warn(`The journal cannot be followed: ${errorForLog(error)}`);
      }
      this.#failing = true;
    } finally {
      this.#running = false;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      const from = { epoch: this.#epoch, after: this.#head };
      for await (const entries of this.journal.tail({ ...from, signal })) {
        this.#deliver(entries);
        this.#failing = false;
      }
    } catch (error) {
      const moved = error instanceof JournalEpochError || error instanceof JournalGapError;
      if (!moved) throw error;
      const { epoch, head } = await this.journal.window();
      if (epoch === this.#epoch && head < this.#head) throw error;
      for (const connection of this.#connections) connection.doubt();
      this.#epoch = epoch;
      this.#head = head;
      for (const connection of this.#connections) connection.pump();
    }
  }

  #deliver(entries: readonly JournalEntry[]): void {
    for (const entry of entries) {
      let event: LiveEvent | null = null;
      for (const connection of this.#connections) {
        if (connection.live) connection.offer(event ??= this.#encode(entry));
      }
    }
    this.#head = entries.at(-1)?.offset ?? this.#head;
    for (const connection of this.#connections) if (!connection.live) connection.pump();
    this.#telling ??= this.#settings.clock.after(TELL_MS, () => {
      this.#telling = null;
      for (const connection of this.#connections) connection.tell();
    });
  }

  #encode(entry: JournalEntry): LiveEvent {
    const { offset, name, data } = entry;
    const bytes = encodeFrame(formatCursor({ epoch: this.#epoch, offset }), name, data);
    return { entry, size: bytes.length, message: encodePart({ offset, resumable: true, bytes }) };
  }
}
