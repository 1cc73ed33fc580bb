/**
 * Time and chance, as the platform has them.
 *
 * @module
 */
import { MAX_TIMER_MS } from "./bounds.ts";
import type { ClientClock } from "./types.ts";

/** By so much the wall clock must be ahead of the other to say that the machine has slept. */
const SLEEP_MS = 1000;

/**
 * Makes a clock that never goes back, and that does not stop while the machine sleeps.
 *
 * `performance.now()` stops on some systems while a laptop's lid is closed, and `Date.now()` goes
 * back when the time is set. So the first counts, unless the second shows that it stood still.
 *
 * @param steady Milliseconds that never go back, but may stop.
 * @param wall Milliseconds since the Unix epoch.
 * @returns The reading.
 */
export function sleeplessNow(steady: () => number, wall: () => number): () => number {
  let elapsed = 0;
  let steadyAt = steady();
  let wallAt = wall();
  return () => {
    const [steadyNow, wallNow] = [steady(), wall()];
    const [steadyRan, wallRan] = [steadyNow - steadyAt, wallNow - wallAt];
    // Two clocks do not tick in the same instant: a small lead is no sleep.
    elapsed += wallRan - steadyRan > SLEEP_MS ? wallRan : steadyRan;
    steadyAt = steadyNow;
    wallAt = wallNow;
    return elapsed;
  };
}

/**
 * The platform's clock.
 *
 * @returns A clock of its own for each caller.
 */
export function platformClock(): ClientClock {
  return {
    now: sleeplessNow(() => Math.round(performance.now()), () => Date.now()),
    random: () => Math.random(),
    after(ms, callback) {
      // A longer wait ends early, and the machine asks again.
      const id = setTimeout(callback, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
      return () => clearTimeout(id);
    },
  };
}
