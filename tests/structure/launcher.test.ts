import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { judge, readCounts } from "../../scripts/lib/counts.mjs";
import { matches } from "../../scripts/lib/modules.mjs";
import { sideBySide } from "../../scripts/lib/pool.mjs";
import { readArguments } from "../../scripts/test.mjs";
import { test } from "../support/test.ts";
import { execute, read } from "./project.ts";

const RUN_MS = 30_000;

test("the counts of Deno's runner are read from its last summary", () => {
  const output = "ok | 9 passed | 0 failed (1s)\n\u001b[0m\u001b[31mFAILED\u001b[0m | 2 passed" +
    " (2 steps) | 1 failed | 1 ignored \u001b[38;5;245m(19ms)\u001b[0m\n\nerror: Test failed\n";
  assertEquals(readCounts("deno", output), { passed: 2, failed: 1, skipped: 1 });
  assertEquals(readCounts("deno", "ok | 3 passed | 0 failed (5ms)\n"), {
    passed: 3,
    failed: 0,
    skipped: 0,
  });
});

test("the counts of Bun's runner are read", () => {
  const output = "(pass) a\n\n 1 pass\n 1 skip\n 2 fail\n 1 error\nRan 4 tests across 2 files.\n";
  assertEquals(readCounts("bun", output), { passed: 1, failed: 2, skipped: 1 });
});

test("the counts of Node's runner are read", () => {
  const output =
    "ℹ tests 4\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 0\n";
  assertEquals(readCounts("node", output), { passed: 1, failed: 2, skipped: 1 });
  // A file without a test is no test, though Node says so.
  const empty = "✔ /home/me/tests/unit/empty.test.ts (51.2ms)\n✔ a sentence (1ms)\n";
  assertEquals(readCounts("node", empty + output.replace("pass 1", "pass 2"))?.passed, 1);
});

test("a runner that did not come to its end has failed", () => {
  for (const runner of ["deno", "bun", "node"] as const) {
    const counts = readCounts(runner, "error: Type checking failed.\n");
    assertEquals(counts, undefined);
    assertEquals(judge(counts, 0).failed, 1);
  }
});

test("a run passes only when its summary and its exit code both say so", () => {
  const good = { passed: 3, failed: 0, skipped: 0 };
  assertEquals(judge(good, 0), { ...good, note: "" });
  assertEquals(judge(good, 1).failed, 1);
  assertEquals(judge({ passed: 0, failed: 0, skipped: 0 }, 0).failed, 1);
  assertEquals(judge({ passed: 1, failed: 2, skipped: 0 }, 1).failed, 2);
});

/** Work whose jobs end when the test says so, and what was seen of it. */
function sideBySideWork(names: string, atOnce: number, first = "") {
  const running = new Map<string, PromiseWithResolvers<string>>();
  const [begun, reported]: [string[], string[]] = [[], []];
  const done = sideBySide({
    jobs: [...names],
    atOnce,
    rank: (name) => first.includes(name) ? 0 : 1,
    run: (name) => {
      begun.push(name);
      const ending = Promise.withResolvers<string>();
      running.set(name, ending);
      return ending.promise;
    },
    report: (name, result) => void reported.push(name + result),
  });
  const end = async (name: string, error?: Error): Promise<void> => {
    if (error === undefined) running.get(name)?.resolve("!");
    else running.get(name)?.reject(error);
    // What follows from it follows without waiting for anything outside.
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { begun, reported, done, end };
}

test("steps run side by side, so many at once, the longest first; reports keep their order", async () => {
  const { begun, reported, done, end } = sideBySideWork("abcd", 2, "c");
  assertEquals(begun.join(""), "ca");
  await end("a");
  assertEquals([begun.join(""), reported.join("")], ["cab", "a!"]);
  await end("b");
  assertEquals([begun.join(""), reported.join("")], ["cabd", "a!b!"]);
  await end("d");
  assertEquals(reported.join(""), "a!b!", "it waits for the one before it");
  await end("c");
  await done;
  assertEquals(reported.join(""), "a!b!c!d!");
});

test("a step that was interrupted ends the run: no other begins, what runs is awaited", async () => {
  const { begun, reported, done, end } = sideBySideWork("abcde", 3);
  let over = false;
  const ended = assertRejects(() => done, Error, "stop").finally(() => over = true);
  await end("b");
  await end("a", new Error("stop"));
  await end("c");
  assertEquals([begun.join(""), over], ["abcd", false]);
  await end("d");
  await ended;
  assertEquals([begun.join(""), reported.join("")], ["abcd", "b!c!d!"]);
});

test("packages are installed anew when a version differs or one is missing", () => {
  const lock = {
    "": { version: "0.1.0" },
    "node_modules/a": { version: "1.0.0" },
    "node_modules/other-machine": { version: "2.0.0", optional: true },
  };
  assert(matches(lock, { "node_modules/a": { version: "1.0.0" } }));
  assert(!matches(lock, { "node_modules/a": { version: "1.0.1" } }));
  assert(!matches(lock, {}));
  assert(
    !matches(lock, {
      "node_modules/a": { version: "1.0.0" },
      "node_modules/other-machine": { version: "1.9.0" },
    }),
  );
});

test("the arguments of npm test are read, and an unknown flag is refused", () => {
  const { only, filters, requireAll, atOnce } = readArguments([
    "--only=unit,bun",
    "--require-all",
    "--at-once=3",
    "./tests/unit/wire",
  ]);
  assertEquals([only, filters, requireAll], [["unit", "bun"], ["tests/unit/wire"], true]);
  assertEquals(atOnce, 3);
  for (const wrong of ["--onyl=unit", "--at-once=0", "--at-once=", "--at-once=two"]) {
    assertThrows(() => readArguments([wrong]), Error, wrong);
  }
});

test("a command, a step or a runtime that does not exist is refused with those that do", async () => {
  const wrong: readonly [args: readonly string[], hint: string][] = [
    [["dome"], "demo|bench|golden|fixture|test|check"],
    [["check", "--only=form"], "fmt, lint, check"],
    [["fixture", "--runtime", "netscape"], "deno, bun, node, workerd"],
  ];
  for (const [args, hint] of wrong) {
    const run = ["run", "--allow-all", "scripts/run.mjs", ...args];
    const { code, output } = await execute(Deno.execPath(), run, RUN_MS);
    assertEquals(code, 2, output);
    assertStringIncludes(output, hint);
  }
});

test("every task of deno.json is a script of package.json with the same launcher", () => {
  const tasks: Record<string, { command: string }> = JSON.parse(read("deno.json")).tasks;
  const scripts: Record<string, string> = JSON.parse(read("package.json")).scripts;
  for (const [name, { command }] of Object.entries(tasks)) {
    // `node` in a task is Deno itself where the first word is a file, and needs no Node. `deno` would
    // be npm's package of that name, once it is installed, which a task cannot start.
    assertEquals(command, `node scripts/run.mjs ${name}`);
    assertEquals(scripts[name], `node scripts/run.mjs ${name}`);
  }
});
