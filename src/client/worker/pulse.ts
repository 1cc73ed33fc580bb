/**
 * Whether the other end still lives. Both ends judge by the same rule.
 *
 * @module
 */

/** After how many beats the other end counts as silent. */
export const SILENT_BEATS = 3;
/** And after how many unanswered questions: one for each beat but the last, which waits for an answer. */
const SILENT_ASKS = SILENT_BEATS - 1;

/** What is known of the other end's life. */
export interface Pulse {
  /** When something was last heard. */
  heardAt: number;
  /** How many questions have been asked since, without an answer. */
  asks: number;
}

/**
 * Notes that something was heard.
 *
 * @param pulse What is known.
 * @param now The time.
 */
export function heard(pulse: Pulse, now: number): void {
  pulse.heardAt = now;
  pulse.asks = 0;
}

/**
 * Says whether the other end has been silent too long.
 *
 * By the clock, because a background tab's timers run once a minute; and by the questions, because a
 * page that slept finds an old clock and the answers still on their way: each question is asked in a
 * turn of its own, so that an answer had its chance.
 *
 * @param pulse What is known.
 * @param now The time.
 * @param beatMs The interval of the beats, in milliseconds.
 * @returns Whether it has.
 */
export function isSilent(pulse: Pulse, now: number, beatMs: number): boolean {
  return pulse.asks >= SILENT_ASKS && now - pulse.heardAt >= SILENT_BEATS * beatMs;
}
