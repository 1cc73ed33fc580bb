import { assert, assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { type Batch, cutBatches } from "../../../src/client/digest_batches.ts";
import { test } from "../../support/test.ts";
import { EPOCH, many, snapshotOf } from "./digest_server.ts";

const MAX_BODY = 524_288;

const size = (batch: Batch): number => new TextEncoder().encode(batch.body).length;

test("256 and 257 subjects make one batch and two, and none makes an empty one", () => {
  const sizes = (count: number): number[] =>
    [...cutBatches(snapshotOf(many(count)), 256)].map(({ held }) => held.size);
  assertEquals(sizes(0), [0]);
  assertEquals(sizes(1), [1]);
  assertEquals(sizes(256), [256]);
  assertEquals(sizes(257), [256, 1]);
  assertEquals(sizes(1000), [256, 256, 256, 232]);
});

test("the batches say everything once, in order, within both bounds, and are no more than needed", () => {
  // Long ones, of characters whose bytes, escapes and length all differ.
  const ref = fc.tuple(fc.constantFrom("a", "é", "€", "😀", '"', "\\"), fc.boolean()).map(
    ([unit, long]) => unit.repeat(long ? 512 / new TextEncoder().encode(unit).length - 5 : 1),
  );
  const refs = fc.array(ref, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(refs, fc.integer({ min: 1, max: 1500 }), fc.integer({ min: 1, max: 1500 }), (
      pattern,
      count,
      maxSubjects,
    ) => {
      const subjects = Array.from({ length: count }, (_, i) => ({
        kind: "chat",
        ref: `${i}:${pattern[i % pattern.length]}`.slice(0, 512),
        version: '"'.repeat(64),
      })).filter(({ ref }) => ref.isWellFormed() && new TextEncoder().encode(ref).length <= 512);
      const batches = [...cutBatches({ epoch: EPOCH, subjects }, maxSubjects)];
      assertEquals(batches.flatMap(({ held }) => [...held.values()]), subjects);
      for (const [i, batch] of batches.entries()) {
        assertEquals(JSON.parse(batch.body), { epoch: EPOCH, subjects: [...batch.held.values()] });
        assertLessOrEqual(batch.held.size, maxSubjects);
        assertLessOrEqual(size(batch), MAX_BODY);
        const next = [...batches[i + 1]?.held.values() ?? []][0];
        if (next === undefined || batch.held.size === maxSubjects) continue;
        // The next one would not have fitted.
        const more = new TextEncoder().encode(JSON.stringify(next)).length;
        assertGreater(size(batch) + 1 + more, MAX_BODY);
      }
    }),
    { numRuns: 30 },
  );
});

test("bytes count, not characters", () => {
  const subjects = Array.from({ length: 1200 }, (_, i) => ({
    kind: "chat",
    ref: "€".repeat(169) + String(i).padStart(4, "0"),
    version: "1",
  }));
  const [first, second] = [...cutBatches({ epoch: EPOCH, subjects }, 1200)];
  assert(first !== undefined && second !== undefined);
  assertLessOrEqual(size(first), MAX_BODY);
  // In characters everything would have fitted into one.
  assertLessOrEqual(first.body.length + second.body.length, MAX_BODY);
});

test("a body of exactly 512 KiB is one batch, one of a byte more is two", () => {
  const some = Array.from({ length: 972 }, (_, i) => ({
    kind: "chat",
    ref: String(i).padStart(500, "x"),
    version: "1",
  }));
  const [batch] = cutBatches({ epoch: EPOCH, subjects: some }, 1000);
  assert(batch !== undefined && batch.held.size === 972);
  const missing = MAX_BODY - size(batch);
  const padded = (by: number): Batch[] => {
    const last = { kind: "chat", ref: "", version: "1" };
    const bare = JSON.stringify(last).length + 1;
    assert(missing > bare, "there is room for one more");
    return [...cutBatches({
      epoch: EPOCH,
      subjects: [...some, { ...last, ref: "y".repeat(missing - bare + by) }],
    }, 1000)];
  };
  assertEquals(padded(0).map(size), [MAX_BODY]);
  assertEquals(padded(1).map(({ held }) => held.size), [972, 1]);
});

test("a snapshot that changes while batches are made changes none of them", () => {
  const subjects = many(4).map(({ kind, ref, version }) => ({ kind, ref, version }));
  const batches: Batch[] = [];
  for (const batch of cutBatches({ epoch: EPOCH, subjects }, 2)) {
    batches.push(batch);
    for (const subject of subjects) subject.version = "changed";
    subjects.length = 0;
  }
  const held = batches.flatMap(({ held }) => [...held.values()]);
  assertEquals(held.map(({ ref, version }) => `${ref} ${version}`), [
    "c0 1",
    "c1 1",
    "c2 1",
    "c3 1",
  ]);
});
