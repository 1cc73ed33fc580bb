/**
 * A broker that can be restarted, emptied and set back, and journals on it: a second implementation,
 * as plain as can be, for what the one in memory cannot suffer. Flaws can be planted in it.
 *
 * @module
 */
import { AppendUnknownError, JournalError } from "../../../src/errors/journal.ts";
import { Bell } from "../../../src/journal/bell.ts";
import type {
  JournalHook,
  JournalStore,
  JournalSubject,
} from "../../../src/journal/conformance.ts";
import { newEpoch } from "../../../src/journal/epoch.ts";
import { follow } from "../../../src/journal/follow.ts";
import type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalRange,
  JournalWindow,
} from "../../../src/journal/journal.ts";
import { readRetention, type Retention } from "../../../src/journal/retention.ts";

/** What can be wrong with the broker, by what it does. */
export type Flaw =
  | "keeps the epoch when it comes back empty"
  | "tells an append the epoch from before it was emptied"
  | "changes the epoch at a restart"
  | "loses the newest entry at a restart"
  | "forgets ids at a restart"
  | "names another id when an outcome is unknown"
  | "hides that an older copy was put back"
  | "begins at 1 again after a purge"
  | "changes the epoch at a purge"
  | "keeps the floor at a purge"
  | "opens what an unknown version wrote"
  | "opens what an unknown version wrote at the second time"
  | "lets a second opener in"
  | "stays locked after closing"
  | "shows the old epoch's entries after a rotation"
  | "begins at 1 again after a rotation"
  | "begins at 1 again when it was trimmed to nothing"
  | "never trims"
  | "trims one more than it must"
  | "trims the newest"
  | "trims by a fixed age"
  | "keeps the floor when it trims"
  | "counts no bytes"
  | "keeps the bounds of the first opener"
  | "closes all openers with one"
  | "changes the epoch when it is opened"
  | "forgets ids when it is opened"
  | "forgets the head when it is opened";

/** What the broker has on its disk. */
interface State {
  epoch: string;
  floor: number;
  head: number;
  entries: (JournalEntry & { readonly born: number })[];
  ids: Record<string, Appended>;
}

const encoder = new TextEncoder();
const HOOKS: readonly JournalHook[] = ["restart", "copy", "empty", "purge", "foreignFormat"];

/** A broker, as the conformance suite takes it, with or without a flaw. */
export function brokerSubject(openers: "many" | "one", flaw?: Flaw): JournalSubject {
  return {
    openers,
    hooks: HOOKS,
    makeStore: () => Promise.resolve(new Broker(openers, flaw)),
  };
}

class Broker implements JournalStore {
  readonly bell = new Bell();
  readonly #openers: "many" | "one";
  readonly #flaw: Flaw | undefined;
  #state: State = fresh(newEpoch());
  #retention: Retention = readRetention();
  #open = 0;
  #opened = 0;
  /** Rises when a journal closes all others too. */
  closings = 0;
  #refused = 0;
  #format = 1;
  #away = false;
  /** The epoch that the next append is told; `undefined` for that of the store. */
  #known: string | undefined;
  /** The next append is stored, and its answer lost. */
  #answerLost = false;

  constructor(openers: "many" | "one", flaw: Flaw | undefined) {
    this.#openers = openers;
    this.#flaw = flaw;
  }

