// @ts-check
/**
 * Bundles what a page, or its worker, may load without a build: each entry is one minified file.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { ROOT } from "./project.mjs";

/** The entries of `deno.json` that run in a browser, and depend on nothing. */
const BROWSER = ["client", "worker", "tabs"];

/**
 * Writes the bundles, with source maps that hold their sources.
 *
 * @param {string} outdir Where to.
 * @returns {Promise<readonly string[]>} The names of the files.
 */
export async function bundleForBrowsers(outdir) {
  /** @type {{ exports: Record<string, string> }} */
  const { exports } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(BROWSER.map((name) => [name, exports[`./${name}`] ?? ""])),
    outdir,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    sourcemap: true,
    sourcesContent: true,
    logLevel: "warning",
  });
  await esbuild.stop();
  return BROWSER.map((name) => `${name}.js`);
}
