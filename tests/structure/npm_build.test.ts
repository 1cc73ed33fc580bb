import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { test } from "../support/test.ts";
import { execute, list, read, ROOT, scratch } from "./project.ts";

const BUILD_MS = 120_000;
const RUN_MS = 30_000;
/** Where npm would put the package for the program beside it. */
const USER = scratch("npm");
const PACKAGE = `${USER}/node_modules/@tidemark/sse`;
const USER_FOLDER = new URL(`${USER}/`, ROOT);

const entries = Object.keys(JSON.parse(read("deno.json")).exports)
  .map((name) => name.replace(/^\./, "@tidemark/sse"));

test("what npm users install is built, and works on Node without anything else", async () => {
  await build();
  await write(
    "main.mjs",
    `${entries.map((name) => `await import("${name}");`).join("\n")}
    import { createHub, ConfigError, parseCursor } from "@tidemark/sse";
    import { toNodeHandler } from "@tidemark/sse/node";
    const hub = createHub({ replay: { maxEvents: 10, ttlMs: 600_000 } });
    const offset = hub.publish({ topic: "t", data: "x" });
    const response = hub.serve(new Request("http://localhost/"), { topics: ["t"] });
    const { value } = await response.body.getReader().read();
    console.log(JSON.stringify({
      offset,
      status: response.status,
      first: new TextDecoder().decode(value).slice(0, 6),
      cursor: parseCursor("00c0ffee00c0ffee:42"),
      handler: typeof toNodeHandler(hub.handler),
    }));
    try { createHub({ keepaliveMs: 0 }); } catch (error) {
      console.log(error instanceof ConfigError && error.option);
    }
    process.exit(0);`,
  );
  const { code, output } = await execute("node", ["main.mjs"], RUN_MS, { cwd: USER_FOLDER });
  assertEquals(code, 0, output);
  const [first = "", second] = output.trim().split("\n");
  assertEquals(JSON.parse(first), {
    offset: 1,
    status: 200,
    first: "retry:",
    cursor: { epoch: "00c0ffee00c0ffee", offset: 42 },
    handler: "function",
  });
  assertEquals(second, "keepaliveMs");
}, { needs: ["node"], timeoutMs: BUILD_MS + RUN_MS });

test(
  "its types serve the strictest of users, with a browser's library and with a worker's",
  async () => {
    await build();
    await write(
      "main.ts",
      `${entries.map((name, index) => `import * as entry${index} from "${name}";`).join("\n")}
    import { createHub, type Hub } from "@tidemark/sse";
    const hub: Hub = createHub({ slow: "lag" });
    export const offset: number = hub.publish({ data: "x" });
    export const all = [${entries.map((_, index) => `entry${index}`).join(", ")}];`,
    );
    for (const library of [["dom", "dom.iterable"], ["webworker", "webworker.iterable"]]) {
      await write(
        "tsconfig.json",
        JSON.stringify({
          compilerOptions: {
            target: "es2022",
            module: "nodenext",
            lib: ["esnext", ...library],
            types: [],
            strict: true,
            exactOptionalPropertyTypes: true,
            noUncheckedIndexedAccess: true,
            verbatimModuleSyntax: true,
            skipLibCheck: false,
            noEmit: true,
          },
          files: ["main.ts"],
        }),
      );
      const tsc = new URL("node_modules/typescript/bin/tsc", ROOT).pathname;
      const { code, output } = await execute("node", [tsc, "-p", USER], BUILD_MS);
      assertEquals(code, 0, `${library[0]}: ${output}`);
    }
  },
  { needs: ["node"], timeoutMs: BUILD_MS * 2 },
);

test("the rules of npm packages find nothing wrong with it", async () => {
  await build();
  const { code, output } = await execute(
    "node_modules/.bin/publint",
    [PACKAGE, "--strict"],
    RUN_MS,
  );
  assertEquals(code, 0, output);
}, { needs: ["node"], timeoutMs: BUILD_MS + RUN_MS });

test(
  "each bundle for pages without a build is one file, with a source map, and imports nothing",
  async () => {
    await build();
    for (const name of ["client", "worker", "tabs"]) {
      const code = read(`${PACKAGE}/browser/${name}.js`);
      assert(!/\bimport\b[^(]*["']/.test(code), `${name} imports something`);
      assertStringIncludes(code, `sourceMappingURL=${name}.js.map`);
      assertStringIncludes(read(`${PACKAGE}/browser/${name}.js.map`), '"sourcesContent"');
    }
  },
  { needs: ["node"], timeoutMs: BUILD_MS },
);

test("it holds the licence, source maps with their sources, and nothing of the tests", async () => {
  await build();
  const files = list(PACKAGE, "").map((file) => file.slice(PACKAGE.length + 1));
  for (const file of ["LICENSE", "package.json", "mod.js", "mod.d.ts", "mod.js.map"]) {
    assert(files.includes(file), `${file} is missing`);
  }
  assertEquals(files.filter((file) => /\.ts$/.test(file) && !/\.d\.ts$/.test(file)), []);
  assertEquals(files.filter((file) => /^(?:tests|bench|examples|scripts)\//.test(file)), []);
  assertStringIncludes(read(`${PACKAGE}/mod.js.map`), '"sourcesContent"');
  const { version, private: hidden, devDependencies } = JSON.parse(read(`${PACKAGE}/package.json`));
  assertEquals([version, hidden, devDependencies], [
    JSON.parse(read("deno.json")).version,
    undefined,
    undefined,
  ]);
}, { needs: ["node"], timeoutMs: BUILD_MS });

let built: Promise<void> | undefined;

function build(): Promise<void> {
  return built ??= (async () => {
    const args = ["scripts/build_npm.mjs", "--out", PACKAGE];
    const { code, output } = await execute("node", args, BUILD_MS);
    assertEquals(code, 0, output);
  })();
}

async function write(name: string, text: string): Promise<void> {
  await Deno.writeTextFile(new URL(name, USER_FOLDER), text);
  // Without it Node would take the folder's modules for those of the project above.
  await Deno.writeTextFile(new URL("package.json", USER_FOLDER), '{ "type": "module" }\n');
}
