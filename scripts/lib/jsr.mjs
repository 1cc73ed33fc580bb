// @ts-check
/**
 * Whether JSR can be reached. Tests and benches import two packages from it; where it cannot be
 * reached they get stand-ins, so that everything can be checked on a machine without it.
 *
 * @module
 */
import process from "node:process";
import { capture } from "./child.mjs";
import { program, say } from "./project.mjs";

/** The import map with the stand-ins; it restates every import of `deno.json`. */
export const OFFLINE_MAP = "tests/offline/import_map.json";

/** What the answer is called in the environment, so that what we start does not ask again. */
const VARIABLE = "TIDEMARK_JSR";
const PROBE_TIMEOUT_MS = 15_000;
const NEEDED = ["jsr:@std/assert@^1", "jsr:@std/async@^1"];

/**
 * The flags that let Deno resolve our imports here. Asks once in a run, by letting Deno fetch what
 * is needed, which costs nothing when it is cached.
 *
 * @returns {Promise<readonly string[]>} None where JSR can be reached.
 */
export async function importFlags() {
  process.env[VARIABLE] ??= await reachable() ? "reachable" : "unreachable";
  return process.env[VARIABLE] === "unreachable" ? [`--import-map=${OFFLINE_MAP}`] : [];
}

async function reachable() {
  const deno = program("deno");
  if (deno === undefined) return false;
  const { code } = await capture(deno, ["cache", "--no-config", "--no-lock", ...NEEDED], {
    timeoutMs: PROBE_TIMEOUT_MS,
    quiet: true,
  });
  if (code === 0) return true;
  say(
    `JSR is not reachable: the stand-ins of tests/offline are used (--import-map=${OFFLINE_MAP})`,
  );
  return false;
}
