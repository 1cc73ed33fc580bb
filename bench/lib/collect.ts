/**
 * Running a program that prints results, on each runtime, one after the other.
 *
 * @module
 */
import { execFile } from "node:child_process";
import type { Result } from "./inprocess.ts";
import { programFor, type Runtime, RUNTIMES } from "./programs.ts";

const DEADLINE_MS = 300_000;

/** What a program printed on one runtime. */
export interface Collected {
  /** The runtime. */
  readonly runtime: Runtime;
  /** Its results, in the order in which they were printed. */
  readonly results: readonly Result[];
}

/**
 * Runs a program on each runtime.
 *
 * @param path The program, from the repository's root.
 * @param quick Whether a rough result will do.
 * @param log Where to tell how far it is.
 * @returns What it printed, by runtime.
 * @throws {Error} When it fails on one of them.
 */
export async function collect(
  path: string,
  quick: boolean,
  log: (line: string) => void,
): Promise<Collected[]> {
  const all: Collected[] = [];
  for (const runtime of RUNTIMES) {
    const { command, args } = await programFor(runtime, path);
    const text = await output(command, quick ? [...args, "--quick"] : args);
    const results = text.trim().split("\n").map((line) => JSON.parse(line) as Result);
    all.push({ runtime, results });
    log(`${path}: ${runtime}: ${results.length} results`);
  }
  return all;
}

function output(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { timeout: DEADLINE_MS, maxBuffer: 1 << 24 }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

/**
 * A table with one row per result and one column per runtime.
 *
 * @param collected What the programs printed.
 * @param value Which of a result's numbers to show.
 * @param format How to write it.
 * @returns The rows.
 */
export function rowsOf(
  collected: readonly Collected[],
  value: string,
  format: (value: number) => string,
): string[][] {
  const names = [...new Set(collected.flatMap(({ results }) => results.map(({ name }) => name)))];
  return names.map((name) => [
    name,
    ...collected.map(({ results }) => {
      const found = results.find((result) => result.name === name)?.values[value];
      return found === undefined ? "–" : format(found);
    }),
  ]);
}

/**
 * One number out of what was collected.
 *
 * @param collected What the programs printed.
 * @param runtime The runtime.
 * @param name The result's name.
 * @param value Which of its numbers.
 * @returns The number; `null` when it is not there.
 */
export function valueOf(
  collected: readonly Collected[],
  runtime: Runtime,
  name: string,
  value: string,
): number | null {
  const results = collected.find((one) => one.runtime === runtime)?.results ?? [];
  return results.find((result) => result.name === name)?.values[value] ?? null;
}
