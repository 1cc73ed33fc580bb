/**
 * Random schedules against a model: an array, and an offset from which it is held.
 *
 * @module
 */
import type { Journal, JournalEntry, JournalEvent } from "../journal.ts";
import { asEntry, Bench, type Draft, makeEvent } from "./bench.ts";
import { ensure, equal, reason, sameEntries } from "./expect.ts";
import { within } from "./read.ts";

const SCHEDULES = 20;
const STEPS = 40;
const TOPICS = ["", "a", "b", "rare"] as const;

export const scheduleCases: readonly Draft[] = [
  {
    name: "appends, repetitions, reads, counts, trimming and reopening in any order fit a model",
    async body(bench) {
      const { schedules = SCHEDULES } = bench.subject;
      for (let seed = 1; seed <= schedules; seed++) await runSchedule(bench, seed);
    },
  },
];

/** A store of its own for each seed; the message of a failure has the seed and the steps. */
async function runSchedule({ subject }: Bench, seed: number): Promise<void> {
  const bench = new Bench(subject, await subject.makeStore());
  const steps: string[] = [];
  try {
    const schedule = new Schedule(bench, makeRandom(seed), steps);
    await schedule.run();
  } catch (error) {
    await bench.end().catch(() => {});
    throw new Error(`${reason(error)}; seed ${seed}, after ${steps.join(", ")}`, { cause: error });
  }
  await bench.end();
}

class Schedule {
  readonly #bench: Bench;
  readonly #random: (below: number) => number;
  readonly #steps: string[];
  /** Everything that was ever appended under the epoch. */
  readonly #all: JournalEntry[] = [];
  readonly #ids: { readonly event: JournalEvent; readonly offset: number }[] = [];
  #epoch = "";
  #floor = 1;
  #maxEntries = 0;
  #made = 0;

  constructor(bench: Bench, random: (below: number) => number, steps: string[]) {
    this.#bench = bench;
    this.#random = random;
    this.#steps = steps;
  }

  async run(): Promise<void> {
    let journal = await this.#bench.open();
    this.#epoch = (await journal.window()).epoch;
    for (let step = 0; step < STEPS; step++) {
      const choice = this.#random(20);
      if (choice < 8) await this.#append(journal);
      else if (choice < 9) await this.#repeat(journal);
      else if (choice < 14) await this.#read(journal);
      else if (choice < 17) await this.#count(journal);
      else journal = await this.#reopen(journal);
    }
    await this.#settle(journal);
  }

