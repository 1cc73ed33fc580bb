/**
 * Judging a cursor where a journal stands behind the ring: at once when the ring can tell, else after
 * the journal was asked.
 *
 * @module
 */
import { readCursor } from "../wire/cursor.ts";
import type { Verdict } from "../wire/hello.ts";
import type { Backlog } from "./backlog.ts";
import type { Feed } from "./feed.ts";
import type { EventLog } from "./log.ts";
import type { HubSettings } from "./options.ts";
import { journalTopics, type Topics } from "./topics.ts";
import { judge, type Judgement } from "./verdict.ts";

/** By what cursors are judged. */
export interface Court {
  readonly log: EventLog;
  readonly settings: HubSettings;
  /** The journal behind the ring; `null` where there is none. */
  readonly backlog: Backlog | null;
}

/** Which frames a cursor is judged for. */
export interface Scope {
  /** Exactly these topics, `""` for the broadcasts; `null` for everything. */
  readonly topics: readonly string[] | null;
  /** The newest offset of them that the ring no longer holds, or that never came. */
  evicted(): number;
  /** Counts those which the ring holds after an offset. */
  count(offset: number, enough: number): number;
  /** From now on counts those that are published. Returns how many that were. */
  follow(): () => number;
}

/**
 * What a connection receives.
 *
 * @param log The hub's sequence.
 * @param topics What it listens to.
 * @param feed Its frames, which are offered what is published while the journal is asked: the ring may
 * have dropped that again when the journal has answered.
 */
export function scopeOf(log: EventLog, topics: Topics, feed: Pick<Feed, "owed">): Scope {
  return {
    topics: journalTopics(topics),
    evicted: () => Math.max(log.evictedFor(topics), log.lost),
    count: (offset, enough) => log.count(offset, topics, enough),
    follow() {
      const before = feed.owed;
      return () => feed.owed - before;
    },
  };
}

/**
 * One topic alone, without broadcasts.
 *
 * @param log The hub's sequence.
 * @param topic The topic.
 */
export function scopeOfTopic(log: EventLog, topic: string): Scope {
  const count = (after: number): number =>
    log.ofTopic(topic).filter(({ offset }) => offset > after).length;
  return {
    topics: [topic],
    evicted: () => Math.max(log.evictedOf(topic), log.lost),
    count,
    // Only its budget hangs on it: what is published comes live.
    follow() {
      const { head } = log;
      return () => count(head);
    },
  };
}

/** What is judged when the journal has answered; `null` when it did not in time. */
export type Deferred = () => Judgement | null;

/**
 * Judges a presented cursor.
 *
 * @param court By what.
 * @param presented The value presented; `""` for none.
 * @param scope For which frames.
 * @returns The judgement. Where the journal must be asked first, a promise of a function that judges:
 * called in the turn in which the judgement is acted on, for it speaks of that instant.
 */
export function judgeCursor(
  court: Court,
  presented: string,
  scope: Scope,
): Judgement | Promise<Deferred> {
  const judgement = judgeByRing(court, presented, scope);
  return court.backlog !== null && isOpen(judgement.verdict)
    ? askJournal(court, court.backlog, presented, scope)
    : judgement;
}

/** What the ring says of a cursor behind it, or ahead of this pod, is not the last word. */
function isOpen(verdict: Verdict): boolean {
  return verdict === "gap_floor" || verdict === "gap_ahead";
}

/**
 * Judges a presented cursor by what the ring holds, after what is too old has been evicted.
 *
 * @param court By what.
 * @param presented The value presented; `""` for none.
 * @param scope For which frames.
 */
export function judgeByRing(
  { log, settings }: Omit<Court, "backlog">,
  presented: string,
  scope: Scope,
): Judgement {
  log.evict();
  const { epoch, head } = log;
  const budget = settings.replyMaxEvents;
  const evicted = scope.evicted();
  return judge(presented, { epoch, head, evicted, budget, count: scope.count });
}

async function askJournal(
  court: Court,
  backlog: Backlog,
  presented: string,
  scope: Scope,
): Promise<Deferred> {
  const { log } = court;
  const budget = court.settings.replyMaxEvents;
  const offset = readCursor(presented)?.offset ?? 0;
  if (offset > log.head) {
    const reached = await backlog.reach(offset);
    if (reached === null) return () => null;
    if (judgeByRing(court, presented, scope).verdict !== "gap_floor") {
      return () => {
        const now = judgeByRing(court, presented, scope);
        // The ring has gone on by then; the journal was not asked.
        return now.verdict === "gap_floor" ? null : now;
      };
    }
  }
  const { epoch, head } = log;
  const published = scope.follow();
  const range = { after: offset, upTo: head, topics: scope.topics };
  const measured = await backlog.measure(range, budget + 1);
  return () => {
    const now = judgeByRing(court, presented, scope);
    // Unless the pod has followed the journal into another epoch meanwhile.
    if (now.verdict !== "gap_floor") return now;
    if (measured === null || measured.window.epoch !== epoch || log.epoch !== epoch) return null;
    // An older copy of what this pod has given out: whoever follows the journal will notice.
    if (measured.window.head < head) return null;
    if (measured.window.floor > offset + 1) return now;
    const missed = measured.count + published();
    if (missed > budget) return { ...now, verdict: "gap_budget" };
    return { verdict: "resumed", position: offset, missed };
  };
}
