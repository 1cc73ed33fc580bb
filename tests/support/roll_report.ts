/**
 * What became of all clients while pods were replaced, in numbers.
 *
 * @module
 */
import {
  type Account,
  audit,
  gapsOf,
  histogram,
  type Published,
  type Wrongs,
} from "./roll_account.ts";

/** A pod that was replaced. */
export interface Roll {
  /** What it was called. */
  readonly pod: string;
  /** When it was told to go, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** Its exit code. */
  readonly code: number;
  /** How long it took to go, in milliseconds. */
  readonly afterMs: number;
}

/** One roll, and those whom it concerned. */
export interface RollOutcome extends Roll {
  /** How many streams ended between it and the next. */
  readonly away: number;
  /** How many attempts to have another followed, in windows of {@linkcode WINDOW_MS} from its start. */
  readonly back: readonly number[];
  /** The most attempts of one window, for each stream that ended. */
  readonly share: number;
}

/** How long one window of the attempts is. */
export const WINDOW_MS = 250;

/** What was counted. */
export interface Report {
  /** Of all clients together. */
  readonly wrongs: Wrongs;
  /** How many events were given, to all clients together. */
  readonly received: number;
  /** How often each verdict was given. */
  readonly verdicts: Readonly<Record<string, number>>;
  /** How often an attempt failed, by why. */
  readonly failures: Readonly<Record<string, number>>;
  /** What each roll did. */
  readonly rolls: readonly RollOutcome[];
}

/**
 * Counts.
 *
 * @param accounts What each client went through.
 * @param publishedOn What was published on a topic.
 * @param rolls The pods that were replaced, in order.
 */
export function report(
  accounts: readonly Account[],
  publishedOn: (topic: string) => Published,
  rolls: readonly Roll[],
): Report {
  const wrongs = accounts.map((account) => audit(account, publishedOn(account.topic)));
  const sum = (of: (one: Wrongs) => number): number =>
    wrongs.reduce((all, one) => all + of(one), 0);
  return {
    wrongs: {
      lost: sum(({ lost }) => lost),
      twice: sum(({ twice }) => twice),
      disordered: sum(({ disordered }) => disordered),
      strange: sum(({ strange }) => strange),
    },
    received: accounts.reduce((all, { seen }) => all + seen.length, 0),
    verdicts: count(accounts.flatMap(({ verdicts }) => verdicts)),
    failures: count(accounts.flatMap(({ failures }) => failures)),
    rolls: rolls.map((roll, i) => {
      const { at } = roll;
      const next = rolls[i + 1]?.at ?? Date.now();
      const gaps = accounts.flatMap(gapsOf).filter(({ from }) => from >= at && from < next);
      const back = histogram(gaps.flatMap(({ attempts }) => attempts), WINDOW_MS, at);
      return { ...roll, away: gaps.length, back, share: Math.max(...back) / gaps.length };
    }),
  };
}

/**
 * Says how long clients were without a stream.
 *
 * @param accounts Their accounts.
 * @returns How often, the median, the 99th percentile and the longest.
 */
export function describeGaps(accounts: readonly Account[]): string {
  const sorted = accounts.flatMap(gapsOf).map(({ from, to }) => to - from).sort((a, b) => a - b);
  const at = (share: number): number | undefined => sorted[Math.floor((sorted.length - 1) * share)];
  return `${sorted.length} times, median ${at(0.5)} ms, 99% ${at(0.99)} ms, longest ${at(1)} ms`;
}

/**
 * Says what a roll did.
 *
 * @param roll Its outcome.
 */
export function describeRoll({ pod, code, afterMs, away, back, share }: RollOutcome): string {
  return `${pod}: code ${code} after ${Math.round(afterMs)} ms, ${away} sent away, at most ` +
    `${Math.round(share * 100)}% back in ${WINDOW_MS} ms: ${back.join(" ")}`;
}

function count(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
