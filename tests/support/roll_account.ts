/**
 * What a client goes through while pods are replaced under it, and the counting of it. A page of a
 * browser keeps such an account as well.
 *
 * @module
 */

/** One client's account. Instants are milliseconds since the Unix epoch: processes share them. */
export interface Account {
  /** The one topic that it listens to. */
  readonly topic: string;
  /** The numbers of the events that it was given, in order. */
  readonly seen: number[];
  /** When it began to ask for a stream: for a ticket first. */
  readonly attempts: number[];
  /** When a stream said hello. */
  readonly hellos: number[];
  /** When a stream that had said hello ended. */
  readonly ends: number[];
  /** What the hellos said. */
  readonly verdicts: string[];
  /** Why attempts failed. */
  readonly failures: string[];
}

/** What was published on one topic: the numbers 1, 2, 3, … */
export interface Published {
  /** Acknowledged: everybody must be given them. */
  readonly stored: ReadonlySet<number>;
  /** Not acknowledged: they may have been stored. */
  readonly doubtful: ReadonlySet<number>;
}

/** What is wrong with what a client was given. Each number must be 0. */
export interface Wrongs {
  /** Acknowledged, and not given. */
  readonly lost: number;
  /** Given twice. */
  readonly twice: number;
  /** Given after what was published after it. */
  readonly disordered: number;
  /** Given, and never published. */
  readonly strange: number;
}

/**
 * Begins an account.
 *
 * @param topic What the client listens to.
 */
export function openAccount(topic: string): Account {
  return { topic, seen: [], attempts: [], hellos: [], ends: [], verdicts: [], failures: [] };
}

/** One time without a stream. */
export interface Gap {
  /** When the stream ended. */
  readonly from: number;
  /** When the next one said hello; `Infinity` when none did. */
  readonly to: number;
  /** When it was asked for, once or more often. */
  readonly attempts: readonly number[];
}

/**
 * When a client was without a stream.
 *
 * @param account Its account.
 * @returns Each time, in order.
 */
export function gapsOf({ ends, hellos, attempts }: Account): Gap[] {
  return ends.map((from, i) => {
    const to = hellos[i + 1] ?? Infinity;
    return { from, to, attempts: attempts.filter((at) => at >= from && at <= to) };
  });
}

/**
 * How long a client was without a stream at most.
 *
 * @param account Its account.
 * @returns Milliseconds from the end of one to the hello of the next; `Infinity` when none came.
 */
export function longestGap(account: Account): number {
  return Math.max(0, ...gapsOf(account).map(({ from, to }) => to - from));
}

/**
 * Counts what is wrong with what a client was given.
 *
 * @param account Its account.
 * @param published What was published on its topic, from its first hello on.
 */
export function audit({ seen }: Account, { stored, doubtful }: Published): Wrongs {
  const had = new Set(seen);
  return {
    lost: [...stored].filter((n) => !had.has(n)).length,
    twice: seen.length - had.size,
    disordered: seen.filter((n, i) => i > 0 && n < (seen[i - 1] ?? 0)).length,
    strange: seen.filter((n) => !stored.has(n) && !doubtful.has(n)).length,
  };
}

/**
 * Counts instants in windows that follow each other.
 *
 * @param instants The instants, in any order.
 * @param windowMs How long one window is.
 * @param from When the first one begins; no instant is before it.
 * @returns How many fall into each window, up to the last in which one does.
 */
export function histogram(instants: readonly number[], windowMs: number, from: number): number[] {
  const counts: number[] = [];
  for (const at of instants) {
    const index = Math.floor((at - from) / windowMs);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return Array.from(counts, (count) => count ?? 0);
}
