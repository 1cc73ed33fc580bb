import { assertEquals, assertGreater } from "@std/assert";
import { test } from "../support/test.ts";
import { list, read } from "./project.ts";

const MAX_LINES = 320;
const files = [...list("src", ".ts"), "mod.ts", "client.ts"];

test("no source file is so long that it holds two ideas", () => {
  const long = files.map((file) => [file, read(file).split("\n").length] as const)
    .filter(([, lines]) => lines > MAX_LINES);
  assertEquals(long, []);
  assertGreater(files.length, 20);
});

test("nothing silences the type checker, and a silenced lint rule says why", () => {
  const tricks = /@ts-ignore|@ts-nocheck|@ts-expect-error|\bas any\b|deno-lint-ignore(?!.* -- )/;
  const found = files.flatMap((file) =>
    read(file).split("\n").flatMap((line, index) =>
      tricks.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : []
    )
  );
  assertEquals(found, []);
});
