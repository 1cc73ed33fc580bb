/**
 * A hub whose journal has become an older copy of itself, in the time before its tail has noticed.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import type { Journal, JournalQuery, JournalRange } from "../../src/journal/journal.ts";
import { createMemoryJournal } from "../../src/journal/memory.ts";
import { type Answer, Pod } from "../support/journal_pod.ts";
import { test } from "../support/test.ts";

const COPIED = 6;
const BEFORE = 10;
const RING = 2;

/** A journal that can be made to answer as it did when its head was {@linkcode COPIED}. */
function ageing(): { readonly journal: Journal; readonly reads: () => number; goBack(): void } {
  const whole = createMemoryJournal();
  let head = Infinity;
  let reads = 0;
  const within = <T extends JournalRange>(range: T): T => ({
    ...range,
    upTo: Math.min(range.upTo ?? Infinity, head),
  });
  const journal: Journal = {
    maxBytes: whole.maxBytes,
    append: (event) => whole.append(event),
    // It waits for what comes: nothing tells it yet.
    tail: (options) => whole.tail(options),
    rotate: (from) => whole.rotate(from),
    close: () => whole.close(),
    async window() {
      const window = await whole.window();
      return { ...window, head: Math.min(window.head, head) };
    },
    count: (range, enough) =>
      range.after >= head ? Promise.resolve(0) : whole.count(within(range), enough),
    async read(query: JournalQuery) {
      reads++;
      // As a store elsewhere does: a hub that asked without end would leave nobody else a turn.
      await new Promise((resolve) => setTimeout(resolve, 0));
      const page = await whole.read(within(query));
      const entries = page.entries.filter(({ offset }) => offset <= head);
      return { ...page, entries, head: Math.min(page.head, head) };
    },
  };
  return { journal, reads: () => reads, goBack: () => head = COPIED };
}

test(
  "a cursor that an older copy cannot judge is not judged: nobody is resumed over what is lost",
  async () => {
    const { journal, reads, goBack } = ageing();
    const pod = await Pod.start(
      () => Promise.resolve({ journal, close: () => journal.close() }),
      { replayEvents: RING, keepaliveMs: 100, writeTimeoutMs: 5000 },
    );
    try {
      for (let n = 1; n <= BEFORE; n++) assertEquals((await pod.publish(`event ${n}`)).status, 200);
      const before = await pod.askAll();
      assertEquals(verdictsOf(before), ["resumed"]);
      goBack();
      const asked = reads();
      // Whoever needs more than the ring is turned away: what follows on it is not there any more.
      const answers = await pod.askAll();
      for (const [cursor, { verdict, whole }] of answers) {
        const inRing = Number(cursor.slice(17)) >= BEFORE - RING;
        assertEquals([cursor, verdict === "resumed" && whole], [cursor, inRing]);
      }
      assert(answers.size > RING);
      // A page that leads nowhere is not asked for again and again.
      assertLess(reads() - asked, 3 * answers.size);
    } finally {
      await pod.stop();
    }
  },
  { timeoutMs: 20_000 },
);

function verdictsOf(answers: ReadonlyMap<string, Answer>): (string | null)[] {
  return [...new Set([...answers.values()].map(({ verdict }) => verdict))];
}
