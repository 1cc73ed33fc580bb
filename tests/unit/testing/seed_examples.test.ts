import { assertEquals } from "@std/assert";
import { test } from "../../support/test.ts";

/** What an example prints. Each is a program of its own, so it runs when it is first imported. */
async function printed(load: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const { log } = console;
  console.log = (...values: unknown[]) => void lines.push(values.map(String).join(" "));
  try {
    await load();
  } finally {
    console.log = log;
  }
  return lines;
}

/** Go prints the error beside a value, `<nil>` for none; here an error is thrown. */
function goValue(line: string): string {
  return line === "<nil>" ? "undefined" : line.replace(/ <nil>$/, "");
}

/** Go prints a list of `{ kind, ref, last }` as `[{{kind ref} last}]`. */
function goList(json: string, last: string): string {
  const items = JSON.parse(json) as readonly Record<string, string>[];
  const shown = items.map((item) => `{{${item["kind"]} ${item["ref"]}} ${item[last]}}`);
  return `[${shown.join(" ")}]`;
}

test("the seed's ExampleNew prints what it prints in Go", async () => {
  const lines = await printed(() => import("../../../examples/seed/construct.ts"));
  assertEquals(lines, ["1 <nil>", "1 1", "true"].map(goValue));
});

test("the seed's ExampleHub_Serve prints what it prints in Go", async () => {
  const lines = await printed(() => import("../../../examples/seed/serve_and_resume.ts"));
  assertEquals(
    lines,
    [
      "retry 1500",
      "sse:hello fresh resumed=false head=0",
      'connected {"resumed":false}',
      'notify 1 {"n":1}',
      "sse:hello resumed resumed=true head=2",
      'notify true {"n":2}',
      'connected {"resumed":true}',
      "<nil>",
      'sse:reset {"reason":"shutdown"}',
    ].map(goValue),
  );
});

test("the seed's ExampleHub_DigestHandler prints what it prints in Go", async () => {
  const [status, changed = "", removed = "", ...rest] = await printed(() =>
    import("../../../examples/seed/digest.ts")
  );
  assertEquals(
    [status, goList(changed, "version"), goList(removed, "reason"), ...rest],
    ["200 false", "[{{chat c1} 7}]", "[{{chat c2} gone}]"],
  );
});
