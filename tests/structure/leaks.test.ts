import { assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import { test } from "../support/test.ts";
import { execute, IMPORT_FLAGS } from "./project.ts";

const MAIN = "tests/structure/leaks_main.ts";
/** Some five seconds are enough; a machine that does much else needs more. */
const RUN_MS = 30_000;
/** What one attempt that is never let go keeps: 3000 to 8000 bytes were seen, and 1800 at the least. */
const LEAK_BYTES = 1000;

/** How the program is started with its collector in reach. */
const RUNTIMES: readonly {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}[] = [
  {
    program: Deno.execPath(),
    args: ["run", "--allow-all", "--no-check", "--v8-flags=--expose-gc", ...IMPORT_FLAGS],
  },
  { program: "bun", args: ["run"] },
  {
    program: "node",
    args: ["--expose-gc", "--import", "tsx"],
    env: { TSX_TSCONFIG_PATH: "tests/tsconfig.json" },
  },
];

for (const { program, args, env = {} } of RUNTIMES) {
  const name = program.split(/[\\/]/).pop() ?? "";
  test(`a thousand reconnections leave the heap of ${name} as it was`, async () => {
    const { code, output } = await execute(program, [...args, MAIN], RUN_MS, { env });
    assertEquals(code, 0, output);
    const { connections, growth } = JSON.parse(
      output.split("\n").find((line) => line.startsWith("{")) ?? "",
    ) as { readonly connections: number; readonly growth: readonly number[] };
    assertGreaterOrEqual(connections, 1000);
    // What leaks does so in each part; what is compiled, or cached, does not.
    assertLess(Math.min(...growth), LEAK_BYTES, JSON.stringify(growth));
  }, { needs: [program], timeoutMs: RUN_MS + 10_000 });
}
