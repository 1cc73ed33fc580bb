/**
 * Measuring inside one process: a warm-up, several samples, their median; and how such a benchmark
 * is run by itself.
 *
 * @module
 */
import process from "node:process";
import { median } from "./stats.ts";

/** How long to measure. */
export interface Effort {
  /** How many samples. */
  readonly samples: number;
  /** How long each sample runs, in milliseconds. */
  readonly sampleMs: number;
  /** How long it runs before, unmeasured, so that the runtime has compiled what is hot. */
  readonly warmMs: number;
}

/** One result: a name and its numbers, which travel as a line of JSON. */
export interface Result {
  /** What was measured. */
  readonly name: string;
  /** The numbers, by what they mean. */
  readonly values: Readonly<Record<string, number>>;
}

/** What a benchmark that runs inside one process exports. */
export type InProcess = (effort: Effort) => Result[] | Promise<Result[]>;

const QUICK: Effort = { samples: 3, sampleMs: 30, warmMs: 100 };
const FULL: Effort = { samples: 9, sampleMs: 100, warmMs: 400 };

/**
 * How long one run of a function takes.
 *
 * @param effort How long to measure.
 * @param run The function; it must check its own result.
 * @returns The median over the samples, in microseconds.
 */
export async function microsOf(
  effort: Effort,
  run: () => void | Promise<void>,
): Promise<number> {
  const warm = await runsIn(effort.warmMs, run);
  let runs = Math.max(1, Math.round(warm * effort.sampleMs / effort.warmMs));
  const samples: number[] = [];
  for (let i = 0; i < effort.samples; i++) {
    const start = performance.now();
    for (let k = 0; k < runs; k++) {
      const pending = run();
      if (pending !== undefined) await pending;
    }
    const tookMs = performance.now() - start;
    samples.push(tookMs * 1000 / runs);
    runs = Math.max(1, Math.round(runs * effort.sampleMs / Math.max(tookMs, 0.01)));
  }
  return median(samples);
}

async function runsIn(ms: number, run: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  let runs = 0;
  do {
    const pending = run();
    if (pending !== undefined) await pending;
    runs++;
  } while (performance.now() - start < ms);
  return runs;
}

/**
 * Runs a benchmark, as the last line of the program that it is, and prints each result as a line of
 * JSON.
 *
 * @param bench The benchmark.
 */
export async function printResults(bench: InProcess): Promise<void> {
  const results = await bench(process.argv.includes("--quick") ? QUICK : FULL);
  for (const result of results) process.stdout.write(JSON.stringify(result) + "\n");
}
