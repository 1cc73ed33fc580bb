/** The parts of the page that need no browser: its books, and what it remembers of the past. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Chart } from "../../examples/demo/page/chart.js";
import { Ledger } from "../../examples/demo/page/ledger.js";
import { Strip } from "../../examples/demo/page/strip.js";
import { test } from "../support/test.ts";

const EPOCH = "00c0ffee00c0ffee";
const TOPICS = ["a", "b"];

/**
 * What becomes of one published event, whether the server then says what its counters are, and whether
 * the page is then loaded anew, with its books.
 */
const step = fc.record({
  topic: fc.constantFrom(...TOPICS),
  fate: fc.constantFrom("live", "replayed", "lost", "twice"),
  claim: fc.boolean(),
  reload: fc.boolean(),
});

test("published is exactly received plus missed, whatever is lost, doubled or loaded anew", () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    let ledger = new Ledger(TOPICS);
    const published: Record<string, number> = { a: 0, b: 0 };
    const model = { published: 0, received: 0, missed: 0, replayed: 0, twice: 0 };
    const cursor = () => `${EPOCH}:${model.published}`;
    const claim = () => ledger.note({ run: "r", cursor: cursor(), published: { ...published } });
    claim();
    ledger.settle(cursor());
    for (const { topic, fate, claim: claims, reload } of steps) {
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
      if (reload) {
        const kept = JSON.stringify(Object.fromEntries(ledger.rows));
        ledger = new Ledger(TOPICS, JSON.parse(kept));
      }
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

test("a chart and the band of states forget what is long past", () => {
  const nowhere = {} as HTMLCanvasElement;
  const chart = new Chart(nowhere, { kind: "line", floor: 1, tick: String });
  const strip = new Strip(nowhere, nowhere);
  for (let at = 1; at <= 10_000; at++) {
    chart.push({ at, value: at, missed: 0, replayed: false });
    strip.mark();
    strip.enter(at % 2 === 0 ? "open" : "backoff");
  }
  assertEquals([chart.points.length, chart.points.at(-1)?.at], [400, 10_000]);
  assertEquals([strip.marks.length, strip.states.length], [1000, 1000]);
  assertEquals(strip.states.at(-1)?.state, "open");
  strip.enter("open");
  assertEquals(strip.states.length, 1000, "a state that goes on is no other one");
});
