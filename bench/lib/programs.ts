/**
 * How to start a TypeScript program on each runtime.
 *
 * Node runs a bundle that esbuild has stripped of types, as users run compiled files: a loader that
 * translates in the process would be measured with it.
 *
 * @module
 */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import process from "node:process";

/** A runtime that the library runs on and this machine can start. */
export type Runtime = "node" | "deno" | "bun";

/** Every runtime, in the order in which they are printed. */
export const RUNTIMES: readonly Runtime[] = ["node", "deno", "bun"];

const root = new URL("../../", import.meta.url);

function inside(path: string): string {
  return fileURLToPath(new URL(path, root));
}

/**
 * The command line that runs a program.
 *
 * @param runtime What runs it.
 * @param path The program, from the repository's root.
 * @param options `gc`: whether the program may ask for a garbage collection.
 * @returns The command and its arguments.
 */
export async function programFor(
  runtime: Runtime,
  path: string,
  options: { readonly gc?: boolean } = {},
): Promise<{ command: string; args: string[] }> {
  const gc = options.gc === true;
  switch (runtime) {
    case "node":
      return {
        command: nodePath(),
        args: [...extra("BENCH_NODE_ARGS"), ...(gc ? ["--expose-gc"] : []), await bundle(path)],
      };
    case "deno":
      return {
        command: inside("node_modules/.bin/deno"),
        args: [
          "run",
          "--no-check",
          "-A",
          ...extra("BENCH_DENO_ARGS"),
          ...(gc ? ["--v8-flags=--expose-gc"] : []),
          inside(path),
        ],
      };
    case "bun":
      return {
        command: inside("node_modules/.bin/bun"),
        args: [...extra("BENCH_BUN_ARGS"), inside(path)],
      };
  }
}

/** Node's own path; `node` from PATH when another runtime runs the benchmark. */
function nodePath(): string {
  return "Deno" in globalThis || "Bun" in globalThis ? "node" : process.execPath;
}

/** Arguments from the environment, for profiling: `BENCH_NODE_ARGS="--cpu-prof"`. */
function extra(variable: string): string[] {
  return (process.env[variable] ?? "").split(" ").filter((argument) => argument !== "");
}

async function bundle(path: string): Promise<string> {
  const outfile = inside(`.cache/bench/${path.replaceAll("/", "-").replace(/\.ts$/, ".mjs")}`);
  await build({
    entryPoints: [inside(path)],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "esnext",
    logLevel: "error",
  });
  return outfile;
}
