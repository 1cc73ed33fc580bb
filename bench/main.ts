/**
 * The benchmarks: `node --import tsx bench/main.ts [load|replay|parse|topics|journal|idle …] [--quick]
 * [--json FILE] [--rounds N] [--clients N] [--only NAME,NAME] [--seed N]`.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import process from "node:process";
import { type Options, type Question, readArguments } from "./lib/options.ts";
import { machine, machineText, type Report, reportText } from "./lib/report.ts";
import { judge } from "./lib/stats.ts";
import { parseReport, replayReport, topicsReport } from "./lib/inprocess_reports.ts";
import { journalDelays, journalRates } from "./lib/journal_reports.ts";
import { runIdle } from "./load/idle.ts";
import { runResume } from "./load/resume.ts";
import { runLoad } from "./load/run.ts";

type Run = (options: Options, log: (line: string) => void) => Promise<Report>;

const RUNS: { readonly [Q in Question]: readonly Run[] } = {
  load: [runLoad],
  replay: [replayReport, runResume],
  parse: [parseReport],
  topics: [topicsReport],
  journal: [journalRates, journalDelays],
  idle: [runIdle],
};

async function main(): Promise<void> {
  const options = readArguments(process.argv.slice(2));
  const where = machine();
  console.log(machineText(where));
  const reports: Report[] = [];
  for (const run of options.questions.flatMap((question) => RUNS[question])) {
    const report = await run(options, (line) => console.error(`  ${line}`));
    console.log(`\n${reportText(report)}`);
    reports.push(report);
  }
  if (options.json !== null) {
    const judged = reports.map((report) => ({
      ...report,
      targets: report.targets.map((target) => ({ ...target, verdict: judge(target) })),
    }));
    writeFileSync(
      options.json,
      JSON.stringify({ machine: where, reports: judged }, null, 2) + "\n",
    );
  }
}

await main();
