// @ts-check
/**
 * What `npm test` does, step by step: first the static checks, then the tests on each runtime.
 *
 * The folders of tests are found, not listed: a new one cannot be forgotten.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { capture } from "./child.mjs";
import { judge, readCounts } from "./counts.mjs";
import { program, ROOT } from "./project.mjs";

/**
 * @typedef {import("./counts.mjs").Counts & { note: string }} Result
 * @typedef {Result & { output: string }} Outcome A result, and the end of what the programs wrote.
 * @typedef {object} Step
 * @property {string} name What `--only` calls it.
 * @property {string} title What it does.
 * @property {boolean} fixed Whether it is a static check, which a filter of files does not concern.
 * @property {number} rank Which begin first where several run side by side: those of the lowest.
 * @property {(quiet: boolean) => Promise<Outcome>} run Runs it; quietly, where its output is not to be
 * passed on as it comes.
 */

/** Somebody stopped the run: what was counted so far means nothing. */
export class Interrupted extends Error {
  /** The end of what the programs of the step had written. */
  output;

  /** @param {string} output */
  constructor(output) {
    super("Interrupted");
    this.output = output;
  }
}

const CHECK_TIMEOUT_MS = 180_000;
const TESTS_TIMEOUT_MS = 900_000;
/** What stands for all static checks in {@linkcode BEGIN}: they are short, and tell most. */
const CHECKS = "";
/** The order in which the folders of `tests/` run; others follow by name. */
const ORDER = ["unit", "property", "structure", "conformance", "services"];
/** So many files of a folder at once; of those that wait for servers most of the time, more. */
const JOBS = new Map([["unit", 2], ["conformance", 3], ["services", 2], ["demo", 2]]);
/**
 * The order in which steps begin where several run side by side, the others last: the longest first,
 * and beside it what mostly waits for browsers, so that the two seldom want the same core.
 */
const BEGIN = ["conformance", CHECKS, "browsers", "demo", "services"];
/**
 * Files that take half a minute and more begin before the others of their folder: one that began last
 * would run on alone. A list that is out of date costs time, nothing else.
 */
const LONG_FILES = [
  "conformance/workerd_",
  "conformance/long.",
  "conformance/node_",
  "conformance/deno.",
  "conformance/client_workerd.",
  "services/cloudflare_",
  "services/nginx.",
  "services/journal_pods.",
  "services/journal_store_",
  "demo/tabs.",
  "demo/demo.",
];
/** The folder whose tests run on every runtime. */
const PORTABLE = "unit";

/**
 * The static checks.
 *
 * @param {readonly string[]} flags The flags that resolve our imports.
 * @returns {Step[]} One for each.
 */
export function checks(flags) {
  const entries = entryPoints();
  const core = ["mod.ts", "client.ts"].concat(
    ["wire", "hub", "client", "react"].flatMap((folder) => sources(`src/${folder}`)),
  );
  const everything = ["src", "tests", "bench", "examples", "scripts"].filter(hasSources);
  return [
    check("fmt", "Formatting", ["fmt", "--check"]),
    check("lint", "Lint rules", ["lint"]),
    check("check", "Types: sources, tests, benches, examples", [
      "check",
      "--quiet",
      ...flags,
      ...entries,
      ...everything.flatMap((folder) => sources(folder)),
    ]),
    check("dom", "Types of the core with a browser's library", [
      "check",
      "--quiet",
      "--config=scripts/types/dom.json",
      ...core,
    ]),
    check("worker", "Types of the core with a worker's library", [
      "check",
      "--quiet",
      "--config=scripts/types/worker.json",
      ...core,
    ]),
    check("doc", "Documentation of every export", ["doc", "--quiet", "--lint", ...entries]),
    check("publish", "Publishing, tried without doing it", [
      "publish",
      "--dry-run",
      "--allow-dirty",
    ]),
  ];
}

/**
 * The tests.
 *
 * @param {readonly string[]} flags The flags that resolve our imports.
 * @param {readonly string[]} filters Parts of paths; only test files with one of them run. None
 * means all.
 * @returns {Step[]} One for each folder of `tests/` on Deno, and one each for the portable tests on
 * the other runtimes.
 */
