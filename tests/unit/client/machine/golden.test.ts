import { assertEquals, assertGreater } from "@std/assert";
import { readFileSync } from "node:fs";
import { EVENTS } from "../../../golden/events.ts";
import { GOLDEN } from "../../../golden/file.ts";
import { rows } from "../../../golden/states.ts";
import { writeTable } from "../../../golden/table.ts";
import { test } from "../../../support/test.ts";

/** Sections of a table, by their first line. */
function sections(table: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    table.split("\n\n## ").map((text) => {
      const [name = "", ...lines] = text.trimEnd().split("\n");
      return [name, lines] as const;
    }),
  );
}

test("every event in every state leads to what the golden table says", () => {
  const [kept, made] = [readFileSync(GOLDEN, "utf8").replaceAll("\r\n", "\n"), writeTable()];
  const [old, now] = [sections(kept), sections(made)];
  // Section by section: a difference of the whole text would be hard to read.
  for (const [name, lines] of now) assertEquals(old.get(name), lines, `## ${name}`);
  assertEquals([...old.keys()], [...now.keys()]);
  assertEquals(kept, made, "rewrite it with `npm run golden`, and read the difference");
});

test("the golden table leaves out no kind of state and no event", () => {
  const kinds = new Set(rows().map(({ state }) => state.link.kind));
  assertEquals([...kinds].sort(), [
    "backoff",
    "connecting",
    "exhausted",
    "hidden_closed",
    "offline",
    "open",
    "stopped",
  ]);
  for (const [type, samples] of Object.entries(EVENTS)) assertGreater(samples.length, 0, type);
  // Each first state of a kind has every event in one of its lines, or in one of its last two.
  const first = [...sections(writeTable())].filter(([name]) => kinds.has(name as "stopped"));
  assertEquals(first.length, kinds.size);
  for (const [name, lines] of first) {
    const told = lines.slice(1).flatMap((line) =>
      line.replace(/^(nothing|dropped): /, "").split("; ")
    )
      .map((event) => event.split(/ -> |: /, 1)[0]);
    assertEquals(new Set(told), new Set(Object.keys(EVENTS)), name);
  }
});

test("a report of an attempt before changes nothing in any state", () => {
  const late = writeTable().split("\n").filter((line) =>
    line.includes(", of an attempt before ->")
  );
  assertEquals(late, []);
});
