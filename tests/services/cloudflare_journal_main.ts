/**
 * Starts `cloudflare_journal_worker.ts` over a folder that outlasts the process, and prints `LISTEN
 * URL`. Runs under Node with tsx. It ends, and workerd with it by SIGKILL, on SIGTERM.
 *
 * Arguments: `miniflare` or `serve` (plain workerd, without anything around it); the workerd binary;
 * the folder; and for `serve` the most bytes that a file may have, 0 for no bound.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

const COMPATIBILITY_DATE = "2026-04-01";
/** The binding of each class, and whether the class is made with SQLite. */
const CLASSES = [
  ["room", "Room", true],
  ["plain", "Plain", false],
  ["strict", "Strict", false],
  ["volatile", "Volatile", true],
  ["misfit", "Misfit", true],
  ["JOURNAL", "JournalObject", true],
] as const;

const [, , host, binary = "", folder = "", limit = "0"] = process.argv;
process.on("SIGTERM", () => process.exit(0));

const script = bundle();
console.log(`LISTEN ${host === "miniflare" ? await runMiniflare() : await runPlain()}`);

function bundle(): string {
  const path = new URL("./cloudflare_journal_worker.ts", import.meta.url);
  const result = buildSync({
    entryPoints: [fileURLToPath(path)],
    bundle: true,
    format: "esm",
    target: "esnext",
    write: false,
    logLevel: "warning",
  });
  return result.outputFiles[0]?.text ?? "";
}

async function runMiniflare(): Promise<string> {
  process.env["MINIFLARE_WORKERD_PATH"] = binary;
  const server = new Miniflare({
    modules: true,
    script,
    host: "127.0.0.1",
    port: 0,
    cf: false,
    compatibilityDate: COMPATIBILITY_DATE,
    durableObjects: Object.fromEntries(
      CLASSES.map(([name, className, useSQLite]) => [name, { className, useSQLite }]),
    ),
    durableObjectsPersist: folder,
  });
  const { origin } = await server.ready;
  return origin;
}

async function runPlain(): Promise<string> {
  const disk = join(folder, "disk");
  mkdirSync(disk, { recursive: true });
  writeFileSync(join(folder, "worker.js"), script);
  writeFileSync(join(folder, "config.capnp"), configuration(disk));
  const args = ["serve", "--experimental", "--control-fd=1", join(folder, "config.capnp")];
  const child = limit === "0"
    ? spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] })
    // A write beyond it fails with EFBIG, as long as the signal that comes with it is ignored.
    : spawn("prlimit", [
      `--fsize=${limit}`,
      "sh",
      "-c",
      `trap "" XFSZ; exec "$@"`,
      "sh",
      binary,
      ...args,
    ], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  process.on("exit", () => child.kill("SIGKILL"));
  child.on("exit", (code, signal) => {
    console.error(`workerd ended: ${code ?? signal}`);
    process.exit(1);
  });
  return `http://127.0.0.1:${await portOf(child)}`;
}

async function portOf(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error("workerd has no stdout");
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number };
    if (event === "listen") return port;
  }
  throw new Error("workerd does not listen");
}

function configuration(disk: string): string {
  const namespaces = CLASSES.map(([name, className, enableSql]) =>
    `(className = "${className}", uniqueKey = "${name}", enableSql = ${enableSql})`
  );
  const bindings = CLASSES.map(([name, className]) =>
    `(name = "${name}", durableObjectNamespace = "${className}")`
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "disk", disk = (path = "${disk}", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${bindings.join(", ")}],
);
`;
}
