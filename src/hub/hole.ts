/**
 * How large a hole is that a reader of the journal came to.
 *
 * @module
 */
import type { Backlog } from "./backlog.ts";
import type { EventLog } from "./log.ts";
import { journalTopics, type Topics } from "./topics.ts";

/** How often it is counted anew because more was trimmed away meanwhile. */
const ATTEMPTS = 3;

/** A hole in the journal, from where its reader stands. */
export interface Hole {
  /** The last offset in it. */
  readonly through: number;
  /** How many frames of the reader it took; `null` when nobody can say. */
  readonly missed: number | null;
}

/**
 * Measures a hole. What is missing is what is owed and not held. Both go on while they are counted, so
 * the hole ends before the floor that still held after the counting. It never reaches into what the
 * ring holds, nor beyond what this pod has seen.
 *
 * @param log The hub's sequence.
 * @param backlog The journal.
 * @param topics What the reader listens to.
 * @param floor The oldest offset that is held, as far as the reader knows.
 * @param owed How many frames it is owed now.
 * @returns The hole; a promise when the journal must be asked.
 */
export function measureHole(
  log: EventLog,
  backlog: Backlog,
  topics: Topics,
  floor: number,
  owed: () => number,
): Hole | Promise<Hole> {
  return inRing(log, topics, floor, owed()) ?? inJournal(log, backlog, topics, floor, owed);
}

/** Where the journal holds nothing that the ring does not: then the ring alone tells. */
function inRing(log: EventLog, topics: Topics, floor: number, owed: number): Hole | null {
  const evicted = log.evictedFor(topics);
  if (floor <= evicted) return null;
  return { through: evicted, missed: counted(owed - log.count(evicted, topics)) };
}

async function inJournal(
  log: EventLog,
  backlog: Backlog,
  topics: Topics,
  first: number,
  owed: () => number,
): Promise<Hole> {
  const names = journalTopics(topics);
  let floor = first;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const then = owed();
    const range = { after: floor - 1, upTo: log.head, topics: names };
    const measured = await backlog.measure(range, Number.MAX_SAFE_INTEGER);
    if (measured === null) break;
    if (measured.window.floor <= floor) {
      const missed = joinedBehind(topics, floor) ? null : counted(then - measured.count);
      return { through: floor - 1, missed };
    }
    floor = measured.window.floor;
    const hole = inRing(log, topics, floor, owed());
    if (hole !== null) return hole;
  }
  return { through: floor - 1, missed: null };
}

/** Whether the journal counts entries of a topic that was subscribed only after them. */
function joinedBehind(topics: Topics, floor: number): boolean {
  for (const since of topics?.values() ?? []) if (since >= floor) return true;
  return false;
}

/** Less than nothing is no count. */
function counted(missed: number): number | null {
  return missed < 0 ? null : missed;
}
