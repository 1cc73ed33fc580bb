/**
 * Following a store that can only be read: page after page, and a bell, or a look once in a while,
 * when there is nothing.
 *
 * @module
 */
import { JournalEpochError, JournalGapError } from "../errors/journal.ts";
import type { Bell } from "./bell.ts";
import type { Journal, JournalEntry, JournalPage, TailOptions } from "./journal.ts";

/** How many entries are read at once. */
const PAGE_ENTRIES = 512;

/** How often a quiet journal is looked at, in milliseconds: what `Journal.tail` promises. */
const LOOK_MS = 1000;

/**
 * {@linkcode Journal.tail} over {@linkcode Journal.read}.
 *
 * @param journal What is read.
 * @param bell Rings after each append.
 * @param options From where, and until when.
 * @param lookMs How often it looks when nothing rings, in milliseconds; `Infinity` for never.
 * @returns The batches.
 * @throws What {@linkcode Journal.tail} throws.
 */
export async function* follow(
  journal: Pick<Journal, "read">,
  bell: Bell,
  { epoch, after, signal }: TailOptions,
  lookMs: number = LOOK_MS,
): AsyncGenerator<readonly JournalEntry[], void, undefined> {
  let position = after;
  while (!signal.aborted) {
    const { rings } = bell;
    const page = await journal.read({ after: position, topics: null, limit: PAGE_ENTRIES });
    if (signal.aborted) return;
    checkPage(page, epoch, position);
    // A page may be empty and yet lead on, where numbers were skipped.
    const leadsOn = page.through > position && page.through < page.head;
    position = page.through;
    if (page.entries.length > 0) yield page.entries;
    // Unless it rang while the page was read.
    else if (!leadsOn && bell.rings === rings) await bell.wait(lookMs, signal);
  }
}

/**
 * Refuses a page that does not go on from where its reader stands.
 *
 * @param page The page.
 * @param epoch The epoch that the reader believes in.
 * @param after The offset after which it was read.
 * @throws {JournalEpochError} When the sequence is another one, or has lost its counter.
 * @throws {JournalGapError} When what stands after the offset is no longer held.
 */
export function checkPage(page: JournalPage, epoch: string, after: number): void {
  if (page.epoch !== epoch || page.head < after) {
    throw new JournalEpochError({ epoch, offset: after }, { epoch: page.epoch, offset: page.head });
  }
  if (page.floor > after + 1) throw new JournalGapError(after, page.floor);
}
