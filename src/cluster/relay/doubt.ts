/**
 * When clients are told that events were lost.
 *
 * Telling late is safe: the gap stands after everything that was lost before it, and no cursor from
 * before it is resumed. Telling twice is not, for it sends clients away again. So what belongs together
 * is told once: when one loss is seen, everybody is asked how far they have counted, and clients are
 * told when all have answered.
 *
 * @module
 */
import type { Clock, Timer } from "../../hub/clock.ts";

/** How long the answers are waited for, in milliseconds. */
const SETTLE_MS = 1000;

/** Whether events were lost of which clients have not been told. */
export class Doubt {
  readonly #clock: Clock;
  readonly #restMs: number;
  readonly #act: () => void;
  #awaited: Set<string> | null = null;
  #timer: Timer | null = null;
  #toldAt = -Infinity;

  /**
   * @param clock The clock.
   * @param restMs How many milliseconds pass at least between two times that clients are told.
   * @param act Tells the clients.
   */
  constructor(clock: Clock, restMs: number, act: () => void) {
    this.#clock = clock;
    this.#restMs = restMs;
    this.#act = act;
  }

  /**
   * Something was lost. While an earlier loss has not been told, the two are one.
   *
   * @param siblings Of whom something may have been lost by the same cause, by their boots.
   * @returns Whether they are to be asked how far they have counted.
   */
  raise(siblings: Iterable<string>): boolean {
    if (this.#awaited !== null) return false;
    this.#awaited = new Set(siblings);
    const asks = this.#awaited.size > 0;
    if (asks) this.#timer = this.#clock.after(SETTLE_MS, () => this.#settle());
    else this.#settle();
    return asks;
  }

  /**
   * A sibling was heard, or is known to be gone.
   *
   * @param boot Which.
   */
  heard(boot: string): void {
    if (this.#awaited?.delete(boot) === true && this.#awaited.size === 0) this.#settle();
  }

  /** Tells now what has not been told: nothing follows. */
  end(): void {
    if (this.#awaited !== null) this.#tell();
  }

  #settle(): void {
    this.#timer?.cancel();
    const restMs = this.#toldAt + this.#restMs - this.#clock.monotonic();
    if (restMs <= 0) return this.#tell();
    this.#timer = this.#clock.after(restMs, () => this.#tell());
  }

  #tell(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#awaited = null;
    this.#toldAt = this.#clock.monotonic();
    this.#act();
  }
}
