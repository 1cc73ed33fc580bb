/**
 * What a journal costs, as reports over all runtimes.
 *
 * @module
 */
import { collect, type Collected, rowsOf } from "./collect.ts";
import type { Options } from "./options.ts";
import { RUNTIMES } from "./programs.ts";
import { format, type Report } from "./report.ts";
import type { Target } from "./stats.ts";

const COLUMNS: readonly string[] = ["", ...RUNTIMES];

/** The share of the bare driver's appends that a journal must reach, and when a resume must begin. */
const LEAST_SHARE = 0.7;
const RESUME_MS = 50;

let collected: Promise<Collected[]> | undefined;

/** Both reports are of one run. */
function collectOnce(options: Options, log: (line: string) => void): Promise<Collected[]> {
  return collected ??= collect("bench/journal/main.ts", options.quick, log);
}

/**
 * How many events a second are stored and read.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function journalRates(
  options: Options,
  log: (line: string) => void,
): Promise<Report> {
  const all = await collectOnce(options, log);
  return {
    title: "A journal: events a second",
    columns: COLUMNS,
    rows: withValue(all, "perSecond"),
    // In memory there is no driver to be compared with.
    targets: targets(all, "share", LEAST_SHARE, "at least").filter(({ what }) =>
      !what.includes("memory")
    ),
    notes: [],
  };
}

/**
 * How long an event, and a client that comes back, wait.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function journalDelays(
  options: Options,
  log: (line: string) => void,
): Promise<Report> {
  const all = await collectOnce(options, log);
  return {
    title: "A hub over a journal: milliseconds",
    columns: COLUMNS,
    rows: withValue(all, "ms"),
    targets: targets(all, "ms", RESUME_MS, "at most").filter(({ what }) => what.includes("resume")),
    notes: [],
  };
}

function withValue(all: readonly Collected[], value: string): string[][] {
  return rowsOf(
    all.map(({ runtime, results }) => ({
      runtime,
      results: results.filter(({ values }) => values[value] !== undefined),
    })),
    value,
    format,
  );
}

function targets(
  all: readonly Collected[],
  value: string,
  bound: number,
  side: Target["side"],
): Target[] {
  return all.flatMap(({ runtime, results }) =>
    results.filter(({ values }) => values[value] !== undefined).map(({ name, values }) => ({
      what: value === "share" ? `${runtime}, ${name}, to the driver alone` : `${runtime}, ${name}`,
      value: values[value] ?? null,
      side,
      bound,
    }))
  );
}
