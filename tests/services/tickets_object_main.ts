/**
 * Puts tickets in a Durable Object through their suite, in workerd, and prints what came of it as one
 * line of JSON. Runs under Node with tsx.
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

/** Miniflare ends workerd by SIGKILL; this is for the case that something hangs. */
const LIFE_MS = 40_000;

setTimeout(() => process.exit(1), LIFE_MS).unref();

const bundled = buildSync({
  entryPoints: [fileURLToPath(new URL("./tickets_object_worker.ts", import.meta.url))],
  bundle: true,
  format: "esm",
  target: "esnext",
  write: false,
  logLevel: "warning",
});
const folder = await mkdtemp(join(tmpdir(), "tidemark-tickets-"));

function start(): Miniflare {
  return new Miniflare({
    modules: true,
    script: bundled.outputFiles[0]?.text ?? "",
    host: "127.0.0.1",
    port: 0,
    cf: false,
    compatibilityDate: "2026-04-01",
    durableObjects: { TICKETS: { className: "TicketObject", useSQLite: true } },
    durableObjectsPersist: folder,
  });
}

async function ask(server: Miniflare, path: string, body?: string): Promise<string> {
  const { origin } = await server.ready;
  const init = body === undefined ? {} : { method: "POST", body };
  return await (await fetch(`${origin}${path}`, init)).text();
}

/** The answers of so many that present a ticket at once. */
function redeem(server: Miniflare, ticket: string, times: number): Promise<string[]> {
  return Promise.all(Array.from({ length: times }, () => ask(server, "/redeem", ticket)));
}

try {
  const first = start();
  const suite: unknown = JSON.parse(await ask(first, "/suite"));
  const at50 = await redeem(first, await ask(first, "/mint", ""), 50);
  const [used, unused] = [await ask(first, "/mint", ""), await ask(first, "/mint", "")];
  await redeem(first, used, 1);
  await first.dispose();
  const second = start();
  const again = [...await redeem(second, used, 1), ...await redeem(second, unused, 2)];
  await second.dispose();
  console.log(JSON.stringify({ suite, at50, again }));
} finally {
  await rm(folder, { recursive: true, force: true });
}
