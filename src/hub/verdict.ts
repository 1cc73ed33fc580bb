/**
 * The verdict: a pure function from what a client presents and what a hub holds to an answer.
 *
 * @module
 */
import { CursorError } from "../errors.ts";
import { type Cursor, parseCursor } from "../wire/cursor.ts";
import type { Verdict } from "../wire/hello.ts";

/** What a hub holds for a connection, as far as a verdict asks. */
export interface Holdings {
  /** The epoch of the sequence. */
  readonly epoch: string;
  /** The newest offset. */
  readonly head: number;
  /** The newest offset that this connection would have received and that is no longer held. */
  readonly evicted: number;
  /** How many frames one reply may replay. */
  readonly budget: number;
  /**
   * Counts the held frames after an offset that this connection would have received.
   *
   * @param offset The offset, exclusive.
   * @param enough Where the counting may stop.
   */
  count(offset: number, enough: number): number;
}

/** A verdict, and where the connection stands by it. */
export interface Judgement {
  /** The verdict. */
  readonly verdict: Verdict;
  /** The offset after which the connection receives: its cursor's when it resumed, else the head. */
  readonly position: number;
  /** How many frames it will be replayed. */
  readonly missed: number;
}

/**
 * Judges a presented cursor for a connection's topics.
 *
 * @param presented The value presented; `""` when there was none.
 * @param held What the hub holds for this connection.
 * @returns The first verdict that holds, in the wire's order.
 */
export function judge(presented: string, held: Holdings): Judgement {
  const cursor = read(presented);
  const refuse = (verdict: Verdict): Judgement => ({ verdict, position: held.head, missed: 0 });
  if (cursor === null) return refuse("fresh");
  if (cursor === "invalid") return refuse("cursor_invalid");
  if (cursor.epoch !== held.epoch) return refuse("epoch_changed");
  if (cursor.offset > held.head) return refuse("gap_ahead");
  if (cursor.offset < held.evicted) return refuse("gap_floor");
  const missed = held.count(cursor.offset, held.budget + 1);
  if (missed > held.budget) return refuse("gap_budget");
  return { verdict: "resumed", position: cursor.offset, missed };
}

function read(presented: string): Cursor | null | "invalid" {
  try {
    return parseCursor(presented);
  } catch (error) {
    if (error instanceof CursorError) return "invalid";
    throw error;
  }
}
