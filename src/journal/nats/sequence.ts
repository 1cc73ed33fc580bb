/**
 * The sequence of a journal, as this process knows it: its epoch, its window, and whether the
 * numbering is still the one that was seen before.
 *
 * @module
 */
import { toHex } from "../../wire/hex.ts";
import type { JournalWindow } from "../journal.ts";
import { elapse } from "./elapse.ts";
import type { Generation, GenerationKey } from "./generation.ts";
import type { JournalStream, StreamState } from "./stream.ts";

/** How long a look is believed, in milliseconds, when nothing tells of a change. */
const BELIEVED_MS = 1000;

/**
 * How often a lost counter is looked at again before it is believed, and after how many milliseconds:
 * a server of a cluster that has just become the leader may not yet show all that it holds.
 */
const CONFIRMATIONS = 15;
const CONFIRM_MS = 200;

/** What was seen at one look. */
export interface Sight extends StreamState, JournalWindow {
  /** The generation of its epoch. */
  readonly generation: Generation;
}

/** What was known when a look began. */
interface Memory {
  readonly before: Sight | undefined;
  readonly highest: number;
}

/** Looks at the sequence, and remembers. */
export class Sequence {
  readonly #name: string;
  readonly #stream: JournalStream;
  readonly #key: GenerationKey;
  readonly #listeners = new Set<() => void>();
  #sight: Sight | undefined;
  /** The highest offset that is known to have been given under the epoch that was seen last. */
  #highest = 0;
  #looks = 0;
  #adopted = 0;
  /** How often something told of a change; and how often, when the last look began. */
  #changes = 0;
  #seenChanges = -1;
  #seenAt = -Infinity;
  /** Whether the stream may have been replaced by an older copy since the last look. */
  #suspect = false;
  #looking: { readonly changes: number; readonly sight: Promise<Sight> } | undefined;
  /** The epochs that have ended: a copy of the store from before must not bring one back. */
  readonly #past = new Set<string>();
  #hashed = { from: "", epoch: "" };

  /**
   * @param name The journal's name.
   * @param stream Its stream.
   * @param key Its generation.
   */
  constructor(name: string, stream: JournalStream, key: GenerationKey) {
    this.#name = name;
    this.#stream = stream;
    this.#key = key;
  }

  /** The highest offset that is known to have been given. */
  get highest(): number {
    return this.#highest;
  }

  /** Whether something told of a change since the last look. */
  get stale(): boolean {
    return this.#changes !== this.#seenChanges;
  }

  /**
   * Something may have changed: what was seen is no longer believed.
   *
   * @param replaced Whether it may be another stream, or an older copy.
   */
  doubt(replaced: boolean): void {
    this.#changes++;
    if (replaced) this.#suspect = true;
    for (const listener of this.#listeners) listener();
  }

  /**
   * Calls back at each doubt.
   *
   * @param listener What to call.
   * @returns Stops that.
   */
  onDoubt(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * An entry was seen.
   *
   * @param epoch Under which epoch.
   * @param offset Its offset.
   */
  saw(epoch: string, offset: number): void {
    if (epoch === this.#sight?.epoch && offset > this.#highest) this.#highest = offset;
  }

  /**
   * What is known, without asking when a look is recent and nothing told of a change.
   *
   * @returns What was seen.
   * @throws {JournalError} As {@linkcode Sequence.look}.
   */
  known(): Sight | Promise<Sight> {
    const recent = performance.now() - this.#seenAt < BELIEVED_MS;
    if (this.#sight !== undefined && recent && !this.stale) return this.#sight;
    // One look serves all who ask meanwhile, unless something changed after it began.
    if (this.#looking?.changes === this.#changes) return this.#looking.sight;
    const sight = this.look().finally(() => {
      if (this.#looking?.sight === sight) this.#looking = undefined;
    });
    this.#looking = { changes: this.#changes, sight };
    return sight;
  }

  /**
   * Looks now. A head below an offset that was seen, or another entry in the place of one, means that
   * the counter was lost: then the epoch is rotated, for numbers will be given again.
   *
   * @returns What the store holds.
   * @throws {JournalError} When the store cannot be asked, or must not be used.
   */
  async look(): Promise<Sight> {
    const memory = { before: this.#sight, highest: this.#highest };
    const changes = this.#changes;
    const turn = ++this.#looks;
    let sight = await this.#ask();
    // A doubt that came meanwhile counts: this may already be what it was about.
    let lost = await this.#isLost(sight, memory, this.#suspect);
    for (let times = 0; lost && sight.replicas > 1 && times < CONFIRMATIONS; times++) {
      await elapse(CONFIRM_MS);
      sight = await this.#ask();
      lost = await this.#isLost(sight, memory, true);
    }
    if (lost) {
      await this.#change(sight);
      sight = await this.#ask();
    }
    if (turn > this.#adopted) {
      this.#adopted = turn;
      this.#adopt(sight);
      this.#seenChanges = changes;
      this.#seenAt = performance.now();
      if (changes === this.#changes) this.#suspect = false;
    }
    return sight;
  }

  /**
   * Gives the sequence a new epoch.
   *
   * @param from The epoch that is to end.
   * @returns The epoch that holds now.
   * @throws {JournalError} When the store cannot be asked.
   */
  async rotate(from: string): Promise<string> {
    const sight = await this.look();
    if (sight.epoch !== from) return sight.epoch;
    await this.#change(sight);
    this.doubt(false);
    return (await this.look()).epoch;
  }

  async #change({ head, created, generation }: Sight): Promise<void> {
    await this.#key.change(generation.revision, head + 1, created);
  }

  #adopt(sight: Sight): void {
    const before = this.#sight?.epoch;
    if (before === sight.epoch) {
      this.#highest = Math.max(this.#highest, sight.head);
    } else {
      this.#highest = sight.head;
      if (before !== undefined) this.#past.add(before);
    }
    this.#sight = sight;
  }

  async #ask(): Promise<Sight> {
    const [state, generation] = await Promise.all([this.#stream.state(), this.#key.read()]);
    const { created, head } = state;
    // What is below belongs to an epoch that has ended.
    const start = generation.created === created ? generation.floor : 1;
    const floor = Math.min(head + 1, Math.max(state.floor, start));
    return { ...state, floor, epoch: await this.#epoch(created, generation.value), generation };
  }

  /** Whether numbers that were given, or an epoch that has ended, would be used again. */
  async #isLost(now: Sight, { before, highest }: Memory, suspect: boolean): Promise<boolean> {
    if (this.#past.has(now.epoch)) return true;
    if (before?.epoch !== now.epoch) return false;
    return now.head < highest || suspect && await this.#replaced(before, now);
  }

  /** Whether the newest entry of the last look is another one now. */
  async #replaced(before: Sight, now: Sight): Promise<boolean> {
    if (before.head < now.floor || before.head === 0) return false;
    const time = await this.#stream.timeOf(before.head);
    // It may have been trimmed away meanwhile: that is no sign of anything.
    return time !== null && time !== before.lastTime;
  }

  async #epoch(created: string, generation: string): Promise<string> {
    const from = `${this.#name}\n${created}\n${generation}`;
    if (this.#hashed.from === from) return this.#hashed.epoch;
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(from));
    const epoch = toHex(new Uint8Array(hash, 0, 8));
    this.#hashed = { from, epoch };
    return epoch;
  }
}
