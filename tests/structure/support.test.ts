import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { available, missing, skipOrFail } from "../support/require.ts";
import { test } from "../support/test.ts";
import { execute, IMPORT_FLAGS, ROOT, scratch } from "./project.ts";

const RUN_MS = 60_000;

test("a wait ends with the first truthy answer, and an error counts as not yet", async () => {
  let asked = 0;
  const answer = await eventually(() => {
    asked++;
    if (asked === 1) throw new Error("not there");
    return asked < 3 ? null : "there";
  }, { what: "an answer", everyMs: 1 });
  assertEquals([answer, asked], ["there", 3]);
});

test("a wait in vain says what it waited for and what it saw last", async () => {
  const options = { what: "a miracle", timeoutMs: 5, everyMs: 1 };
  const error = await assertRejects(() => eventually(() => 0, options), Error, "a miracle");
  assertStringIncludes(error.message, "the last answer was 0");
  const thrown = await assertRejects(
    () => eventually(() => Promise.reject(new Error("closed")), options),
    Error,
    "the last error was Error: closed",
  );
  assertEquals((thrown.cause as Error).message, "closed");
});

test("a program is there or it is not", () => {
  assertEquals(available("sh"), true);
  assertEquals(missing(["sh", "no-such-program"]), ["no-such-program"]);
});

test("a skip is a failure when everything is required", () => {
  const required = Deno.env.get("TIDEMARK_REQUIRE_ALL") === "1";
  if (required) assertThrows(() => skipOrFail("this line"), Error, "everything is required");
  else skipOrFail("this line of a test, which");
});

test("a test that fails, hangs, leaks or lacks a program says so on every runtime", async () => {
  const file = `${scratch("support")}/case.ts`;
  await Deno.writeTextFile(
    new URL(file, ROOT),
    `import { test } from "../../tests/support/test.ts";
    test("passes", () => {});
    test("fails", () => { throw new Error("on purpose"); });
    test("hangs", () => new Promise(() => {}), { timeoutMs: 20 });
    test("lacks", () => {}, { needs: ["no-such-program"] });
    if ("Deno" in globalThis) test("leaks", () => void setTimeout(() => {}, 60_000));
    `,
  );
  const deno = ["test", "--allow-all", "--no-check", ...IMPORT_FLAGS, file];
  const runs = [
    { program: Deno.execPath(), args: deno, failed: /1 passed \| 3 failed \| 1 ignored/ },
    { program: "bun", args: ["test", `./${file}`], failed: / 1 pass\n 1 skip\n 2 fail/ },
    {
      program: "node",
      args: ["--import", "tsx", "--test", "--test-reporter=spec", file],
      failed: /pass 1\nℹ fail 2\nℹ cancelled 0\nℹ skipped 1/,
    },
  ].filter(({ program }) => available(program));
  for (const { program, args, failed } of runs) {
    const env = { TIDEMARK_REQUIRE_ALL: "0" };
    const { code, output } = await execute(program, args, RUN_MS, { env });
    assertEquals(code === 0, false);
    assertStringIncludes(failed.test(output) ? "as it should" : output, "as it should");
    assertStringIncludes(output, "The test took over 20 ms");
    assertStringIncludes(output, "no no-such-program");
  }
  const env = { TIDEMARK_REQUIRE_ALL: "1" };
  const { output } = await execute(Deno.execPath(), deno, RUN_MS, { env });
  assertStringIncludes(output, "1 passed | 4 failed");
}, { timeoutMs: RUN_MS * 4 });
