/** The parts of the page that need no browser: its parser and its books. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Ledger } from "../../examples/demo/page/ledger.js";
import { Parser } from "../../examples/demo/page/parser.js";
import { Parser as LibraryParser } from "../../src/wire/parser.ts";
import { test } from "../support/test.ts";

const EPOCH = "00c0ffee00c0ffee";
const TOPICS = ["a", "b"];

test("the page's parser reads every stream as the library's does, however it is cut", () => {
  const pieces = fc.constantFrom(
    "\r",
    "\n",
    "\r\n",
    ":",
    "data",
    "data: x",
    "id: 00c0ffee00c0ffee:7",
    "id",
    "event: e",
    "retry: 12",
    "retry: 1x",
    "é🌊",
    "\0",
    " ",
    "\ufeff",
  );
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
      (parts, cuts) => {
        const bytes = new TextEncoder().encode(parts.join(""));
        assertEquals(reportsOf(Parser, bytes, cuts), reportsOf(LibraryParser, bytes, cuts));
      },
    ),
    { numRuns: 500 },
  );
});

type AnyParser = new (handlers: {
  onEvent(event: { name: string; data: string; id: string | null }): void;
  onId(id: string): void;
  onRetry(ms: number): void;
}) => { feed(bytes: Uint8Array): void };

function reportsOf(Kind: AnyParser, bytes: Uint8Array, cuts: readonly number[]): unknown[] {
  const reports: unknown[] = [];
  const parser = new Kind({
    onEvent: (event) => reports.push(event),
    onId: (id) => reports.push(id),
    onRetry: (ms) => reports.push(ms),
  });
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const end = at + (cuts[i % cuts.length] ?? 1);
    parser.feed(bytes.slice(at, end));
    at = end;
  }
  return reports;
}

/** What becomes of one published event, and whether the server then says what its counters are. */
const step = fc.record({
  topic: fc.constantFrom(...TOPICS),
  fate: fc.constantFrom("live", "replayed", "lost", "twice"),
  claim: fc.boolean(),
});

test("published is exactly received plus missed, whatever is lost, replayed or doubled", () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const ledger = new Ledger(TOPICS);
    const published: Record<string, number> = { a: 0, b: 0 };
    const model = { published: 0, received: 0, missed: 0, replayed: 0, twice: 0 };
    const cursor = () => `${EPOCH}:${model.published}`;
    const claim = () => ledger.note({ run: "r", cursor: cursor(), published: { ...published } });
    claim();
    ledger.settle(cursor());
    for (const { topic, fate, claim: claims } of steps) {
      const n = published[topic] = (published[topic] ?? 0) + 1;
      model.published++;
      if (fate === "lost") {
        model.missed++;
      } else {
        model.received++;
        if (fate === "replayed") model.replayed++;
        ledger.receive(topic, { run: "r", n }, fate === "replayed");
        ledger.settle(cursor());
        if (fate === "twice") {
          model.twice++;
          ledger.receive(topic, { run: "r", n }, false);
        }
      }
      // It is settled by a later cursor, or by the end.
      if (claims) claim();
    }
    claim();
    ledger.settle(cursor());
    assertEquals(ledger.totals(), model);
  }));
});

test("a claim waits until the cursor has reached it: the events may still come", () => {
  const ledger = new Ledger(["a"]);
  ledger.receive("a", { run: "r", n: 5 }, false);
  ledger.note({ run: "r", cursor: `${EPOCH}:9`, published: { a: 7 } });
  assertEquals(ledger.settle(`${EPOCH}:8`), null);
  ledger.receive("a", { run: "r", n: 6 }, false);
  assertEquals(ledger.settle(`${EPOCH}:9`), [{ topic: "a", missed: 1 }]);
  assertEquals(ledger.totals(), { published: 3, received: 2, missed: 1, replayed: 0, twice: 0 });
});

test("a claim of another epoch is not settled by this one's cursor", () => {
  const ledger = new Ledger(["a"]);
  ledger.receive("a", { run: "r", n: 1 }, false);
  ledger.note({ run: "r", cursor: `${EPOCH}:2`, published: { a: 4 } });
  assertEquals(ledger.settle("ffffffffffffffff:900"), null);
  assertEquals(ledger.totals().missed, 0);
});

test("another life of the server counts from one: what it published before us is missed", () => {
  const ledger = new Ledger(["a"]);
  ledger.receive("a", { run: "r", n: 40 }, false);
  assertEquals(ledger.receive("a", { run: "s", n: 3 }, false), { missed: 2, twice: false });
  assertEquals(ledger.totals(), { published: 4, received: 2, missed: 2, replayed: 0, twice: 0 });
});
