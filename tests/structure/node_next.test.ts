/**
 * A newer Node, for `node:sqlite`: the Node that the project starts from has none. It comes from npm
 * when it is first needed, into a folder of its own, where no other test meets it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { skipOrFail } from "../support/require.ts";
import { test } from "../support/test.ts";
import { execute, list, read, ROOT } from "./project.ts";

const FOLDER = "tests/node_next";
const NODE = `${FOLDER}/node_modules/node/bin/node`;
const TESTS = "tests/unit/journal/sqlite";
const INSTALL_MS = 120_000;
const RUN_MS = 120_000;

const wanted: string = JSON.parse(read(`${FOLDER}/package.json`)).dependencies.node;

test("the newer Node is named exactly, and locked", () => {
  assertMatch(wanted, /^\d+\.\d+\.\d+$/);
  const { packages } = JSON.parse(read(`${FOLDER}/package-lock.json`));
  assertEquals(packages["node_modules/node"].version, wanted);
  assertStringIncludes(read(".gitignore"), "node_modules/\n");
});

test("the SQLite journal keeps its promises with the node:sqlite of a newer Node", async () => {
  if (!(await isThere()) && !(await install())) return;
  // As the file stands: this Node takes the types away by itself.
  const suite = await onNode([], [`${TESTS}.test.ts`]);
  assertEquals(suite.code, 0, suite.output);
  assertStringIncludes(suite.output, "an older copy that is put back is told to a running tail");

  const own = list("tests/unit/journal", ".test.ts").filter((file) => file.startsWith(`${TESTS}_`));
  assert(own.length > 0);
  const tests = await onNode(["--import", "tsx"], own);
  assertEquals(tests.code, 0, tests.output);
  // Only with this driver: had another one been found, it would not be there.
  assertStringIncludes(tests.output, "a file that is replaced under a journal is seen");
}, { timeoutMs: INSTALL_MS + 2 * RUN_MS });

async function isThere(): Promise<boolean> {
  return await execute(new URL(NODE, ROOT).pathname, ["--version"], RUN_MS)
    .then(({ output }) => output.trim() === `v${wanted}`, () => false);
}

async function install(): Promise<boolean> {
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const output = await execute("npm", args, INSTALL_MS, { cwd: new URL(`${FOLDER}/`, ROOT) })
    .then((ran) => ran.output, String);
  if (await isThere()) return true;
  console.warn(output);
  skipOrFail(`Node ${wanted} (npm ci in ${FOLDER})`);
  return false;
}

function onNode(flags: readonly string[], files: readonly string[]): ReturnType<typeof execute> {
  const args = ["--no-warnings", ...flags, "--test", "--test-reporter=spec", ...files];
  const env = { TSX_TSCONFIG_PATH: "tests/tsconfig.json", TIDEMARK_REQUIRE_ALL: "1" };
  return execute(new URL(NODE, ROOT).pathname, args, RUN_MS, { env });
}
