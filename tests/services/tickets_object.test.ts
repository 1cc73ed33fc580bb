import { assert, assertEquals, assertGreater } from "@std/assert";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "../support/test.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM = "tests/services/tickets_object_main.ts";
const OPENED = JSON.stringify({ user: "ada", topics: ["orders"] });

interface Report {
  readonly suite: { readonly cases: number; readonly failed: readonly string[] };
  readonly at50: readonly string[];
  readonly again: readonly string[];
}

test(
  "tickets in a Durable Object pass the suite of all stores, open one of 50, and outlast workerd",
  async () => {
    const { suite, at50, again } = await run();
    assertEquals(suite.failed, []);
    assertGreater(suite.cases, 10);
    assertEquals([...at50].sort(), [...Array(49).fill("null"), OPENED]);
    // After workerd was started anew, what was used stays used.
    assertEquals(again[0], "null");
    assertEquals(again.slice(1).sort(), ["null", OPENED]);
  },
  { needs: ["node"], timeoutMs: 50_000, foreignTimers: true },
);

async function run(): Promise<Report> {
  const child = spawn("node", ["--import", "tsx", PROGRAM], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => output += text);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  assert(code === 0, `it ended with ${code}: ${output}`);
  // What the program of this test prints.
  return JSON.parse(output) as Report;
}
