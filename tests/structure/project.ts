/**
 * The project's files, for the tests that read them.
 *
 * @module
 */
import { runToEnd } from "../support/run.ts";

/** The project's folder. */
export const ROOT: URL = new URL("../../", import.meta.url);

/** The flags that resolve our imports: those with which these tests run themselves. */
export const IMPORT_FLAGS: readonly string[] = import.meta.resolve("@std/assert").startsWith("jsr:")
  ? []
  : ["--import-map=tests/offline/import_map.json"];

/**
 * Makes an empty folder in the project, for this process alone, which goes when the process does. In
 * the project, so that what is put there resolves imports as the project does.
 *
 * @param name What it is for.
 * @returns Its path from the project's folder.
 */
export function scratch(name: string): string {
  const path = `.cache/${name}-${Deno.pid}`;
  const folder = new URL(`${path}/`, ROOT);
  Deno.mkdirSync(folder, { recursive: true });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return path;
}

/**
 * Reads a file of the project.
 *
 * @param path Its path from the project's folder.
 * @returns Its text.
 */
export function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/**
 * Finds files.
 *
 * @param folder A folder of the project; one that is not there has none.
 * @param extension How the names end.
 * @returns Their paths from the project's folder, in order.
 */
export function list(folder: string, extension: string): readonly string[] {
  try {
    return [...Deno.readDirSync(new URL(`${folder}/`, ROOT))].flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory) return list(path, extension);
      return entry.name.endsWith(extension) ? [path] : [];
    }).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** How a program ended. */
export interface Ran {
  /** Its exit code. */
  readonly code: number;
  /** What it wrote on stdout, then on stderr. */
  readonly output: string;
}

/**
 * Runs a program to its end in the project's folder.
 *
 * @param program The program.
 * @param args Its arguments.
 * @param timeoutMs After how many milliseconds it is killed.
 * @param options Another folder to run it in, and variables to add.
 * @returns How it ended; a killed one has a code that is not 0.
 */
export async function execute(
  program: string,
  args: readonly string[],
  timeoutMs: number,
  options: { readonly cwd?: URL; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ran> {
  const { cwd = ROOT, env } = options;
  const { code, stdout, stderr, late } = await runToEnd(program, args, { timeoutMs, cwd, env });
  const output = stdout + stderr;
  return { code, output: late ? `${output}\nKilled after ${timeoutMs} ms` : output };
}
