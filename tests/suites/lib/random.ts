/**
 * Randomness with a seed, so that a run can be had again.
 *
 * @module
 */

/** A source of random numbers. */
export interface Random {
  /** The seed. */
  readonly seed: number;
  /** A number from 0, inclusive, to 1, exclusive. */
  next(): number;
  /** A whole number from one bound to another, both included. */
  between(least: number, most: number): number;
}

/**
 * Makes a source (mulberry32).
 *
 * @param seed The seed, a whole number of 32 bits.
 * @returns The source.
 */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    seed,
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
  };
}

/** The seed of a run: `TIDEMARK_SEED`, or a new one. */
export function runSeed(): number {
  const given = Deno.env.get("TIDEMARK_SEED");
  return given === undefined ? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0 : Number(given);
}
