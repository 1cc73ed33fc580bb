/**
 * The scripts of the test pages, bundled once in each run.
 *
 * @module
 */
import { build, stop } from "esbuild";

const PAGES = new URL("../page/", import.meta.url);
const bundles = new Map<string, Promise<string>>();

/**
 * Bundles a script with all it imports.
 *
 * @param name Its name in `tests/browsers/page/`, without `.ts`.
 * @returns A module for a browser.
 */
export function bundle(name: string): Promise<string> {
  let bundled = bundles.get(name);
  if (bundled === undefined) bundles.set(name, bundled = run(name));
  return bundled;
}

async function run(name: string): Promise<string> {
  try {
    const { outputFiles: [file] } = await build({
      entryPoints: [new URL(`${name}.ts`, PAGES).pathname],
      bundle: true,
      write: false,
      format: "esm",
      target: "es2022",
      sourcemap: "inline",
      logLevel: "silent",
    });
    if (file === undefined) throw new Error(`Cannot bundle ${name}: esbuild wrote nothing`);
    return file.text;
  } finally {
    // Its service would outlive the test.
    await stop();
  }
}
