import { assertEquals, assertRejects } from "@std/assert";
import { journalCases, type JournalSubject } from "../../../src/journal/conformance.ts";
import { test } from "../../support/test.ts";
import { brokerSubject } from "./broker.ts";
import { flawedSubject } from "./flawed.ts";
import { memorySubject } from "./memory_subject.ts";

for (const openers of ["many", "one"] as const) {
  const who = openers === "many" ? "for many" : "for one at a time";
  for (const { name, run } of journalCases(brokerSubject(openers))) {
    test(`on a broker ${who}: ${name}`, run);
  }
}

test("each case has a name of its own, and is listed for whoever can be put through it", () => {
  const names = (subject: JournalSubject): string[] =>
    journalCases(subject).map(({ name }) => name);
  const [many, one] = [names(brokerSubject("many")), names(brokerSubject("one"))];
  assertEquals([new Set(many).size, new Set(one).size], [many.length, one.length]);
  // What is said of several openers, and what is said of a single one.
  assertEquals(many.filter((name) => !one.includes(name)).length, 6);
  assertEquals(one.filter((name) => !many.includes(name)).length, 1);
  const without = names(memorySubject);
  assertEquals(many.filter((name) => !without.includes(name)), [
    "a store that an unknown version wrote is refused clearly, again and again",
    "a broker's restart keeps epoch and entries; appends and tails come through it whole",
    "a store that came back empty has another epoch, and a running tail is told",
    "the first append after a loss of the counter is not told the old epoch",
    "a store that was emptied while nobody had it open has another epoch",
    "an older copy that is put back is told to a running tail; a rotation makes it usable",
    "a purge keeps epoch and head; a tail at the head goes on, one behind is told of the gap",
  ]);
});

test("a subject that names what its stores cannot do is told so, case by case", async () => {
  const cases = journalCases({ ...memorySubject, hooks: ["purge", "restart"] });
  const needy = cases.filter(({ name }) => /^a purge|^a broker's restart/.test(name));
  assertEquals(needy.length, 2);
  for (const { run } of needy) await assertRejects(run, Error, "which its subject names");
});

test("a case that would never settle ends, and says so", async () => {
  const subject = flawedSubject(() => ({ append: () => new Promise(() => {}) }));
  const [, second] = journalCases({ ...subject, patienceMs: 10 });
  await assertRejects(
    second?.run ?? (() => Promise.resolve()),
    Error,
    "Expected the case to come to its end within",
  );
});

test("what goes wrong in a case comes before what goes wrong in clearing up after it", async () => {
  const subject = flawedSubject(() => ({
    append: () => Promise.reject(new RangeError("the append")),
    close: () => Promise.reject(new RangeError("the close")),
  }));
  const [first, second] = journalCases(subject);
  await assertRejects(second?.run ?? (() => Promise.resolve()), RangeError, "the append");
  await assertRejects(first?.run ?? (() => Promise.resolve()), RangeError, "the close");
});