  async open({ retention }: Parameters<JournalStore["open"]>[0]): Promise<Journal> {
    await turn();
    if (this.#format !== 1 && !this.#has("opens what an unknown version wrote")) {
      const again = this.#has("opens what an unknown version wrote at the second time");
      if (this.#refused++ === 0 || !again) throw new JournalError("format", "it has format 2");
    }
    const locked = this.#openers === "one" && this.#open > 0;
    if (locked && !this.#has("lets a second opener in")) {
      throw new JournalError("locked", "somebody else has it open");
    }
    this.#open++;
    const first = this.#opened++ === 0;
    if (first || !this.#has("keeps the bounds of the first opener")) {
      this.#retention = readRetention(retention);
    }
    if (this.#has("changes the epoch when it is opened")) this.#state.epoch = newEpoch();
    if (this.#has("forgets ids when it is opened")) this.#state.ids = {};
    if (this.#has("forgets the head when it is opened")) {
      this.#state.head = this.#state.entries.at(-1)?.offset ?? 0;
    }
    return new BrokerJournal(this);
  }

  release(): void {
    if (!this.#has("stays locked after closing")) this.#open--;
    if (this.#has("closes all openers with one")) this.closings++;
    this.bell.ring();
  }

  /** Appends at once, for the order of a row of appends is the order of the calls. */
  append({ id, ...event }: JournalEvent): Appended {
    const state = this.state();
    const known = id === undefined ? undefined : state.ids[id];
    if (known !== undefined) return known;
    const offset = ++state.head;
    const { topic, name, data, at } = event;
    state.entries.push({ offset, topic, name, data, at, born: performance.now() });
    const appended = { epoch: this.#known ?? state.epoch, offset };
    this.#known = undefined;
    if (id !== undefined) state.ids[id] = appended;
    this.bell.ring();
    if (this.#answerLost && id !== undefined) {
      this.#answerLost = false;
      if (this.#has("forgets ids at a restart")) state.ids = {};
      const wrong = this.#has("names another id when an outcome is unknown");
      throw new AppendUnknownError(wrong ? `${id}!` : id, "the broker was restarted");
    }
    return appended;
  }

  rotate(from: string): string {
    const state = this.state();
    if (from !== state.epoch) return state.epoch;
    state.epoch = newEpoch();
    state.ids = {};
    if (!this.#has("shows the old epoch's entries after a rotation")) {
      state.entries = [];
      state.floor = state.head + 1;
    }
    if (this.#has("begins at 1 again after a rotation")) [state.floor, state.head] = [1, 0];
    this.bell.ring();
    return state.epoch;
  }

  /** What is there, after retention. */
  state(): State {
    if (this.#away) throw new JournalError("unavailable", "the broker is being restarted");
    if (!this.#has("never trims")) { while (this.#over()) this.#trimOne(); }
    return this.#state;
  }

  async restart(): Promise<void> {
    const state = this.#state;
    this.#away = true;
    this.bell.ring();
    for (let turns = 0; turns < 20; turns++) await turn();
    if (this.#has("changes the epoch at a restart")) state.epoch = newEpoch();
    if (this.#has("loses the newest entry at a restart")) state.entries.pop();
    this.#away = false;
    this.#answerLost = true;
    this.bell.ring();
  }

  copy(): ReturnType<NonNullable<JournalStore["copy"]>> {
    const copied = structuredClone(this.#state);
    return Promise.resolve({
      restore: () => {
        if (!this.#has("hides that an older copy was put back")) this.#state = copied;
        this.bell.ring();
        return Promise.resolve();
      },
    });
  }

  empty(): Promise<void> {
    const { epoch } = this.#state;
    const keeps = this.#has("keeps the epoch when it comes back empty");
    this.#state = fresh(keeps ? epoch : newEpoch());
    if (this.#has("tells an append the epoch from before it was emptied")) this.#known = epoch;
    this.bell.ring();
    return Promise.resolve();
  }

  purge(): Promise<void> {
    const state = this.#state;
    state.entries = [];
    if (!this.#has("keeps the floor at a purge")) state.floor = state.head + 1;
    if (this.#has("changes the epoch at a purge")) state.epoch = newEpoch();
    if (this.#has("begins at 1 again after a purge")) [state.floor, state.head] = [1, 0];
    this.bell.ring();
    return Promise.resolve();
  }

  foreignFormat(): Promise<void> {
    this.#format = 2;
    return Promise.resolve();
  }

  dispose(): Promise<void> {
    return Promise.resolve();
  }

  #has(flaw: Flaw): boolean {
    return this.#flaw === flaw;
  }

  #over(): boolean {
    const { entries } = this.#state;
    const { maxEntries, maxAgeMs, maxBytes } = this.#retention;
    const [oldest] = entries;
    if (oldest === undefined) return false;
    const less = this.#has("trims one more than it must") ? 1 : 0;
    const age = this.#has("trims by a fixed age") ? Math.min(maxAgeMs, 100) : maxAgeMs;
    const counted = maxBytes < Infinity && !this.#has("counts no bytes");
    const bytes = (): number => entries.reduce((sum, each) => sum + sizeOf(each), 0);
    return entries.length > maxEntries - less || (counted && bytes() > maxBytes) ||
      performance.now() - oldest.born >= age;
  }

  #trimOne(): void {
    const state = this.#state;
    if (this.#has("trims the newest")) {
      state.entries.pop();
      return;
    }
    const { offset = 0 } = state.entries.shift() ?? {};
    if (!this.#has("keeps the floor when it trims")) state.floor = offset + 1;
    const again = this.#has("begins at 1 again when it was trimmed to nothing");
    if (again && state.entries.length === 0) [state.floor, state.head] = [1, 0];
  }
}

class BrokerJournal implements Journal {
  readonly maxBytes = Infinity;
  readonly #broker: Broker;
  readonly #closings: number;
  #closed = false;

  constructor(broker: Broker) {
    this.#broker = broker;
    this.#closings = broker.closings;
  }

  async window(): Promise<JournalWindow> {
    await turn();
    return this.#window();
  }

  append(event: JournalEvent): Promise<Appended> {
    return new Promise((resolve) => resolve(this.#open().append(event)));
  }

  async read({ limit, ...range }: Parameters<Journal["read"]>[0]): ReturnType<Journal["read"]> {
    await turn();
    const matching = this.#matching(range);
    const entries = matching.slice(0, limit);
    const window = this.#window();
    const end = Math.max(range.after, Math.min(range.upTo ?? Infinity, window.head));
    const last = entries.at(-1)?.offset ?? end;
    return { ...window, entries, through: matching.length > entries.length ? last : end };
  }

  async count(range: JournalRange): Promise<number> {
    await turn();
    return this.#matching(range).length;
  }

  tail(options: Parameters<Journal["tail"]>[0]): ReturnType<Journal["tail"]> {
    return follow(this, this.#broker.bell, options);
  }

  async rotate(from: string): Promise<string> {
    await turn();
    return this.#open().rotate(from);
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#broker.release();
    }
    return Promise.resolve();
  }

  #window(): JournalWindow {
    const { epoch, floor, head } = this.#open().state();
    return { epoch, floor, head };
  }

  #matching({ after, upTo = Infinity, topics }: JournalRange): JournalEntry[] {
    return this.#open().state().entries
      .filter(({ offset }) => offset > after && offset <= upTo)
      .filter(({ topic }) => topics === null || topics.includes(topic))
      .map(({ offset, topic, name, data, at }) => ({ offset, topic, name, data, at }));
  }

  #open(): Broker {
    const closed = this.#closed || this.#closings !== this.#broker.closings;
    if (closed) throw new JournalError("closed", "it has been closed");
    return this.#broker;
  }
}

function fresh(epoch: string): State {
  return { epoch, floor: 1, head: 0, entries: [], ids: {} };
}

function sizeOf({ topic, name, data }: JournalEntry): number {
  return encoder.encode(topic + name + data).length;
}

/** Lets whatever else is ready go first. */
async function turn(): Promise<void> {
  await Promise.resolve();
}
