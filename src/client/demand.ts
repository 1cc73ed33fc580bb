/**
 * A wish for a revalidation, and how two of them become one. Pure.
 *
 * @module
 */
import type { Cursor } from "../wire/cursor.ts";
import type { RevalidateCause } from "./types.ts";

/** A revalidation that is wanted. */
export interface Demand {
  /** Why. */
  readonly cause: RevalidateCause;
  /** Whether a digest cannot help. */
  readonly full: boolean;
  /** The topics it is about; `null`: everything. */
  readonly topics: readonly string[] | null;
  /** What the cursor becomes when it has settled; `null`: it stays. */
  readonly adopt: Cursor | null;
  /** It does not start before. */
  readonly notBefore: number;
}

/**
 * A gap outranks a gap of one topic, and both outrank a wake: what is said to the application must
 * be the graver of two causes.
 */
const RANK: Readonly<Record<RevalidateCause, number>> = {
  hello: 3,
  restored: 3,
  lag: 3,
  topic_gap: 2,
  visible: 1,
  pageshow: 1,
  online: 1,
};

/**
 * Joins a later wish to one that waits.
 *
 * @param earlier What waits; `null` when nothing does.
 * @param later What comes.
 * @returns The later one, with all that the earlier one still asks for.
 */
export function mergeDemands(earlier: Demand | null, later: Demand): Demand {
  if (earlier === null) return later;
  return {
    cause: RANK[later.cause] >= RANK[earlier.cause] ? later.cause : earlier.cause,
    full: earlier.full || later.full,
    topics: mergeTopics(earlier, later),
    adopt: later.adopt ?? earlier.adopt,
    notBefore: Math.max(earlier.notBefore, later.notBefore),
  };
}

function mergeTopics(a: Demand, b: Demand): readonly string[] | null {
  return a.topics === null || b.topics === null ? null : [...new Set([...a.topics, ...b.topics])];
}
