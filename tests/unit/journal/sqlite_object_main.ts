/**
 * Puts the journal of a Durable Object through the conformance suite, in workerd. Runs under Node with
 * tsx. Each line on stdout is `ok NAME`, or `failed NAME: WHY`; the last one is `done`.
 *
 * The variable MINIFLARE_WORKERD_PATH chooses another workerd than Miniflare's own.
 *
 * @module
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { Miniflare } from "miniflare";

/** Miniflare ends workerd by SIGKILL; this is for the case that something hangs. */
const LIFE_MS = 100_000;

setTimeout(() => process.exit(1), LIFE_MS).unref();

const bundled = buildSync({
  entryPoints: [fileURLToPath(new URL("./sqlite_object_worker.ts", import.meta.url))],
  bundle: true,
  format: "esm",
  target: "esnext",
  write: false,
  logLevel: "warning",
});

/** Starts workerd on a folder, and lets something ask it. */
async function served(
  folder: string,
  body: (ask: (path: string, data?: string) => Promise<string>) => Promise<void>,
): Promise<void> {
  const server = new Miniflare({
    modules: true,
    script: bundled.outputFiles[0]?.text ?? "",
    host: "127.0.0.1",
    port: 0,
    cf: false,
    compatibilityDate: "2026-04-01",
    durableObjects: { JOURNAL: { className: "JournalObject", useSQLite: true } },
    durableObjectsPersist: folder,
  });
  try {
    const { origin } = await server.ready;
    await body(async (path, data) => {
      const init = data === undefined ? {} : { method: "POST", body: data };
      return await (await fetch(`${origin}${path}`, init)).text();
    });
  } finally {
    await server.dispose();
  }
}

async function report(name: string, body: () => Promise<string>): Promise<void> {
  const why = await body().catch(String);
  console.log(why === "" ? `ok ${name}` : `failed ${name}: ${why}`);
}

async function main(folder: string): Promise<void> {
  let last: unknown;
  await served(folder, async (ask) => {
    const names: string[] = JSON.parse(await ask("/cases"));
    for (const [index, name] of names.entries()) {
      await report(name, () => ask(`/run?case=${index}&object=${index}`));
    }
    await report("two objects have two epochs", async () => {
      const windows = await Promise.all(["a", "b"].map((name) => ask(`/window?object=${name}`)));
      assert.equal(new Set(windows.map((text) => JSON.parse(text).epoch)).size, 2);
      return "";
    });
    await report("appends of one turn are all stored", async () => {
      const asked = Array.from({ length: 50 }, (_, n) => ask("/append?object=kept", `${n}`));
      const offsets = (await Promise.all(asked)).map((text) => JSON.parse(text).offset);
      assert.deepEqual(offsets.sort((a, b) => a - b), offsets.map((_, n) => n + 1));
      last = JSON.parse(await ask("/window?object=kept"));
      return "";
    });
  });
  await served(folder, async (ask) => {
    await report("a journal is found again after workerd was started anew", async () => {
      assert.deepEqual(JSON.parse(await ask("/window?object=kept")), last);
      assert.equal(JSON.parse(await ask("/append?object=kept", "x")).offset, 51);
      return "";
    });
  });
  console.log("done");
}

const folder = await mkdtemp(join(tmpdir(), "tidemark-object-"));
try {
  await main(folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}
