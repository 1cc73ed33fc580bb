import { assertEquals, assertGreater, assertMatch } from "@std/assert";
import { test } from "../support/test.ts";
import { read } from "./project.ts";

const { name, version, license } = JSON.parse(read("deno.json"));

test("the version is a version", () => {
  assertMatch(version, /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/);
});

test("package.json says the name, the version and the licence of deno.json", () => {
  const ours = JSON.parse(read("package.json"));
  assertEquals([ours.name, ours.version, ours.license], [name, version, license]);
  const { packages } = JSON.parse(read("package-lock.json"));
  assertEquals(packages[""].version, version);
});

test("the newest heading of the change log is the version", () => {
  const headings = [...read("CHANGELOG.md").matchAll(/^## (\S+)/gm)].map(([, text]) => text);
  assertEquals(headings.find((text) => text !== "Unreleased"), version);
});

test("every install line of the README names the version", () => {
  const lines = read("README.md").split("\n").filter((line) =>
    /(?:deno add|jsr add|npm install|npm i|bun add|pnpm add|yarn add)\b.*@tidemark\/sse/.test(line)
  );
  assertGreater(lines.length, 0);
  for (const line of lines) assertMatch(line, new RegExp(`@tidemark/sse@\\^?${escape(version)}`));
});

function escape(text: string): string {
  return text.replace(/[.+]/g, "\\$&");
}
