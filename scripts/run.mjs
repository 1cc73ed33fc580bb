// @ts-check
/**
 * The one way in: `npm run demo`, `npm test`, `npm run bench`, `npm run fixture -- …`, and the same
 * with `deno task`. Needs nothing but Node and npm, or nothing but Deno.
 *
 * @module
 */
import { join } from "node:path";
import process from "node:process";
import { foreground } from "./lib/child.mjs";
import { ensureModules } from "./lib/modules.mjs";
import { ON_DENO, program, ROOT, say } from "./lib/project.mjs";
import { Interrupted } from "./lib/steps.mjs";
import { runTests } from "./test.mjs";

/** @type {Record<string, (args: string[]) => Promise<number>>} */
const COMMANDS = {
  demo: async (args) => {
    await ensureModules();
    // Once the packages are there: the bundler is one of them.
    const { bundleForBrowsers } = await import("./lib/bundle.mjs");
    await bundleForBrowsers(join(ROOT, ".cache", "browser"));
    return await start(["deno", "run", "-A", "examples/demo/main.ts", ...args]);
  },
  bench: (args) => start(["node", "--import", "tsx", "bench/main.ts", ...args]),
  golden: (args) => start(["deno", "run", "-A", "tests/golden/write.ts", ...args]),
  fixture,
  test: async (args) => {
    await ensureModules();
    return await runTests(args, false);
  },
  check: async (args) => {
    await ensureModules();
    return await runTests(args, true);
  },
};

/** How the fixture server is started on each runtime. @type {Record<string, string[]>} */
const FIXTURES = {
  deno: ["deno", "run", "-A", "src/testing/fixture/main.ts"],
  bun: ["bun", "run", "src/testing/fixture/main.ts"],
  node: ["node", "--import", "tsx", "src/testing/fixture/main.ts"],
  workerd: ["node", "--import", "tsx", "tests/support/workerd.ts"],
};

process.exitCode = await main(process.argv.slice(2));

/**
 * @param {string[]} argv
 * @returns {Promise<number>}
 */
async function main([name = "", ...args]) {
  const command = COMMANDS[name];
  if (command === undefined) {
    say(`Usage: run.mjs ${Object.keys(COMMANDS).join("|")} [arguments]`);
    return 2;
  }
  try {
    return await command(args);
  } catch (error) {
    if (error instanceof Interrupted) return 130;
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
}

/**
 * @param {string[]} args `--runtime NAME`, and what the fixture takes.
 * @returns {Promise<number>}
 */
async function fixture(args) {
  const rest = [...args];
  const at = rest.findIndex((arg) => arg === "--runtime" || arg.startsWith("--runtime="));
  let runtime = "deno";
  if (at !== -1) {
    const [flag = "", value = ""] = rest.splice(at, rest[at] === "--runtime" ? 2 : 1);
    runtime = flag.includes("=") ? flag.slice(flag.indexOf("=") + 1) : value;
  }
  const command = FIXTURES[runtime];
  if (command === undefined) {
    throw new Error(`--runtime ${runtime}: there are ${Object.keys(FIXTURES).join(", ")}`);
  }
  return await start([...command, ...rest]);
}

/**
 * @param {string[]} command A runtime by its name, and its arguments.
 * @returns {Promise<number>}
 */
async function start([name = "", ...args]) {
  // What runs on Deno alone needs no package: somebody who has Deno need not wait for them.
  if (!ON_DENO || name !== "deno") await ensureModules();
  const file = program(/** @type {"deno" | "bun" | "node"} */ (name));
  if (file === undefined) throw new Error(`${name} is not installed`);
  return await foreground(file, args);
}
