/**
 * The questions that are answered inside one process, as reports over all runtimes.
 *
 * @module
 */
import { collect, rowsOf, valueOf } from "./collect.ts";
import type { Options } from "./options.ts";
import { RUNTIMES } from "./programs.ts";
import { format, type Report } from "./report.ts";
import type { Target } from "./stats.ts";

type Log = (line: string) => void;

const COLUMNS: readonly string[] = ["", ...RUNTIMES];

/**
 * The parser's throughput.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function parseReport(options: Options, log: Log): Promise<Report> {
  const collected = await collect("bench/parse.ts", options.quick, log);
  return {
    title: "Parsing, MB/s",
    columns: COLUMNS,
    rows: rowsOf(collected, "mbPerSecond", format),
    targets: [],
    notes: [],
  };
}

/**
 * Resuming in process.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function replayReport(options: Options, log: Log): Promise<Report> {
  const collected = await collect("bench/replay.ts", options.quick, log);
  return {
    title: "Resuming one client in process, µs from the request to the last byte",
    columns: COLUMNS,
    rows: rowsOf(collected, "microsPerResume", format),
    targets: [],
    notes: [],
  };
}

const FEW = "10 of 10 connections";
const CROWDS: readonly string[] = [
  "10 of 10,000, one other topic",
  "10 of 10,000, 9,990 other topics",
];

/**
 * Publishing by topic.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function topicsReport(options: Options, log: Log): Promise<Report> {
  const collected = await collect("bench/topics.ts", options.quick, log);
  const targets = RUNTIMES.flatMap((runtime) => {
    const value = (name: string): number | null =>
      valueOf(collected, runtime, name, "microsPerEvent");
    const few = value(FEW);
    return CROWDS.map((name): Target => {
      const crowd = value(name);
      return {
        what: `${runtime}, ${name}, to ${FEW}`,
        value: few === null || crowd === null ? null : crowd / few,
        side: "at most",
        bound: 3,
      };
    });
  });
  return {
    title: "Publishing one event in process, µs until every listener's sink has it",
    columns: COLUMNS,
    rows: rowsOf(collected, "microsPerEvent", format),
    targets,
    notes: [],
  };
}
