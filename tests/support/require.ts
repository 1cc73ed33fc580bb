/**
 * What a test needs of the machine: programs that this project does not bring along.
 *
 * On a developer's machine a missing one skips the test and says so. With the environment variable
 * `TIDEMARK_REQUIRE_ALL=1`, as on the build server, it fails the test: a skip there is a hole.
 *
 * @module
 */
import { accessSync, constants, statSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import process from "node:process";

/** Whether a missing program is a failure. */
export const REQUIRE_ALL: boolean = process.env["TIDEMARK_REQUIRE_ALL"] === "1";

/**
 * Says whether a program can be started.
 *
 * @param command Its name on the `PATH`, or a path to it.
 * @returns Whether it is there and may be executed.
 */
export function available(command: string): boolean {
  if (command.includes("/")) return isProgram(command);
  // Deno puts a `node` of its own on the path where there is none: it is Deno, and no Node.
  const folders = (process.env["PATH"] ?? "").split(delimiter)
    .filter((folder) => folder !== "" && basename(folder) !== "node_compat_bin");
  const names = process.platform === "win32" ? [`${command}.exe`, `${command}.cmd`] : [command];
  return folders.some((folder) => names.some((name) => isProgram(join(folder, name))));
}

/**
 * The programs of a list that are not there.
 *
 * @param commands Their names.
 * @returns Those that {@linkcode available} does not find.
 */
export function missing(commands: readonly string[]): readonly string[] {
  return commands.filter((command) => !available(command));
}

/**
 * Says in one line that something is skipped, or fails when everything is required. For a part of a
 * test; a whole test names what it needs in its options, and is then counted as ignored.
 *
 * @param what What is missing.
 * @throws {Error} When everything is required.
 */
export function skipOrFail(what: string): void {
  if (REQUIRE_ALL) throw new Error(`Cannot skip: ${what} is missing, and everything is required`);
  console.warn(`SKIPPED: ${what} is not installed`);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
