/**
 * The command line of the benchmarks.
 *
 * @module
 */
import { parseArgs } from "node:util";

/** The questions, each a file. */
export const QUESTIONS = ["load", "replay", "parse", "topics", "journal", "idle"] as const;

/** One of the questions. */
export type Question = (typeof QUESTIONS)[number];

/** What the command line asked for. */
export interface Options {
  /** Which questions to ask; all of them by default. */
  readonly questions: readonly Question[];
  /** Fewer rounds and clients: whether it runs at all, not how fast. */
  readonly quick: boolean;
  /** Where to write the results as JSON; `null` for nowhere. */
  readonly json: string | null;
  /** What orders and inputs follow from. */
  readonly seed: number;
  /** The number of rounds, when it is not the default. */
  readonly rounds: number | null;
  /** The number of clients of the load benchmark, when it is not the default. */
  readonly clients: number | null;
  /** Which contenders of the load benchmark to run, when not the usual ones. */
  readonly only: readonly string[] | null;
}

/**
 * Reads the command line.
 *
 * @param args The arguments after the program's name.
 * @returns What they ask for.
 * @throws {Error} When a question is unknown or a number is not a positive whole one.
 */
export function readArguments(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      seed: { type: "string", default: "1" },
      rounds: { type: "string" },
      clients: { type: "string" },
      only: { type: "string" },
    },
  });
  const questions = QUESTIONS.filter((name) =>
    positionals.length === 0 || positionals.includes(name)
  );
  const unknown = positionals.find((name) => !(QUESTIONS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new Error(`Cannot run ${unknown}: the questions are ${QUESTIONS.join(", ")}`);
  }
  return {
    questions,
    quick: values.quick,
    json: values.json ?? null,
    seed: positive("seed", values.seed),
    rounds: values.rounds === undefined ? null : positive("rounds", values.rounds),
    clients: values.clients === undefined ? null : positive("clients", values.clients),
    only: values.only === undefined ? null : values.only.split(","),
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(`Cannot use --${name} ${text}: it must be a positive whole number`);
  }
  return value;
}
