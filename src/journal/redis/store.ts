/**
 * A journal in Redis.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { newEpoch } from "../epoch.ts";
import { eventBytes } from "../event_bytes.ts";
import { follow } from "../follow.ts";
import type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  TailOptions,
} from "../journal.ts";
import { Appender } from "./appender.ts";
import { type Link, nameScript, type Script } from "./link.ts";
import { ROTATE, WINDOW } from "./lua.ts";
import { APPEND } from "./lua_append.ts";
import { COUNT, PAGE } from "./lua_read.ts";
import type { RedisSettings } from "./options.ts";
import type { Watcher } from "./watcher.ts";

/** The most entries of one page: the server does nothing else while it reads them. */
const PAGE_ENTRIES = 1000;

/** The most bytes of one page, unless one entry has more. */
const PAGE_BYTES = 1_048_576;

/** How many values of a page's reply one entry has. */
const ENTRY_VALUES = 5;

/** What a tail took last: what stands at an offset, in the words of the page script. */
interface Mark {
  readonly epoch: string;
  readonly text: string;
}

/** What a journal works with. */
export interface RedisParts {
  /** The connection for everything that does not block. */
  readonly link: Link;
  /** Wakes the tails. */
  readonly watcher: Watcher;
  /** The options. */
  readonly settings: RedisSettings;
  /** The most bytes of one event. */
  readonly maxBytes: number;
  /** Lets go of the connections. */
  readonly release: () => void;
}

/** The scripts, named. */
export interface Scripts {
  /** Stores. */
  readonly append: Script;
  /** Counts. */
  readonly count: Script;
  /** Reads. */
  readonly page: Script;
  /** Changes the epoch. */
  readonly rotate: Script;
  /** Tells what is held. */
  readonly window: Script;
}

/** Names the scripts. */
export async function nameScripts(): Promise<Scripts> {
  const [append, count, page, rotate, window] = await Promise.all([
    nameScript(APPEND),
    nameScript(COUNT),
    nameScript(PAGE),
    nameScript(ROTATE),
    nameScript(WINDOW),
  ]);
  return { append, count, page, rotate, window };
}

/** A journal on one server. */
export class RedisJournal implements Journal {
  /** As the contract says. */
  readonly maxBytes: number;
  readonly #parts: RedisParts;
  readonly #scripts: Scripts;
  readonly #appender: Appender;
  #closed: Promise<void> | null = null;

  /**
   * Makes one on a server that was found fit.
   *
   * @param parts What it works with.
   * @param scripts The scripts.
   */
  constructor(parts: RedisParts, scripts: Scripts) {
    this.maxBytes = parts.maxBytes;
    this.#parts = parts;
    this.#scripts = scripts;
    this.#appender = new Appender({ ...parts, script: scripts.append });
  }

  /** As the contract says. */
  async window(): Promise<JournalWindow> {
    return this.#readWindow(await this.#ask(this.#scripts.window, []));
  }

  /** As the contract says. */
  async append(event: JournalEvent): Promise<Appended> {
    this.#checkOpen();
    const { topic, name, data } = event;
    // No character of UTF-16 has more than three bytes.
    if (3 * (topic.length + name.length + data.length) > this.maxBytes) {
      const bytes = eventBytes(event);
      if (bytes > this.maxBytes) {
        const reason = `the event has ${bytes} bytes, it may have ${this.maxBytes}`;
        throw new JournalError("too_large", reason);
      }
    }
    return await this.#appender.append(event);
  }

  /** As the contract says. */
  async read(query: JournalQuery): Promise<JournalPage> {
    return (await this.#read(query, null)).page;
  }

  /** As the contract says. */
  async count(range: JournalRange, enough: number): Promise<number> {
    const { after, upTo = -1, topics } = range;
    const [count] = await this.#ask(this.#scripts.count, [
      String(after),
      String(upTo),
      String(enough),
      ...listTopics(topics),
    ]);
    return Number(count);
  }

  /** As the contract says. */
  tail(options: TailOptions): AsyncIterable<readonly JournalEntry[]> {
    const { epoch, signal } = options;
    let mark: Mark = { epoch, text: "" };
    const read = async (query: JournalQuery): Promise<JournalPage> => {
      const result = await this.#read(query, mark);
      mark = result.mark;
      return result.page;
    };
    return follow(
      { read: (query) => untilAborted(read(query), signal) },
      this.#parts.watcher,
      options,
    );
  }

  /** As the contract says. */
  async rotate(from: string): Promise<string> {
    const [epoch] = await this.#ask(this.#scripts.rotate, [from]);
    return String(epoch);
  }

  /** As the contract says. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#appender.idle();
    this.#parts.release();
    // A tail that waits learns of it now.
    this.#parts.watcher.end();
  }

  async #read(
    query: JournalQuery,
    mark: Mark | null,
  ): Promise<{ readonly page: JournalPage; readonly mark: Mark }> {
    const { after, upTo = -1, topics, limit } = query;
    const answer = await this.#ask(this.#scripts.page, [
      String(after),
      String(upTo),
      String(Math.min(limit, PAGE_ENTRIES)),
      String(PAGE_BYTES),
      mark?.epoch ?? "",
      mark?.text ?? "",
      ...listTopics(topics),
    ]);
    const window = this.#readWindow(answer);
    const [, , , through, here, ...values] = answer;
    const entries: JournalEntry[] = [];
    for (let at = 0; at < values.length; at += ENTRY_VALUES) {
      entries.push({
        offset: Number(values[at]),
        topic: String(values[at + 1]),
        name: String(values[at + 2]),
        data: String(values[at + 3]),
        at: Number(values[at + 4]),
      });
    }
    // What a tail took last may have been trimmed away; should it come back, it must be the same.
    const text = here === "" && Number(through) === after ? mark?.text ?? "" : String(here);
    return {
      page: { ...window, entries, through: Number(through) },
      mark: { epoch: mark?.epoch ?? "", text },
    };
  }

  #readWindow([first, floor, head]: readonly unknown[]): JournalWindow {
    const window = { epoch: String(first), floor: Number(floor), head: Number(head) };
    this.#parts.watcher.note(window.epoch, window.head);
    return window;
  }

  #ask(script: Script, args: readonly string[]): Promise<readonly unknown[]> {
    this.#checkOpen();
    const { link, settings } = this.#parts;
    return link.ask(script, [newEpoch(), ...settings.bounds, ...args]);
  }

  #checkOpen(): void {
    if (this.#closed !== null) throw new JournalError("closed", "it has been closed");
  }
}

/** How many topics, and which, for a script; -1 for all. */
function listTopics(topics: readonly string[] | null): readonly string[] {
  if (topics === null) return ["-1"];
  const different = [...new Set(topics)];
  return [String(different.length), ...different];
}

/** Waits for a page, or no longer than the reader wants one: then it is never looked at. */
function untilAborted(page: Promise<JournalPage>, signal: AbortSignal): Promise<JournalPage> {
  const none: JournalPage = { epoch: "", floor: 1, head: 0, entries: [], through: 0 };
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(none);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave);
    page.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
