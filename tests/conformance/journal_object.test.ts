import { assertEquals, assertGreater } from "@std/assert";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { test } from "../support/test.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM = "tests/unit/journal/sqlite_object_main.ts";

/** Miniflare's own workerd, and the newer one. */
const BINARIES = [undefined, "node_modules/workerd/bin/workerd"];

async function run(binary: string | undefined): Promise<readonly string[]> {
  const env = binary === undefined ? {} : { MINIFLARE_WORKERD_PATH: binary };
  const child = spawn("node", ["--import", "tsx", PROGRAM], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => output += text);
  await new Promise<void>((resolve) => child.on("close", () => resolve()));
  return output.trim().split("\n");
}

for (const binary of BINARIES) {
  const which = binary === undefined ? "Miniflare's workerd" : "a newer workerd";
  test(`the journal of a Durable Object passes the conformance suite in ${which}`, async () => {
    const lines = await run(binary);
    assertEquals(lines.filter((line) => !line.startsWith("ok ")), ["done"]);
    assertGreater(lines.length, 50);
  }, { needs: ["node"], timeoutMs: 110_000, foreignTimers: true });
}
