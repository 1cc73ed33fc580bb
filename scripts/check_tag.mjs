// @ts-check
/**
 * Refuses a release whose tag is not the version: `node scripts/check_tag.mjs v0.1.0`.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./lib/project.mjs";

const tag = process.argv[2] ?? "";
for (const file of ["deno.json", "package.json"]) {
  /** @type {{ version: string }} */
  const { version } = JSON.parse(readFileSync(join(ROOT, file), "utf8"));
  if (tag !== `v${version}`) {
    process.stderr.write(`Cannot release ${tag}: the version in ${file} is ${version}\n`);
    process.exitCode = 1;
  }
}
