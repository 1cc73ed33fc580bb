import { gzipSync } from "node:zlib";
import { assert, assertEquals, assertLess, assertNotEquals } from "@std/assert";
import { test } from "../support/test.ts";
import { execute, ROOT, scratch } from "./project.ts";

const FOLDER = scratch("size");
const BUILD_MS = 30_000;

interface Bundle {
  /** Minified and gzipped. */
  readonly bytes: number;
  /** The files of the project that are in it. */
  readonly files: readonly string[];
}

/** What is measured, by the lines that a program would write, and the bound. */
const ENTRIES: Readonly<Record<string, readonly [code: string, maxBytes: number]>> = {
  "createStream with a version map": [
    `export { createStream, createVersionMap } from "../../client.ts";`,
    14_450,
  ],
  "everything": [
    `export * from "../../client.ts";
     export * from "../../src/client/tabs.ts";
     export * from "../../src/client/worker.ts";`,
    24_600,
  ],
};

for (const [name, [code, maxBytes]] of Object.entries(ENTRIES)) {
  test(`${name} is at most ${maxBytes} bytes, minified and gzipped`, async () => {
    const { bytes } = await bundle(code);
    console.log(`${name}: ${bytes} bytes`);
    assertLess(bytes, maxBytes);
  });
}

test("a plain stream brings nothing of the tabs, the worker or the other fronts with it", async () => {
  const { files } = await bundle(ENTRIES["createStream with a version map"]?.[0] ?? "");
  assert(files.includes("src/client/runtime.ts"));
  const foreign =
    /^src\/(?!client\/[a-z_]+\.ts$|wire\/|errors\.ts$)|(?:digest|frames|event_source)/;
  const allowed = /^src\/wire\/digest\.ts$/;
  assertEquals(files.filter((file) => foreign.test(file) && !allowed.test(file)), []);
});

test("an error keeps its name when the code around it is minified", async () => {
  await bundle(`export * from "../../src/errors.ts";`);
  // Another address each time: a module is loaded once.
  const classes = Object.entries(
    await import(`${new URL(`${FOLDER}/out.js`, ROOT)}#${crypto.randomUUID()}`) as Record<
      string,
      new (...args: never[]) => unknown
    >,
  ).filter(([name]) => name !== "TidemarkError");
  assert(classes.length >= 11);
  for (const [name, Minified] of classes) {
    // What they are made of does not matter: each takes texts, numbers, or an object of both.
    const error = Reflect.construct(Minified, [{}, {}]);
    assert(error instanceof Error);
    assertEquals(error.name, name);
    assertNotEquals(Minified.name, name);
  }
});

async function bundle(code: string): Promise<Bundle> {
  const [entry, out, meta] = ["entry.ts", "out.js", "meta.json"].map((file) => `${FOLDER}/${file}`);
  if (entry === undefined || out === undefined || meta === undefined) throw new Error("no paths");
  await Deno.writeTextFile(new URL(entry, ROOT), code);
  const { code: exit, output } = await execute("node_modules/.bin/esbuild", [
    entry,
    "--bundle",
    "--minify",
    "--format=esm",
    "--target=es2022",
    `--outfile=${out}`,
    `--metafile=${meta}`,
  ], BUILD_MS);
  assertEquals(exit, 0, output);
  // The bundler's own output; a change of its shape fails the second test.
  const { outputs } = JSON.parse(await Deno.readTextFile(new URL(meta, ROOT))) as {
    outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
  };
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) =>
      path
    )
  ).filter((path) => path.startsWith("src/"));
  const text = await Deno.readFile(new URL(out, ROOT));
  return { bytes: gzipSync(text, { level: 9 }).length, files };
}
