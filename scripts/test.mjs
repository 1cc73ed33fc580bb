// @ts-check
/**
 * `npm test`: every check and every test, and one last line that counts them.
 *
 * @module
 */
import process from "node:process";
import { importFlags } from "./lib/jsr.mjs";
import { checks, Interrupted, tests } from "./lib/steps.mjs";

const USAGE = `Usage: npm test -- [--only=NAME,…] [--require-all] [PART OF A PATH …]

  --only=NAME,…   only these steps, by the names that stand before the headings
  --require-all   a missing program (nginx, chromium) fails the tests that need it
  PART OF A PATH  only test files whose path holds it; no static checks`;

/**
 * @typedef {object} Arguments
 * @property {readonly string[]} only Names of steps; empty means all.
 * @property {boolean} requireAll Whether a missing program is a failure.
 * @property {readonly string[]} filters Parts of paths of test files; empty means all.
 */

/**
 * Reads the arguments.
 *
 * @param {readonly string[]} args What was passed.
 * @returns {Arguments} What it means.
 * @throws {Error} On a flag that does not exist; with the usage.
 */
export function readArguments(args) {
  /** @type {string[]} */
  const only = [];
  /** @type {string[]} */
  const filters = [];
  let requireAll = process.env["TIDEMARK_REQUIRE_ALL"] === "1";
  for (const arg of args) {
    if (arg === "--require-all") requireAll = true;
    else if (arg.startsWith("--only=")) only.push(...arg.slice("--only=".length).split(","));
    else if (arg.startsWith("-")) throw new Error(`There is no flag ${arg}.\n${USAGE}`);
    else filters.push(arg.replace(/^\.\//, ""));
  }
  return { only, requireAll, filters };
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
  const { only, requireAll, filters } = readArguments(args);
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

  const lines = [];
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const step of chosen) {
    print(`\n== ${step.name}: ${step.title}`);
    const started = performance.now();
    const result = await step.run().catch((error) => {
      if (error instanceof Interrupted) throw error;
      const note = error instanceof Error ? error.message : String(error);
      return { passed: 0, failed: 1, skipped: 0, note };
    });
    total.passed += result.passed;
    total.failed += result.failed;
    total.skipped += result.skipped;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const line = describe(step, result, seconds);
    lines.push(line);
    print(`-- ${line}`);
  }
  print(`\n== Summary\n${lines.join("\n")}`);
  if (total.skipped > 0) print(`${total.skipped} skipped`);
  print(`${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
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
