/**
 * What the rounds of the load benchmark say: medians, ratios within a round, and the targets.
 *
 * @module
 */
import { format, type Report } from "../lib/report.ts";
import { median, type Target } from "../lib/stats.ts";
import type { ContenderName } from "./contenders.ts";
import type { Mode, Round } from "./round.ts";
import type { Lane, Plan } from "./run.ts";

/** The targets are promised for this many clients, as a median of this many rounds. */
const JUDGED_CLIENTS = 500;
const JUDGED_ROUNDS = 5;

type Rounds = readonly (Round | null)[];

/**
 * Sums up a run.
 *
 * @param plan What was measured.
 * @param lanes The contenders with their rounds.
 * @returns The report.
 */
export function summary(plan: Plan, lanes: readonly Lane[]): Report {
  const raw = roundsOf(lanes, "raw-node", "single");
  const reasons = lanes.flatMap(({ contender, voids }) =>
    voids.map((why) => `void: ${contender.name}, ${why}`)
  );
  return {
    title: `CPU per delivered frame, ${plan.clients} clients, median of ${plan.rounds} rounds`,
    columns: [
      "server",
      "µs one at a time",
      "least–most",
      "to raw",
      "µs in bursts of 10",
      "to raw, one at a time",
      "p99 delay ms",
      "RSS MB",
      "void",
    ],
    rows: lanes.map(({ contender, rounds, voids }) => [
      contender.what,
      cell(medianOf(rounds.single, (round) => round.microsPerFrame)),
      range(rounds.single),
      cell(ratio(rounds.single, raw)),
      cell(medianOf(rounds.burst, (round) => round.microsPerFrame)),
      cell(ratio(rounds.burst, raw)),
      cell(medianOf(rounds.single, (round) => round.delayP99Ms)),
      cell(medianOf(rounds.single, (round) => round.rssBytes / 1_048_576)),
      String(voids.length),
    ]),
    targets: targets(lanes),
    notes: plan.clients < JUDGED_CLIENTS || plan.rounds < JUDGED_ROUNDS
      ? ["a smoke run: too few clients or rounds to judge the targets by", ...reasons]
      : reasons,
  };
}

function cell(value: number | null): string {
  return value === null ? "–" : format(value);
}

function roundsOf(lanes: readonly Lane[], name: ContenderName, mode: Mode["name"]): Rounds {
  return lanes.find(({ contender }) => contender.name === name)?.rounds[mode] ?? [];
}

function medianOf(rounds: Rounds, of: (round: Round) => number): number | null {
  const values = rounds.flatMap((round) => round === null ? [] : [of(round)]);
  return values.length === 0 ? null : median(values);
}

function range(rounds: Rounds): string {
  const values = rounds.flatMap((round) => round === null ? [] : [round.microsPerFrame]);
  if (values.length === 0) return "–";
  return `${format(Math.min(...values))}–${format(Math.max(...values))}`;
}

/**
 * The median of the ratios within each round: what disturbs the machine for a while disturbs both.
 *
 * @param of The rounds above the line.
 * @param to The rounds below it.
 * @returns The median; `null` when no round counted for both.
 */
export function ratio(of: Rounds, to: Rounds): number | null {
  const ratios = of.flatMap((round, i) => {
    const other = to[i];
    if (round === null || other === null || other === undefined) return [];
    return [round.microsPerFrame / other.microsPerFrame];
  });
  return ratios.length === 0 ? null : median(ratios);
}

/** What the project promises, each against raw `node:http`, one frame at a time, in the same run. */
function targets(lanes: readonly Lane[]): Target[] {
  const raw = roundsOf(lanes, "raw-node", "single");
  const most = (what: string, name: ContenderName, mode: Mode["name"], bound: number): Target => ({
    what,
    value: ratio(roundsOf(lanes, name, mode), raw),
    side: "at most",
    bound,
  });
  return [
    most("Node adapter, one at a time, to raw", "ours-node", "single", 1.1),
    most("Deno, one at a time, to raw", "ours-deno", "single", 1.1),
    most("Bun, one at a time, to raw", "ours-bun", "single", 0.65),
    most("Node adapter, bursts of ten, to raw one at a time", "ours-node", "burst", 0.2),
    most("Deno, bursts of ten, to raw one at a time", "ours-deno", "burst", 0.2),
    most("Bun, bursts of ten, to raw one at a time", "ours-bun", "burst", 0.2),
    {
      what: "better-sse, one at a time, to the Node adapter",
      value: ratio(
        roundsOf(lanes, "better-sse", "single"),
        roundsOf(lanes, "ours-node", "single"),
      ),
      side: "at least",
      bound: 1.4,
    },
  ];
}
