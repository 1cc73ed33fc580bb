// @ts-check
/**
 * The npm packages: installed when they are missing, or are not those of the lock file.
 *
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { capture } from "./child.mjs";
import { ON_DENO, program, ROOT, say, WINDOWS } from "./project.mjs";

const INSTALL_TIMEOUT_MS = 600_000;

/**
 * @typedef {{ version?: string, optional?: boolean }} Locked
 * @typedef {Record<string, Locked>} Packages
 */

/**
 * Says whether what is installed is what the lock file asks for. It compares versions, not times: a
 * checkout touches the lock file without changing it.
 *
 * @param {Packages} wanted The packages of the lock file.
 * @param {Packages} installed The packages of the list that npm leaves in `node_modules`.
 * @returns {boolean} Whether each one that must be there is, in its version.
 */
export function matches(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === "") return true;
    const found = installed[path];
    return found === undefined ? optional === true : found.version === version;
  });
}

/**
 * Makes sure that the packages are installed.
 *
 * @returns {Promise<void>} Settles when they are.
 * @throws {Error} When the installation failed; with its output.
 */
export async function ensureModules() {
  const modules = join(ROOT, "node_modules");
  const listed = join(modules, ".package-lock.json");
  const wanted = packages(join(ROOT, "package-lock.json"));
  if (existsSync(listed) && matches(wanted, packages(listed))) return;
  // What `deno install` made has no such list; it checks by itself what it needs.
  if (ON_DENO && existsSync(join(modules, ".deno"))) return;
  const why = existsSync(modules) ? "node_modules is not what the lock file says" : "first run";
  const npm = npmCommand();
  if (npm !== undefined) {
    say(`Installing the development packages (${why}): npm ci`);
    await install(npm.file, [...npm.args, "ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  } else {
    say(`Installing the development packages (${why}): deno install`);
    await install(process.execPath, ["install", "--allow-scripts", "--quiet"]);
  }
}

/** @param {string} path */
function packages(path) {
  /** @type {{ packages: Packages }} */
  const lock = JSON.parse(readFileSync(path, "utf8"));
  return lock.packages;
}

function npmCommand() {
  const script = process.env["npm_execpath"];
  const node = program("node");
  // The npm that started us, if one did: it may be another than the one on the path.
  if (!ON_DENO && node !== undefined && script?.endsWith("npm-cli.js")) {
    return { file: node, args: [script] };
  }
  const npm = program("npm");
  if (npm === undefined) return undefined;
  return WINDOWS ? { file: "cmd.exe", args: ["/c", "npm"] } : { file: npm, args: [] };
}

/**
 * @param {string} file
 * @param {string[]} args
 */
async function install(file, args) {
  const { code, output } = await capture(file, args, {
    timeoutMs: INSTALL_TIMEOUT_MS,
    quiet: true,
  });
  if (code !== 0) throw new Error(`Cannot install the packages (exit code ${code}):\n${output}`);
}
