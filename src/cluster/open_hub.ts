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
import { RosterHub } from "../hub/roster_hub.ts";
import type { Journal, JournalEvent } from "../journal/journal.ts";
import { MAX_OFFSET } from "../wire/timing.ts";
import { checkedText, errorForLog, utf8Length } from "../wire/text.ts";
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
  const { journal } = options;
  if (journal === undefined || journal === null) {
    throw new ConfigError("journal", "there is none; createHub makes a hub without one");
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

class TailedHub extends RosterHub implements JournaledHub {
  readonly #journal: Journal;
  readonly #tailer: Tailer;
  #warned = false;
  #failing = false;

  constructor(roster: Roster, journal: Journal, tailer: Tailer) {
    super(roster);
    this.#journal = journal;
    this.#tailer = tailer;
  }

  async publish(event: JournaledEvent): Promise<number> {
    const { log, metrics, fanout, settings } = this.roster;
    if (event.ephemeral === true) {
      const frame = log.append(event, false);
      if (this.roster.stopping) return 0;
      this.#warnOfEphemeral();
      metrics.published();
      fanout.offer(frame);
      return 0;
    }
    const checked = this.#check(event);
    if (this.roster.stopping) return 0;
    const stored = this.#journal.append({ ...checked, at: settings.clock.now() });
    if (event.ack === false) {
      stored.then(() => this.#failing = false, (error) => this.#failed(error));
      return 0;
    }
    try {
      return (await stored).offset;
    } catch (error) {
      metrics.appendFailed();
      throw error;
    }
  }

  override async shutdown(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#tailer.stop();
    await super.shutdown(options);
  }

  #check(event: JournaledEvent): Omit<JournalEvent, "at"> {
    const { topic, name, data } = checkEvent(event, this.roster.settings.keepaliveEvent);
    const text = checkedText(data);
    checkSize(name, text);
    const { maxBytes } = this.#journal;
    if (maxBytes < MAX_OFFSET) {
      const size = utf8Length(topic) + utf8Length(name) + utf8Length(text);
      if (size > maxBytes) {
        throw new JournalError("too_large", `the event is ${size} bytes, the most is ${maxBytes}`);
      }
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
    if (this.#warned || this.#journal.sole === true) return;
    this.#warned = true;
    this.roster.settings.logger.warn(
      "An ephemeral event reaches the clients of this pod alone: a journal does not carry it",
    );
  }
}
