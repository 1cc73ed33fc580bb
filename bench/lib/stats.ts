/**
 * The few numbers that a benchmark needs of its samples.
 *
 * @module
 */

/**
 * The value below which a share of the samples lies.
 *
 * @param samples The samples, in any order, at least one.
 * @param share From 0 to 1; 0.5 is the median.
 * @returns The value, between two samples where the share falls between them.
 * @throws {RangeError} When there is no sample.
 */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  if (low === undefined || high === undefined) throw new RangeError("there is no sample");
  return low + (high - low) * (at - Math.floor(at));
}

/**
 * The median.
 *
 * @param samples The samples, at least one.
 * @returns Their median.
 */
export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** A number that somebody promised, and whether it was kept. */
export interface Target {
  /** What is promised, in a few words. */
  readonly what: string;
  /** What was measured; `null` when the run did not measure it. */
  readonly value: number | null;
  /** Which side of the bound is kept. */
  readonly side: "at most" | "at least";
  /** The bound. */
  readonly bound: number;
}

/**
 * Judges a target.
 *
 * @param target The target.
 * @returns `pass`, `miss`, or `not run` when there is no value.
 */
export function judge(target: Target): "pass" | "miss" | "not run" {
  if (target.value === null) return "not run";
  const kept = target.side === "at most"
    ? target.value <= target.bound
    : target.value >= target.bound;
  return kept ? "pass" : "miss";
}
