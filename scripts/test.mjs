// @ts-check
/**
 * `npm test`: every check and every test, and one last line that counts them.
 *
 * @module
 */
import process from "node:process";
import { importFlags } from "./lib/jsr.mjs";
import { sideBySide } from "./lib/pool.mjs";
import { checks, Interrupted, tests } from "./lib/steps.mjs";

/** So many steps side by side: most of them wait most of their time. */
const AT_ONCE = 2;
const USAGE = `Usage: npm test -- [--only=NAME,…] [--at-once=N] [--require-all] [PART OF A PATH …]

  --only=NAME,…   only these steps, by the names that stand before the headings
  --at-once=N     so many steps side by side; ${AT_ONCE} unless told. A step that runs alone shows its
                  output as it comes, others when it is their turn
  --require-all   a missing program (nginx, chromium) fails the tests that need it
  PART OF A PATH  only test files whose path holds it; no static checks`;

/**
 * @typedef {object} Arguments
 * @property {readonly string[]} only Names of steps; empty means all.
 * @property {number} atOnce How many steps run side by side.
 * @property {boolean} requireAll Whether a missing program is a failure.
 * @property {readonly string[]} filters Parts of paths of test files; empty means all.
 */

/**
 * Reads the arguments.
 *
 * @param {readonly string[]} args What was passed.
 * @returns {Arguments} What it means.
 * @throws {Error} On a flag that does not exist, or a number that is none; with the usage.
 */
export function readArguments(args) {
  /** @type {string[]} */
  const only = [];
  /** @type {string[]} */
  const filters = [];
  let atOnce = AT_ONCE;
  let requireAll = process.env["TIDEMARK_REQUIRE_ALL"] === "1";
  for (const arg of args) {
    if (arg === "--require-all") requireAll = true;
    else if (arg.startsWith("--only=")) only.push(...arg.slice("--only=".length).split(","));
    else if (/^--at-once=[1-9]\d?$/.test(arg)) atOnce = Number(arg.slice("--at-once=".length));
    else if (arg.startsWith("-")) throw new Error(`There is no flag ${arg}.\n${USAGE}`);
    else filters.push(arg.replace(/^\.\//, ""));
  }
  return { only, atOnce, requireAll, filters };
}

/**
 * Runs the steps.
 *
 * @param {readonly string[]} args What was passed on the command line.
 * @param {boolean} staticOnly Whether only the static checks are asked for.
 * @returns {Promise<number>} 0 when everything passed, 1 when something failed.
 * @throws {Error} When the arguments make no sense, or somebody stopped the run.
 */
export async function runTests(args, staticOnly) {
  const { only, atOnce, requireAll, filters } = readArguments(args);
  if (requireAll) process.env["TIDEMARK_REQUIRE_ALL"] = "1";
  const flags = await importFlags();
  const all = [
    ...(filters.length === 0 ? checks(flags) : []),
    ...(staticOnly ? [] : tests(flags, filters)),
  ];
  const names = all.map((step) => step.name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new Error(`There is no step ${unknown.join(", ")}; there are ${names.join(", ")}`);
  }
  const chosen = all.filter((step) => only.length === 0 || only.includes(step.name));
  if (chosen.length === 0) throw new Error("No test file matches");

  /** @type {string[]} */
  const lines = [];
  const total = { passed: 0, failed: 0, skipped: 0 };
  const alone = chosen.length === 1 || atOnce === 1;
  await sideBySide({
    jobs: chosen,
    atOnce,
    rank: (step) => step.rank,
    run: (step) => perform(step, alone),
    report: (step, { result, line }) => {
      total.passed += result.passed;
      total.failed += result.failed;
      total.skipped += result.skipped;
      lines.push(line);
      if (!alone) print(heading(step) + block(result.output));
      print(`-- ${line}`);
    },
  });
  print(`\n== Summary\n${lines.join("\n")}`);
  if (total.skipped > 0) print(`${total.skipped} skipped`);
  print(`${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
}

/**
 * Runs one step. Alone, its output is passed on as it comes; else it is told only that it began and how
 * it ended.
 *
 * @param {import("./lib/steps.mjs").Step} step
 * @param {boolean} alone
 */
async function perform(step, alone) {
  print(alone ? heading(step) : `>> ${step.name}`);
  const started = performance.now();
  const result = await step.run(!alone).catch((error) => {
    if (error instanceof Interrupted) {
      if (!alone) print(`${heading(step)}${block(error.output)}\n-- interrupted ${step.name}`);
      throw error;
    }
    const note = error instanceof Error ? error.message : String(error);
    return { passed: 0, failed: 1, skipped: 0, note, output: "" };
  });
  const line = describe(step, result, ((performance.now() - started) / 1000).toFixed(1));
  if (!alone) print(`<< ${line}`);
  return { result, line };
}

/** @param {import("./lib/steps.mjs").Step} step */
function heading(step) {
  return `\n== ${step.name}: ${step.title}`;
}

/** @param {string} output */
function block(output) {
  const text = output.trimEnd();
  return text === "" ? "" : `\n${text}`;
}

/**
 * @param {import("./lib/steps.mjs").Step} step
 * @param {import("./lib/steps.mjs").Result} result
 * @param {string} seconds
 */
function describe(step, result, seconds) {
  const verdict = result.failed === 0 ? "ok    " : "FAILED";
  const counts = step.fixed ? "" : ` ${result.passed} passed, ${result.failed} failed` +
    (result.skipped > 0 ? `, ${result.skipped} skipped` : "");
  const note = result.note === "" ? "" : ` (${result.note})`;
  return `${verdict} ${step.name.padEnd(12)} ${seconds.padStart(6)} s${counts}${note}`;
}

/** @param {string} text */
function print(text) {
  process.stdout.write(`${text}\n`);
}