export function tests(flags, filters) {
  /** @param {string} folder */
  const files = (folder) =>
    sources(`tests/${folder}`).filter((file) =>
      /[._]test\.ts$/.test(file) &&
      (filters.length === 0 || filters.some((part) => file.includes(part)))
    ).sort(longFirst);
  const folders = readdirSync(join(ROOT, "tests"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort(inOrder);
  const steps = folders.map((folder) =>
    run(folder, `Tests on Deno: tests/${folder}`, "deno", files(folder), [
      "test",
      "--allow-all",
      "--no-check",
      ...(JOBS.has(folder) ? ["--parallel"] : []),
      ...flags,
    ], { DENO_JOBS: String(JOBS.get(folder) ?? 1) })
  );
  const portable = files(PORTABLE);
  // Bun takes a bare name for a filter, one that starts with a dot for a file.
  const dotted = portable.map((file) => `./${file}`);
  steps.push(
    run("bun", `Tests on Bun: tests/${PORTABLE}`, "bun", dotted, ["test"]),
    run("node", `Tests on Node: tests/${PORTABLE}`, "node", portable, [
      "--import",
      "tsx",
      "--test",
      `--test-concurrency=${JOBS.get(PORTABLE)}`,
      "--test-reporter=spec",
    ], { TSX_TSCONFIG_PATH: "tests/tsconfig.json" }),
  );
  return steps.filter((step) => step !== undefined);
}

/**
 * @param {string} name
 * @param {string} title
 * @param {string[]} args
 * @returns {Step}
 */
function check(name, title, args) {
  return {
    name,
    title,
    fixed: true,
    rank: begins(CHECKS),
    async run(quiet) {
      const { code, output, late, interrupted } = await capture(required("deno"), args, {
        timeoutMs: CHECK_TIMEOUT_MS,
        quiet,
      });
      if (interrupted) throw new Interrupted(output);
      if (code === 0) return { passed: 1, failed: 0, skipped: 0, note: "", output };
      const note = late ? overdue(CHECK_TIMEOUT_MS) : "";
      return { passed: 0, failed: 1, skipped: 0, note, output };
    },
  };
}

/**
 * @param {string} name
 * @param {string} title
 * @param {import("./counts.mjs").Runner} runner
 * @param {readonly string[]} files
 * @param {readonly string[]} args
 * @param {Record<string, string>} [env]
 * @returns {Step | undefined} None when there is no file.
 */
function run(name, title, runner, files, args, env = {}) {
  if (files.length === 0) return undefined;
  return {
    name,
    title,
    fixed: false,
    rank: begins(name),
    async run(quiet) {
      const file = program(runner);
      if (file === undefined) return { ...absent(runner), output: "" };
      const { code, output, late, interrupted } = await capture(file, [...args, ...files], {
        timeoutMs: TESTS_TIMEOUT_MS,
        quiet,
        env,
      });
      if (interrupted) throw new Interrupted(output);
      const result = { ...judge(readCounts(runner, output), code), output };
      return late ? { ...result, note: overdue(TESTS_TIMEOUT_MS) } : result;
    },
  };
}

/** @param {string} name */
function begins(name) {
  const index = BEGIN.indexOf(name);
  return index === -1 ? BEGIN.length : index;
}

/** @param {number} ms */
function overdue(ms) {
  return `ended after ${ms / 1000} s`;
}

/**
 * A runtime that is not there, as Node is not where there is only Deno.
 *
 * @param {string} runner
 * @returns {Result}
 */
function absent(runner) {
  const failed = process.env["TIDEMARK_REQUIRE_ALL"] === "1" ? 1 : 0;
  return { passed: 0, failed, skipped: 1 - failed, note: `${runner} is not installed` };
}

/** @param {import("./counts.mjs").Runner} name */
function required(name) {
  const path = program(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}

function entryPoints() {
  /** @type {{ exports: Record<string, string> }} */
  const config = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  return Object.values(config.exports);
}

/** @param {string} folder */
function hasSources(folder) {
  return sources(folder).length > 0;
}

/**
 * @param {string} folder
 * @returns {string[]} Its files of TypeScript and checked JavaScript, below it too.
 */
function sources(folder) {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sources(path);
    return /\.(?:ts|tsx|mts|mjs)$/.test(entry.name) ? [path] : [];
  }).sort();
}

/**
 * @param {string} a
 * @param {string} b
 */
function longFirst(a, b) {
  /** @param {string} file */
  const rank = (file) => {
    const index = LONG_FILES.findIndex((part) => file.includes(`/${part}`));
    return index === -1 ? LONG_FILES.length : index;
  };
  return rank(a) - rank(b);
}

/**
 * @param {string} a
 * @param {string} b
 */
function inOrder(a, b) {
  /** @param {string} name */
  const rank = (name) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
  const ranked = [a, b].map((name) => ORDER.includes(name) ? rank(name) : ORDER.length + 1);
  return (ranked[0] ?? 0) - (ranked[1] ?? 0) || a.localeCompare(b);
}