  get #head(): number {
    return this.#all.at(-1)?.offset ?? 0;
  }

  async #append(journal: Journal): Promise<void> {
    const count = 1 + this.#random(4);
    this.#steps.push(`append ${count}`);
    const events = Array.from({ length: count }, () => {
      const n = this.#made++;
      const topic = TOPICS[this.#random(n % 9 === 0 ? 4 : 3)] ?? "";
      return makeEvent(n, { topic, ...(this.#random(3) === 0 ? { id: `id-${n}` } : {}) });
    });
    const appended = await Promise.all(events.map((event) => journal.append(event)));
    for (const [index, event] of events.entries()) {
      const { epoch, offset } = appended[index] ?? { epoch: "", offset: 0 };
      equal(epoch, this.#epoch, "the epoch of an append");
      ensure(offset > this.#head, `an offset above ${this.#head}, not ${offset}`);
      this.#all.push(asEntry(event, offset));
      if (event.id !== undefined) this.#ids.push({ event, offset });
    }
  }

  /** Only of what is held: how long an id outlasts its entry is the store's affair. */
  async #repeat(journal: Journal): Promise<void> {
    const { floor } = await this.#look(journal);
    const known = this.#ids.filter(({ offset }) => offset >= floor).slice(-5);
    const chosen = known[this.#random(Math.max(1, known.length))];
    if (chosen === undefined || this.#maxEntries > 0) return;
    this.#steps.push(`repeat ${chosen.event.id}`);
    const { offset } = await journal.append(chosen.event);
    equal(offset, chosen.offset, "the offset of a repetition");
  }

  async #read(journal: Journal): Promise<void> {
    const range = this.#range();
    const limit = 1 + this.#random(12);
    this.#steps.push(`read ${JSON.stringify(range)} by ${limit}`);
    const page = await journal.read({ ...range, limit });
    this.#check(page);
    const { through, entries, floor } = page;
    const end = Math.max(range.after, Math.min(range.upTo ?? Infinity, page.head));
    ensure(entries.length <= limit, `at most ${limit} entries, not ${entries.length}`);
    ensure(through >= range.after && through <= end, `through up to ${end}, not ${through}`);
    ensure(through > range.after || range.after === end, `progress beyond ${range.after}`);
    const wanted = within(this.#all, { ...range, upTo: through });
    const held = ({ offset }: JournalEntry): boolean => offset >= floor;
    sameEntries(entries.filter(held), wanted.filter(held), "a page to be the model's");
  }

  async #count(journal: Journal): Promise<void> {
    const range = this.#range();
    const enough = 1 + this.#random(30);
    this.#steps.push(`count ${JSON.stringify(range)} to ${enough}`);
    const before = await this.#look(journal);
    const count = await journal.count(range, enough);
    const after = await this.#look(journal);
    const most = this.#held(before.floor, range);
    const least = Math.min(enough, this.#held(after.floor, range));
    ensure(count >= least && count <= most, `a count from ${least} to ${most}, not ${count}`);
  }

  async #reopen(journal: Journal): Promise<Journal> {
    this.#maxEntries = this.#random(3) === 0 ? 1 + this.#random(15) : 0;
    this.#steps.push(`reopen with maxEntries ${this.#maxEntries}`);
    const again = await this.#bench.reopen(journal, { maxEntries: this.#maxEntries });
    await this.#look(again);
    return again;
  }

  /** In the end the bound holds, and what is held is whole. */
  async #settle(journal: Journal): Promise<void> {
    const range = { after: 0, topics: null };
    if (this.#maxEntries > 0) {
      this.#steps.push("append 1, and settle");
      const event = makeEvent(this.#made++);
      this.#all.push(asEntry(event, (await journal.append(event)).offset));
      const check = async (): Promise<boolean> =>
        await journal.count(range, 1e6) <= this.#maxEntries;
      await this.#bench.trimmed(journal, check, `at most ${this.#maxEntries} entries`);
    }
    const { floor } = await this.#look(journal);
    const page = await journal.read({ ...range, limit: 1e6 });
    sameEntries(
      page.entries,
      this.#all.filter(({ offset }) => offset >= floor),
      "all that is held",
    );
    if (this.#maxEntries > 0) {
      const least = Math.min(this.#maxEntries, this.#all.length);
      ensure(page.entries.length <= least, `no more than ${least} entries in the end`);
    }
  }

  async #look(journal: Journal): Promise<{ readonly floor: number }> {
    const window = await journal.window();
    this.#check(window);
    return window;
  }

  /** The window of the model: the floor never goes back. */
  #check(window: { readonly epoch: string; readonly floor: number; readonly head: number }): void {
    equal([window.epoch, window.head], [this.#epoch, this.#head], "epoch and head");
    const [floor, head] = [this.#floor, this.#head];
    const right = window.floor >= floor && window.floor <= head + 1;
    ensure(right, `a floor from ${floor} to ${head + 1}, not ${window.floor}`);
    this.#floor = window.floor;
  }

  #held(floor: number, range: { after: number; upTo?: number; topics: string[] | null }): number {
    return within(this.#all, { ...range, after: Math.max(range.after, floor - 1) }).length;
  }

  #range(): { after: number; upTo?: number; topics: string[] | null } {
    const after = this.#random(this.#head + 3);
    const topics = this.#random(2) === 0 ? null : TOPICS.filter(() => this.#random(2) === 0);
    if (this.#random(2) === 0) return { after, topics };
    return { after, upTo: this.#random(this.#head + 6), topics };
  }
}

/** Mulberry32: the same numbers for the same seed, everywhere. */
function makeRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * below);
  };
}
