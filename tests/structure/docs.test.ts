import { assert, assertEquals, assertGreater, assertThrows } from "@std/assert";
import { test } from "../support/test.ts";
import { type Block, findBlocks } from "./doc_blocks.ts";
import { execute, IMPORT_FLAGS, list, read, ROOT, scratch } from "./project.ts";

const CHECK_MS = 120_000;
const RUN_MS = 20_000;
const FOLDER = scratch("docs");

const blocks = [...list("src", ".ts"), "mod.ts", "client.ts", ...documents()]
  .flatMap((file) => findBlocks(file, read(file)))
  .filter(({ mode }) => mode !== "ignore");
const paths = new Map(blocks.map((block) => [block, `${FOLDER}/${nameOf(block)}.ts`]));

for (const [block, path] of paths) {
  // An example without an import would be a script, whose names are everybody's.
  await Deno.writeTextFile(new URL(path, ROOT), `${block.code}\nexport {};\n`);
}

test("every example of the documentation type-checks", async () => {
  assertGreater(blocks.length, 0);
  const args = ["check", "--quiet", ...IMPORT_FLAGS, ...paths.values()];
  const { code, output } = await execute(Deno.execPath(), args, CHECK_MS);
  assert(code === 0, output);
}, { timeoutMs: CHECK_MS + 5000 });

for (const [block, path] of paths) {
  if (block.mode !== "run") continue;
  test(`the example at ${block.file}:${block.line} runs`, async () => {
    const args = ["run", "--allow-all", "--no-check", ...IMPORT_FLAGS, path];
    const { code, output } = await execute(Deno.execPath(), args, RUN_MS);
    assert(code === 0, output);
  }, { timeoutMs: RUN_MS + 5000 });
}

test("an example that fails, or does not end, is noticed", async () => {
  const failing = `${FOLDER}/failing.ts`;
  await Deno.writeTextFile(new URL(failing, ROOT), "throw new Error('on purpose');\n");
  assert((await execute(Deno.execPath(), ["run", failing], RUN_MS)).code !== 0);
  await Deno.writeTextFile(new URL(failing, ROOT), "setInterval(() => {}, 1000);\n");
  assert((await execute(Deno.execPath(), ["run", failing], 500)).code !== 0);
});

test("examples are found in doc comments and in Markdown, with what is to be done with them", () => {
  const source = [
    "/**",
    " * Text.",
    " *",
    " * ```ts",
    " * if (a) {",
    " *   b();",
    " * }",
    " * ```",
    " * ```ts no-run",
    " * serve();",
    " * ```",
    " */",
    "const text = `",
    "```ts",
    "not.an.example();",
    "```",
    "`;",
  ].join("\n");
  assertEquals(findBlocks("a.ts", source), [
    { file: "a.ts", line: 4, mode: "run", code: "if (a) {\n  b();\n}" },
    { file: "a.ts", line: 9, mode: "no-run", code: "serve();" },
  ]);
  const text = "- item\n\n  ```ts ignore\n  part\n  ```\n\n```sh\nls\n```\n";
  assertEquals(findBlocks("a.md", text), [
    { file: "a.md", line: 3, mode: "ignore", code: "part" },
  ]);
});

test("a word after the fence that means nothing, and a fence that stays open, are refused", () => {
  assertThrows(() => findBlocks("a.md", "```ts norun\n```\n"), Error, "means nothing");
  assertThrows(() => findBlocks("a.md", "```ts\ncode\n"), Error, "not closed");
});

/** The README and what stands in `docs/`: all that a reader is likely to copy from. */
function documents(): readonly string[] {
  return ["README.md", ...list("docs", ".md")];
}

function nameOf({ file, line }: Block): string {
  return `${file.replace(/[^A-Za-z0-9]+/g, "_")}_${line}`;
}
