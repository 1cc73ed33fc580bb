import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import { test } from "../support/test.ts";
import { type Import, readImports, violations } from "./imports.ts";
import { list, ROOT, scratch } from "./project.ts";

test("every import of src goes in the direction of the architecture", async () => {
  const imports = await readImports(ROOT, list("src", ".ts"));
  assertEquals(violations(imports), []);
  // Were the graph empty, nothing could be wrong with it.
  assertGreater(imports.length, 30);
});

test("each import that the architecture forbids is found", () => {
  const forbidden: readonly [from: string, to: string, typeOnly?: boolean][] = [
    ["src/errors.ts", "src/wire/timing.ts"],
    ["src/wire/frame.ts", "src/hub/ring.ts"],
    ["src/wire/frame.ts", "src/hub/ring.ts", true],
    ["src/wire/frame.ts", "node:buffer"],
    ["src/hub/hub.ts", "src/adapters/node.ts"],
    ["src/hub/hub.ts", "src/journal/journal.ts"],
    ["src/hub/hub.ts", "npm:hono@4"],
    ["src/hub/hub.ts", "hono"],
    ["src/hub/hub.ts", "jsr:@std/async@1"],
    ["src/client/stream.ts", "src/hub/types.ts", true],
    ["src/adapters/node.ts", "src/testing/mod.ts"],
    ["src/adapters/hono.ts", "hono"],
    ["src/testing/mod.ts", "mod.ts"],
    ["src/adapters/bun.ts", "client.ts"],
    ["src/testing/mod.ts", "tests/support/test.ts"],
    ["src/react/mod.ts", "react"],
    ["src/react/mod.ts", "npm:@types/react@19", true],
    ["src/react/store.ts", "src/hub/hub.ts"],
    ["src/client/stream.ts", "src/react/store.ts"],
    ["src/novelty/idea.ts", "src/errors.ts"],
  ];
  for (const [from, to, typeOnly = false] of forbidden) {
    assertEquals(violations([{ from, to, typeOnly }]).length, 1, `${from} → ${to}`);
  }
});

test("each import that the architecture allows is let through", () => {
  const allowed: readonly Import[] = [
    { from: "src/wire/frame.ts", to: "src/errors.ts", typeOnly: false },
    { from: "src/wire/frame.ts", to: "src/wire/text.ts", typeOnly: false },
    { from: "src/hub/hub.ts", to: "src/wire/frame.ts", typeOnly: false },
    { from: "src/hub/hub.ts", to: "src/journal/journal.ts", typeOnly: true },
    { from: "src/adapters/node.ts", to: "node:http", typeOnly: false },
    { from: "src/testing/mod.ts", to: "src/adapters/node.ts", typeOnly: false },
    { from: "src/react/store.ts", to: "src/client/stream.ts", typeOnly: false },
    { from: "src/react/store.ts", to: "src/errors.ts", typeOnly: false },
  ];
  assertEquals(violations(allowed), []);
});

test("the reader sees every form of import, and none in a comment or a string", async () => {
  const file = `${scratch("imports")}/forms.ts`;
  const target = "../../src/errors.ts";
  const names = ["ConfigError", "CursorError", "TopicError"];
  await Deno.writeTextFile(
    new URL(file, ROOT),
    [
      `/** import { a } from "../../src/comment.ts"; */`,
      `// import { b } from "../../src/comment.ts";`,
      'const text = `import { c } from "../../src/string.ts";`;',
      `import { ${names[0]} } from "${target}";`,
      `export { FRAME } from "../../src/wire/a.ts";`,
      `export * from "../../src/wire/b.ts";`,
      `import "../../src/wire/c.ts";`,
      `import type { D } from "../../src/wire/d.ts";`,
      `export type { E } from "../../src/wire/e.ts";`,
      `const f = await import("../../src/wire/f.ts");`,
      `let g: import("../../src/wire/g.ts").G;`,
      `import process from "node:process";`,
      `import {`,
      `  type H,`,
      `} from "../../src/wire/h.ts";`,
    ].join("\n"),
  );
  const imports = (await readImports(ROOT, [file])).filter(({ from }) => from === file);
  const seen = new Map(imports.map(({ to, typeOnly }) => [to, typeOnly]));
  assertEquals([...seen.keys()].sort(), [
    "node:process",
    "src/errors.ts",
    ..."abcdefgh".split("").map((name) => `src/wire/${name}.ts`),
  ]);
  assert(seen.get("src/wire/d.ts") && seen.get("src/wire/e.ts") && seen.get("src/wire/g.ts"));
  assertEquals(seen.get("src/errors.ts"), false);
  assertStringIncludes(violations([...imports])[0] ?? "", "no rule");
});
