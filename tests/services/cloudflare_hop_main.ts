/**
 * Starts `cloudflare_hop_worker.ts` over a folder that outlasts the process, and prints `LISTEN URL`.
 * Runs under Node with tsx. It ends, and workerd with it by SIGKILL, on SIGTERM.
 *
 * Arguments: `miniflare` or `serve` (plain workerd, without anything around it); the workerd binary;
 * the folder.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

const COMPATIBILITY_DATE = "2026-04-01";

const [, , host, binary = "", folder = ""] = process.argv;
process.on("SIGTERM", () => process.exit(0));

const script = bundle();
console.log(`LISTEN ${host === "miniflare" ? await runMiniflare() : await runPlain()}`);

function bundle(): string {
  const path = new URL("./cloudflare_hop_worker.ts", import.meta.url);
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
    durableObjects: {
      room: { className: "Room", useSQLite: true },
      brisk: { className: "Brisk", useSQLite: true },
    },
    durableObjectsPersist: folder,
  });
  const { origin } = await server.ready;
  return origin;
}

async function runPlain(): Promise<string> {
  const disk = join(folder, "disk");
  mkdirSync(disk, { recursive: true });
  writeFileSync(join(folder, "worker.js"), script);
  writeFileSync(
    join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
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
  durableObjectNamespaces = [
    (className = "Room", uniqueKey = "room", enableSql = true),
    (className = "Brisk", uniqueKey = "brisk", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [
    (name = "room", durableObjectNamespace = "Room"),
    (name = "brisk", durableObjectNamespace = "Brisk"),
  ],
);
`,
  );
  const args = ["serve", "--experimental", "--control-fd=1", join(folder, "config.capnp")];
  const child = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
  child.on("exit", (code, signal) => {
    console.error(`workerd ended: ${code ?? signal}`);
    process.exit(1);
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, port } = JSON.parse(line) as { event: string; port: number };
    if (event === "listen") return `http://127.0.0.1:${port}`;
  }
  throw new Error("workerd does not listen");
}
