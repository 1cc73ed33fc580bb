/**
 * Where in a journal a cursor, or a topic's past, begins.
 *
 * @module
 */
import { judge, type Judgement } from "../../../hub/verdict.ts";
import type { HistoryRequest } from "../../../hub/types.ts";
import type { Journal, JournalWindow } from "../../../journal/journal.ts";
import { readCursor } from "../../../wire/cursor.ts";

/** A judgement, and the journal as it stood. */
export interface Judged {
  readonly judgement: Judgement;
  readonly window: JournalWindow;
}

/**
 * Judges a cursor by what the journal holds.
 *
 * @param journal The journal.
 * @param presented The value presented; `""` for none.
 * @param topics For which entries: exactly these topics; `null` for all.
 * @param budget How many frames one reply may replay.
 * @returns The judgement.
 * @throws {JournalError} When the journal cannot be asked.
 */
export async function judgeByJournal(
  journal: Pick<Journal, "window" | "count">,
  presented: string,
  topics: readonly string[] | null,
  budget: number,
): Promise<Judged> {
  const cursor = readCursor(presented);
  const before = await journal.window();
  const range = { after: cursor?.offset ?? 0, upTo: before.head, topics };
  const asked = cursor !== null && cursor.epoch === before.epoch && cursor.offset < before.head;
  const counted = asked ? await journal.count(range, budget + 1) : 0;
  // Afterwards: what was trimmed meanwhile must be seen.
  const { epoch, floor } = await journal.window();
  const held = { epoch, head: before.head, evicted: floor - 1, budget, count: () => counted };
  return { judgement: judge(presented, held), window: { ...before, epoch, floor } };
}

/**
 * The offset after which a topic's history begins.
 *
 * @param journal The journal.
 * @param topic The topic.
 * @param request How much of it is wanted.
 * @param upTo Where it ends.
 * @param now The time, in milliseconds since the Unix epoch.
 * @returns The offset, exclusive.
 * @throws {JournalError} When the journal cannot be asked.
 */
export async function beginningOf(
  journal: Pick<Journal, "count" | "read">,
  topic: string,
  request: HistoryRequest,
  upTo: number,
  now: number,
): Promise<number> {
  if (request === true) return 0;
  const topics = [topic];
  if ("last" in request) {
    const { last } = request;
    if (last === 0) return upTo;
    // The newest offset after which enough of them stand.
    return await bisect(upTo, async (after) => {
      return await journal.count({ after, upTo, topics }, last) >= last;
    });
  }
  const oldest = now - request.sinceMs;
  const startsTooOld = async (after: number): Promise<boolean> => {
    const { entries: [first] } = await journal.read({ after, upTo, topics, limit: 1 });
    return first !== undefined && first.at < oldest;
  };
  return await startsTooOld(0) ? await bisect(upTo, startsTooOld) + 1 : 0;
}

/** The greatest offset below an end for which something holds; what holds for one holds for each before. */
async function bisect(end: number, holds: (offset: number) => Promise<boolean>): Promise<number> {
  let low = 0;
  let high = end;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}
