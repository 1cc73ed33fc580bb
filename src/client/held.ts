/**
 * What waits for a revalidation to settle: a queue that is a value, so that the machine stays pure,
 * with constant work for each push.
 *
 * @module
 */
import type { Cursor } from "../wire/cursor.ts";
import type { Frame } from "./types.ts";

/** A frame, or with `frame` `null` an id alone, in its place. */
export interface HeldItem {
  /** The frame. */
  readonly frame: Frame | null;
  /** Where the cursor stands after it; `null` when it does not move. */
  readonly cursor: Cursor | null;
}

interface Link {
  readonly item: HeldItem;
  readonly before: Link | null;
}

/** The queue. */
export interface Held {
  /** How many frames it holds. */
  readonly frames: number;
  /** How many bytes they take, at two per character. */
  readonly bytes: number;
  /** In order: those from `at` on still wait. */
  readonly ready: readonly HeldItem[];
  readonly at: number;
  /** The newest, newest first. */
  readonly newest: Link | null;
}

/** Nothing. */
export const NOTHING_HELD: Held = { frames: 0, bytes: 0, ready: [], at: 0, newest: null };

/**
 * Appends.
 *
 * @param held The queue.
 * @param item What comes last.
 * @returns The queue with it.
 */
export function hold(held: Held, item: HeldItem): Held {
  return {
    ...held,
    frames: held.frames + (item.frame === null ? 0 : 1),
    bytes: held.bytes + sizeOf(item),
    newest: { item, before: held.newest },
  };
}

/**
 * Takes the first.
 *
 * @param held The queue.
 * @returns What came first, and the rest; `null` when it is empty.
 */
export function takeHeld(held: Held): readonly [HeldItem, Held] | null {
  const ready = held.at < held.ready.length ? held : turn(held);
  const item = ready.ready[ready.at];
  if (item === undefined) return null;
  return [item, {
    ...ready,
    at: ready.at + 1,
    frames: ready.frames - (item.frame === null ? 0 : 1),
    bytes: ready.bytes - sizeOf(item),
  }];
}

function turn(held: Held): Held {
  const ready: HeldItem[] = [];
  for (let link = held.newest; link !== null; link = link.before) ready.push(link.item);
  return { ...held, ready: ready.reverse(), at: 0, newest: null };
}

function sizeOf({ frame }: HeldItem): number {
  return frame === null ? 0 : 2 * (frame.data.length + frame.type.length);
}
