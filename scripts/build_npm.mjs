// @ts-check
/**
 * Builds what npm users install: `npm run build [-- --out FOLDER]`, by default into `dist/`.
 *
 * `tsc` compiles the sources file by file, so that imports, types and stack traces look like them.
 * The entry points are those of `deno.json`. Those that a page loads are also bundled, each into one
 * minified file, for pages without a build.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import process from "node:process";
import { bundleForBrowsers } from "./lib/bundle.mjs";
import { program, ROOT } from "./lib/project.mjs";

/** What stands beside the code in the package. */
const TEXTS = ["LICENSE", "README.md", "CHANGELOG.md"];
const TSC = join(ROOT, "node_modules", "typescript", "bin", "tsc");

process.exitCode = await build(outFolder(process.argv.slice(2)));

/**
 * @param {string} out
 * @returns {Promise<number>} The exit code.
 */
async function build(out) {
  const { exports } = readJson("deno.json");
  rmSync(out, { recursive: true, force: true });
  const code = compile(out, Object.values(exports));
  if (code !== 0) return code;
  await bundleForBrowsers(join(out, "browser"));
  writeJson(join(out, "package.json"), manifest(exports));
  for (const text of TEXTS) {
    if (existsSync(join(ROOT, text))) copyFileSync(join(ROOT, text), join(out, text));
  }
  process.stdout.write(`Built ${Object.keys(exports).length} entry points\n`);
  return 0;
}

/**
 * @param {string} out
 * @param {readonly string[]} entries
 * @returns {number} The exit code of the compiler.
 */
function compile(out, entries) {
  const folder = join(ROOT, ".cache", "build");
  mkdirSync(folder, { recursive: true });
  // For this build alone: two that run at once would else write into each other's folder.
  const project = join(folder, `tsconfig.${process.pid}.json`);
  writeJson(project, {
    extends: "../../tsconfig.json",
    compilerOptions: {
      noEmit: false,
      rewriteRelativeImportExtensions: true,
      rootDir: ROOT,
      outDir: out,
      sourceMap: true,
      inlineSources: true,
    },
    files: entries.map((entry) => relative(folder, join(ROOT, entry))),
    include: [],
  });
  const node = program("node");
  if (node === undefined) throw new Error("Cannot compile: node is not installed");
  const { status } = spawnSync(node, [TSC, "--project", project], { cwd: ROOT, stdio: "inherit" });
  rmSync(project);
  return status ?? 1;
}

/**
 * The package's own `package.json`: ours names development tools that users do not need.
 *
 * @param {Record<string, string>} entries
 * @returns {object}
 */
function manifest(entries) {
  const ours = readJson("package.json");
  /** @param {string} path */
  const compiled = (path) => path.replace(/\.ts$/, "");
  return {
    name: ours.name,
    version: ours.version,
    description: ours.description,
    license: ours.license,
    keywords: ["sse", "server-sent-events", "eventsource", "resume", "replay", "cursor"],
    type: "module",
    sideEffects: false,
    engines: ours.engines,
    exports: {
      ...Object.fromEntries(
        Object.entries(entries).map(([name, path]) => [name, {
          types: `${compiled(path)}.d.ts`,
          default: `${compiled(path)}.js`,
        }]),
      ),
      "./browser/*": "./browser/*",
      "./package.json": "./package.json",
    },
    // Of one entry alone, `./service`: who does not use it needs none.
    peerDependencies: { hono: "^4" },
    peerDependenciesMeta: { hono: { optional: true } },
  };
}

/** @param {string[]} args */
function outFolder(args) {
  const at = args.indexOf("--out");
  const given = at === -1 ? "dist" : args[at + 1];
  if (given === undefined) throw new Error("--out needs a folder");
  return resolve(ROOT, given);
}

/**
 * @typedef {object} Manifest What is read of `package.json` and of `deno.json`.
 * @property {string} name
 * @property {string} version
 * @property {string} description
 * @property {string} license
 * @property {Record<string, string>} engines
 * @property {Record<string, string>} exports
 */

/**
 * @param {string} path
 * @returns {Manifest}
 */
function readJson(path) {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

/**
 * @param {string} path
 * @param {object} value
 */
function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
