/**
 * The rules of the wire about verdicts, in their slowest form: a list of all that was ever published.
 *
 * @module
 */

/** One event that was published. */
export interface ModelEvent {
  /** Its offset. */
  readonly offset: number;
  /** Its topic; `""` is a broadcast. */
  readonly topic: string;
}

/** What the hub keeps, counted in events. */
export interface ModelBounds {
  /** How many events the ring holds. */
  readonly ring: number;
  /** How many one reply may carry. */
  readonly reply: number;
}

/**
 * Judges a cursor of the hub's own epoch.
 *
 * @param events All events, in order.
 * @param topics The connection's topics; empty for everything.
 * @param cursor The offset presented.
 * @param bounds What the hub keeps.
 * @returns The verdict, and the offsets that follow the hello.
 */
export function judgeByModel(
  events: readonly ModelEvent[],
  topics: readonly string[],
  cursor: number,
  bounds: ModelBounds,
): { readonly verdict: string; readonly follows: readonly number[] } {
  const head = events.at(-1)?.offset ?? 0;
  if (cursor > head) return { verdict: "gap_ahead", follows: [] };
  const missed = events.filter(({ offset, topic }) => offset > cursor && hears(topics, topic));
  const held = new Set(events.slice(-bounds.ring));
  if (missed.some((event) => !held.has(event))) return { verdict: "gap_floor", follows: [] };
  if (missed.length > bounds.reply) return { verdict: "gap_budget", follows: [] };
  return { verdict: "resumed", follows: missed.map(({ offset }) => offset) };
}

/**
 * Says whether a connection receives an event.
 *
 * @param topics The connection's topics; empty for everything.
 * @param topic The event's topic; `""` is a broadcast.
 * @returns Whether it does.
 */
export function hears(topics: readonly string[], topic: string): boolean {
  return topics.length === 0 || topic === "" || topics.includes(topic);
}
