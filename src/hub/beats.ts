/**
 * One timer for all connections: keepalives, spread over the interval, and write timeouts.
 *
 * @module
 */
import type { Clock, Timer } from "./clock.ts";

/** What is beaten. */
export interface Beating {
  /** A keepalive is due. */
  beat(): void;
  /**
   * Time has passed.
   *
   * @param now The monotonic time.
   */
  check(now: number): void;
}

/** The shortest tick in milliseconds, and the most ticks in an interval. */
const MIN_TICK_MS = 50;
const MAX_SLOTS = 60;

/**
 * A wheel of slots, one turn of which is a keepalive interval. A member keeps the slot it joined at,
 * so that ten thousand of them are not written in one tick; those that join at one time, as after a
 * deploy, are laid in the slots before.
 */
export class Beats {
  readonly #clock: Clock;
  readonly #tickMs: number;
  readonly #slots: Set<Beating>[];
  readonly #slotOf = new Map<Beating, Set<Beating>>();
  #at = 0;
  #timer: Timer | null = null;

  /**
   * @param clock The clock.
   * @param intervalMs The interval in milliseconds.
   */
  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    const slots = Math.max(1, Math.min(MAX_SLOTS, Math.floor(intervalMs / MIN_TICK_MS)));
    this.#tickMs = intervalMs / slots;
    this.#slots = Array.from({ length: slots }, () => new Set());
  }

  /**
   * Adds a member: its first beat comes within one interval. The timer runs while there are members.
   *
   * @param member The member.
   */
  add(member: Beating): void {
    const slot = this.#pick();
    slot.add(member);
    this.#slotOf.set(member, slot);
    this.#timer ??= this.#clock.every(this.#tickMs, () => this.#tick());
  }

  /**
   * Removes a member.
   *
   * @param member The member; one that is none does no harm.
   */
  delete(member: Beating): void {
    this.#slotOf.get(member)?.delete(member);
    this.#slotOf.delete(member);
    if (this.#slotOf.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** The slot just passed, for a whole interval until the first beat; an earlier one when crowded. */
  #pick(): Set<Beating> {
    const fair = 8 + 2 * Math.ceil(this.#slotOf.size / this.#slots.length);
    let slot = new Set<Beating>();
    for (let back = 0; back < this.#slots.length; back++) {
      slot = this.#slots[(this.#at - back + this.#slots.length) % this.#slots.length] ?? slot;
      if (slot.size < fair) break;
    }
    return slot;
  }

  #tick(): void {
    this.#at = (this.#at + 1) % this.#slots.length;
    for (const member of this.#slots[this.#at] ?? []) member.beat();
    const now = this.#clock.monotonic();
    for (const member of this.#slotOf.keys()) member.check(now);
  }
}
