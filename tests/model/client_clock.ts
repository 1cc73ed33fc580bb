/**
 * A client's time and chance under a schedule's control.
 *
 * @module
 */
import type { ClientClock } from "../../src/client/types.ts";
import { FakeClock } from "../../src/testing/fake_clock.ts";

/** The most rings within one wait: more is a client that goes round and round. */
const MAX_RINGS = 500;

/** A clock that stands still until the schedule moves it. */
export class ModelClock implements ClientClock {
  readonly #clock = new FakeClock();
  readonly #due = new Set<{ readonly at: number }>();
  /** How long the machine has slept: its clock went on, and no timer rang. */
  #slept = 0;
  #rings = 0;
  #seed: number;
  readonly #chance: number | undefined;

  /**
   * @param seed Where the chance begins.
   * @param chance What it always is instead.
   */
  constructor(seed: number, chance?: number) {
    this.#seed = seed >>> 0;
    this.#chance = chance;
  }

  now(): number {
    return this.#clock.monotonic() + this.#slept;
  }

  /** Mulberry32: the same sequence on every runtime. */
  random(): number {
    if (this.#chance !== undefined) return this.#chance;
    this.#seed = (this.#seed + 0x6d2b79f5) >>> 0;
    let mixed = this.#seed;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  after(ms: number, callback: () => void): () => void {
    const wait = { at: this.#clock.monotonic() + Math.max(ms, 0) };
    this.#due.add(wait);
    const timer = this.#clock.after(ms, () => {
      this.#due.delete(wait);
      // Here, for what rings at once, and again at once, never comes back to whoever waits.
      if (++this.#rings > MAX_RINGS) throw new Error(`It rang ${MAX_RINGS} times in one wait`);
      callback();
    });
    return () => {
      this.#due.delete(wait);
      timer.cancel();
    };
  }

  /** How many waits are set. */
  get pending(): number {
    return this.#clock.pending;
  }

  /** The machine sleeps: the time goes on, and what falls due rings only once it is awake. */
  sleep(ms: number): void {
    this.#slept += ms;
  }

  /**
   * Lets time pass, from ring to ring.
   *
   * @param ms How long.
   * @param turn Lets what a ring has begun go on before the next one.
   * @throws {Error} When it rings without end.
   */
  async pass(ms: number, turn: () => Promise<void>): Promise<void> {
    const end = this.#clock.monotonic() + ms;
    await turn();
    this.#rings = 0;
    while (true) {
      const now = this.#clock.monotonic();
      const next = Math.min(end, ...[...this.#due].map(({ at }) => at));
      this.#clock.advance(Math.max(0, next - now));
      await turn();
      if (next >= end && ![...this.#due].some(({ at }) => at <= end)) return;
    }
  }
}
