// @ts-check
/**
 * Where the project is, and which programs run it.
 *
 * @module
 */
import { accessSync, constants } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Whether this launcher itself runs on Deno: `deno task …` on a machine that may have no Node. */
export const ON_DENO = "Deno" in globalThis;

/** Whether this is Windows, where programs have an extension. */
export const WINDOWS = process.platform === "win32";

/** The folder of the programs that npm installed. */
export const BIN = join(ROOT, "node_modules", ".bin");

/**
 * The path of a program.
 *
 * @param {"deno" | "bun" | "node" | "npm"} name Which.
 * @returns {string | undefined} Where it is; `undefined` when it is not installed.
 */
export function program(name) {
  if (name === "deno" && ON_DENO) return process.execPath;
  if (name === "node" && !ON_DENO) return process.execPath;
  const installed = {
    deno: join(ROOT, "node_modules", "deno", WINDOWS ? "deno.exe" : "deno"),
    bun: join(ROOT, "node_modules", "bun", "bin", "bun.exe"),
    node: undefined,
    npm: undefined,
  }[name];
  return installed !== undefined && isProgram(installed) ? installed : onPath(name);
}

/**
 * The environment of what is started: ours, with the installed programs first on the path.
 *
 * @param {Record<string, string>} [more] Variables to add.
 * @returns {Record<string, string | undefined>} The variables.
 */
export function environment(more = {}) {
  const path = [
    BIN,
    ...(process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== BIN),
  ];
  return { ...process.env, PATH: path.join(delimiter), ...more };
}

/**
 * Tells a person something that is not output.
 *
 * @param {string} text One line. It goes to stderr, for a fixture's stdout holds one line alone.
 */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Where Deno puts a `node` of its own when there is none: it is Deno, and no Node to test on. */
const DENOS_NODE = "node_compat_bin";

function pathFolders() {
  return (process.env["PATH"] ?? "").split(delimiter)
    .filter((folder) => folder !== "" && basename(folder) !== DENOS_NODE);
}

/** @param {string} name */
function onPath(name) {
  const names = WINDOWS ? [`${name}.exe`, `${name}.cmd`] : [name];
  for (const folder of pathFolders()) {
    for (const each of names) {
      if (isProgram(join(folder, each))) return join(folder, each);
    }
  }
  return undefined;
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
