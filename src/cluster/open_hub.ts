/**
 * A hub over a journal: publish stores, and what is stored is delivered, on every pod alike.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { JournalError } from "../errors/journal.ts";
import { Backlog } from "../hub/backlog.ts";
import { checkEvent, checkSize } from "../hub/event.ts";
import { readOptions } from "../hub/options.ts";
import { Roster } from "../hub/roster.ts";
import type { PublishEvent } from "../hub/types.ts";
import { RosterHub } from "../hub/roster_hub.ts";
import { eventBytes } from "../journal/event_bytes.ts";
import type { Appended, Journal, JournalEvent } from "../journal/journal.ts";
import { checkedText, errorForLog } from "../wire/text.ts";
import { Tailer } from "./tailer.ts";
import type { JournaledEvent, JournaledHub, JournaledHubOptions } from "./types.ts";

/**
 * Opens a hub over a journal.
 *
 * @param options The journal, and a hub's options.
 * @returns The hub, once its ring holds the journal's newest events: it may serve at once.
 * @throws {ConfigError} For options, or pairs of options, that it could not honour.
 * @throws {JournalError} When the journal cannot be read.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { openHub } from "@tidemark/sse";
 * import { createMemoryJournal } from "@tidemark/sse/journal/memory";
 *
 * const journal = createMemoryJournal();
 * const hub = await openHub({ journal });
 * assertEquals(await hub.publish({ topic: "a", data: "1" }), 1);
 * await hub.shutdown();
 *
 * // A process that starts again over the same journal goes on where this one ended.
 * const again = await openHub({ journal });
 * assertEquals(again.position().head, 1);
 * await again.shutdown();
 * ```
 */
export async function openHub(options: JournaledHubOptions): Promise<JournaledHub> {
  const journal = options?.journal;
  if (typeof journal?.window !== "function") {
    throw new ConfigError(
      "journal",
      "it is no open journal: await what opens one; createHub makes a hub without",
    );
  }
  const roster = new Roster(readOptions(options, { journaled: true }));
  const window = await journal.window();
  const { epoch, floor, head } = window;
  const backlog = new Backlog(journal, roster.log, roster.settings);
  backlog.note(window);
  roster.backlog = backlog;
  roster.log.begin(epoch, Math.max(floor - 1, head - roster.settings.maxEvents, 0));
  const tailer = new Tailer(journal, roster);
  await tailer.start(head);
  return new TailedHub(roster, journal, tailer);
}

/** How often a shutdown looks, a millisecond apart, whether the pod's last events have come back. */
const LAST_LOOKS = 25;

class TailedHub extends RosterHub implements JournaledHub {
  readonly #journal: Journal;
  readonly #tailer: Tailer;
  #warned = false;
  #failing = false;
  /** The newest offset that this pod has stored. */
  #stored = 0;
  #stopping: Promise<void> | null = null;

  constructor(roster: Roster, journal: Journal, tailer: Tailer) {
    super(roster);
    this.#journal = journal;
    this.#tailer = tailer;
  }

  async publish(event: JournaledEvent): Promise<number> {
    const { metrics, settings } = this.roster;
    if (event.ephemeral === true) {
      this.#warnOfEphemeral();
      return this.roster.publish(event, this.roster.siblings);
    }
    const checked = this.#check(event);
    if (this.#stopping !== null) return 0;
    const stored = this.#append({ ...checked, at: settings.clock.now() });
    if (event.ack === false) {
      stored.then((appended) => this.#noteStored(appended), (error) => this.#failed(error));
      return 0;
    }
    try {
      return this.#noteStored(await stored);
    } catch (error) {
      metrics.appendFailed();
      throw error;
    }
  }

  ingest(event: PublishEvent): number {
    if (event.ephemeral === true) return this.roster.publish(event, null);
    throw new TypeError(
      "Cannot ingest the event: of a journaled hub's siblings, only ephemeral ones",
    );
  }

  override async shutdown(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#stopping ??= this.#deliverRest();
    await this.#stopping;
    await super.shutdown(options);
  }

  /**
   * What this pod has just stored is about to come back to it: its own clients get it before their
   * goodbye. It is a moment, not a promise: whoever misses it resumes from the journal.
   */
  async #deliverRest(): Promise<void> {
    for (let look = 0; look < LAST_LOOKS && this.roster.log.head < this.#stored; look++) {
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    }
    this.#tailer.stop();
  }

  /** A journal of somebody else's may throw where it should reject. */
  #append(event: JournalEvent): Promise<Appended> {
    try {
      return this.#journal.append(event);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #noteStored({ offset }: Appended): number {
    this.#failing = false;
    this.#stored = Math.max(this.#stored, offset);
    return offset;
  }

  #check(event: JournaledEvent): Omit<JournalEvent, "at"> {
    const { topic, name, data } = checkEvent(event, this.roster.settings.keepaliveEvent);
    const text = checkedText(data);
    checkSize(name, text);
    const { maxBytes } = this.#journal;
    const size = maxBytes === Infinity ? 0 : eventBytes({ topic, name, data: text });
    if (size > maxBytes) {
      throw new JournalError("too_large", `the event is ${size} bytes, the most is ${maxBytes}`);
    }
    return { topic, name, data: text, ...(event.id !== undefined && { id: event.id }) };
  }

  /** Nobody waits for it; so one line for each time that it begins to fail, and a counter. */
  #failed(error: unknown): void {
    const { metrics, settings } = this.roster;
    metrics.appendFailed();
    if (!this.#failing) settings.logger.error(`An event was not stored: ${errorForLog(error)}`);
    this.#failing = true;
  }

  #warnOfEphemeral(): void {
    if (this.#warned || this.#journal.sole === true || this.roster.siblings !== null) return;
    this.#warned = true;
    this.roster.settings.logger.warn(
      "An ephemeral event reaches the clients of this pod alone: a journal does not carry it, a " +
        "relay does (joinRelay)",
    );
  }
}
