/**
 * Starts the fixture, or the bare program, on workerd: bundles the Worker with esbuild and runs it
 * with Miniflare. Runs under Node with tsx; it needs two development packages, so it is not published.
 *
 * Flags: those of the fixture, and
 *
 * - `--compat-date YYYY-MM-DD`, 2026-04-01 by default, and `--compat-flags a,b`;
 * - `--bare on` runs `tests/support/bare/object.ts` instead; a line on stdin is published.
 *
 * The variable MINIFLARE_WORKERD_PATH chooses another workerd than Miniflare's own.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { Log, LogLevel, Miniflare } from "miniflare";
import { parseFixtureArguments } from "../../src/testing/fixture/options.ts";

/** Miniflare ends workerd by SIGKILL; this is for the case that it does not come back. */
const LAST_RESORT_MS = 4500;

interface Arguments {
  readonly compatDate: string;
  readonly compatFlags: readonly string[];
  readonly bare: boolean;
  readonly fixture: readonly string[];
}

/** On stdout stands the LISTEN line, and no more. */
class StderrLog extends Log {
  protected override log(message: string): void {
    process.stderr.write(`${message}\n`);
  }
}

function parseArguments(argv: readonly string[]): Arguments {
  let compatDate = "2026-04-01";
  let compatFlags: string[] = [];
  let bare = false;
  const fixture: string[] = [];
  for (let i = 0; i < argv.length; i += 2) {
    const [flag = "", value = ""] = argv.slice(i, i + 2);
    if (flag === "--compat-date") compatDate = value;
    else if (flag === "--compat-flags") compatFlags = value.split(",");
    else if (flag === "--bare") bare = value === "on";
    else fixture.push(...argv.slice(i, i + 2));
  }
  return { compatDate, compatFlags, bare, fixture };
}

function bundle(path: string): string {
  // In one go: the other way leaves a service of esbuild's running beside workerd.
  const result = buildSync({
    entryPoints: [fileURLToPath(new URL(path, import.meta.url))],
    bundle: true,
    format: "esm",
    target: "esnext",
    write: false,
    external: ["cloudflare:*"],
    logLevel: "warning",
  });
  const text = result.outputFiles[0]?.text;
  if (text === undefined) throw new Error("Cannot bundle the Worker: esbuild wrote nothing");
  return text;
}

async function main(): Promise<void> {
  const { compatDate, compatFlags, bare, fixture } = parseArguments(process.argv.slice(2));
  const { hostname, port, stopWithStdin, options } = parseFixtureArguments(fixture);
  const script = bundle(bare ? "./bare/object.ts" : "../../src/testing/fixture/worker.ts");
  const server = new Miniflare({
    modules: true,
    script,
    host: hostname,
    port,
    cf: false,
    compatibilityDate: compatDate,
    compatibilityFlags: [...compatFlags],
    bindings: { FIXTURE_OPTIONS: JSON.stringify(options) },
    durableObjects: bare
      ? { HUB: { className: "HubObject", useSQLite: true } }
      // An idle object may be evicted, its memory with it: the fixture is to restart when told to.
      : { FIXTURE: { className: "FixtureObject", useSQLite: true, unsafePreventEviction: true } },
    log: new StderrLog(LogLevel.WARN),
    handleRuntimeStdio(stdout, stderr) {
      stdout.pipe(process.stderr);
      stderr.pipe(process.stderr);
    },
  });
  const stop = (): void => {
    setTimeout(() => process.exit(1), LAST_RESORT_MS);
    server.dispose().catch((error: unknown) => console.error(error)).then(() => process.exit(0));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // Miniflare's own listener ends this process at once, as if it had failed.
    process.removeAllListeners(signal);
    process.once(signal, stop);
  }
  const { origin } = await server.ready;
  console.log(`LISTEN ${origin}`);
  if (bare) {
    for await (const line of createInterface({ input: process.stdin })) {
      await fetch(`${origin}/publish`, { method: "POST", body: line });
    }
    stop();
  } else if (stopWithStdin) {
    process.stdin.once("end", stop).resume();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof TypeError ? error.message : error);
  process.exit(2);
});
