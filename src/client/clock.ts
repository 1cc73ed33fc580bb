/**
 * Time and chance, as the platform has them.
 *
 * @module
 */
import type { ClientClock } from "./types.ts";

/** `setTimeout` takes no more; a longer wait ends early, and the machine asks again. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Makes a clock that never goes back, and that does not stop while the machine sleeps.
 *
 * `performance.now()` stops on some systems while a laptop's lid is closed, and `Date.now()` goes
 * back when the time is set. So of two readings the larger progress counts.
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
    elapsed += Math.max(steadyNow - steadyAt, wallNow - wallAt);
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
      const id = setTimeout(callback, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
      return () => clearTimeout(id);
    },
  };
}
