/**
 * Time for a world of several pages: each has its own timers, which stand still while it sleeps.
 *
 * @module
 */
import type { ClientClock } from "../../../../../src/client/types.ts";

/** Whoever has timers and gets messages: a page, or a worker. */
export class Owner {
  /** Neither timers nor messages run; both wait. */
  asleep = false;
  /** Nothing runs ever again. */
  dead = false;
  /** Timers run once a minute. */
  throttled = false;
  /** When its last message is due: none overtakes another. */
  lastDue = 0;
}

interface Task {
  readonly owner: Owner;
  readonly due: number;
  readonly order: number;
  /** A late timer runs before a late message: the worst order that a page that wakes may find. */
  readonly timer: boolean;
  readonly run: () => void;
}

const MINUTE_MS = 60_000;

/** The clock of a world. */
export class SimClock {
  now = 0;
  readonly #tasks = new Set<Task>();
  #order = 0;
  #seed: number;

  /** @param seed Where chance starts. */
  constructor(seed = 1) {
    this.#seed = seed;
  }

  /** A number from 0 to below 1: mulberry32. */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /**
   * The clock as one owner sees it.
   *
   * @param owner The owner.
   */
  of(owner: Owner): ClientClock {
    return {
      now: () => this.now,
      random: () => this.random(),
      after: (ms, run) => {
        const wanted = this.now + Math.max(ms, 0);
        const due = owner.throttled ? Math.ceil(wanted / MINUTE_MS) * MINUTE_MS : wanted;
        return this.#add({ owner, due, timer: true, run });
      },
    };
  }

  /**
   * Lets something happen to an owner, soon: in the order in which it was posted.
   *
   * @param owner The owner.
   * @param run What happens.
   * @param ms After at least how many milliseconds.
   */
  post(owner: Owner, run: () => void, ms = 1): void {
    const spread = this.random() < 0.2 ? 40 : 2;
    const due = Math.max(owner.lastDue, this.now + ms + Math.floor(this.random() * spread));
    owner.lastDue = due;
    this.#add({ owner, due, timer: false, run });
  }

  /**
   * Lets time pass.
   *
   * @param ms How many milliseconds.
   */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms;
    await settle();
    for (let task = this.#next(end); task !== undefined; task = this.#next(end)) {
      this.now = Math.max(this.now, task.due);
      this.#tasks.delete(task);
      task.run();
      await settle();
    }
    this.now = end;
  }

  /** How many timers and messages wait for an owner. */
  waiting(owner: Owner): number {
    return [...this.#tasks].filter((task) => task.owner === owner).length;
  }

  #add(task: Omit<Task, "order">): () => void {
    const whole = { ...task, order: this.#order++ };
    this.#tasks.add(whole);
    return () => void this.#tasks.delete(whole);
  }

  /** Each owner's next task, and of those the first. */
  #next(end: number): Task | undefined {
    const next = new Map<Owner, Task>();
    for (const task of this.#tasks) {
      const { owner, due } = task;
      if (owner.dead) this.#tasks.delete(task);
      if (owner.dead || owner.asleep || due > end) continue;
      const other = next.get(owner);
      if (other === undefined || this.#comesFirst(task, other)) next.set(owner, task);
    }
    return [...next.values()].reduce<Task | undefined>(
      (first, task) => first === undefined || isEarlier(task, first) ? task : first,
      undefined,
    );
  }

  /** Of one owner's tasks. */
  #comesFirst(a: Task, b: Task): boolean {
    const late = (a.timer ? a : b).due < this.now;
    return late && a.timer !== b.timer ? a.timer : isEarlier(a, b);
  }
}

function isEarlier(a: Task, b: Task): boolean {
  return a.due === b.due ? a.order < b.order : a.due < b.due;
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await null;
}
