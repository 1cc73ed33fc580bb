import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { createHub } from "../../../mod.ts";
import type { Subject } from "../../../src/client/types.ts";
import { createVersionMap, type VersionMap } from "../../../src/client/versions.ts";
import { type MapCall, VersionModel } from "../../model/version_model.ts";
import { test } from "../../support/test.ts";

const A = "00c0ffee00c0ffee";
const B = "0123456789abcdef";
const chat: Subject = { kind: "chat", ref: "c1" };

/** Subjects of which a key put together carelessly would make one. */
const SUBJECTS: readonly Subject[] = [
  { kind: "a", ref: "" },
  { kind: "a", ref: "b" },
  { kind: "a", ref: "b:c" },
  { kind: "a", ref: ":b" },
  { kind: "a", ref: "1b" },
  { kind: "a1", ref: "b" },
  { kind: "a_", ref: "b" },
  { kind: "a", ref: "_b" },
  { kind: "a", ref: "b c" },
  { kind: "a", ref: '","b' },
  { kind: "a", ref: "é" },
  { kind: "a", ref: "e\u0301" },
  { kind: "constructor", ref: "__proto__" },
];

test("a map does what a plain list does, whatever is called in whatever order", () => {
  const subject = fc.constantFrom(...SUBJECTS);
  const step: fc.Arbitrary<MapCall> = fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({ call: fc.constant("bind"), epoch: fc.constantFrom(A, B) }),
    },
    { weight: 3, arbitrary: fc.record({ call: fc.constantFrom("forget", "has"), subject }) },
    {
      weight: 8,
      arbitrary: fc.record({
        call: fc.constant("observe"),
        subject,
        version: fc.constantFrom("1", "2", "~"),
        epoch: fc.constantFrom(undefined, A, A, B),
      }),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = createVersionMap();
      const model = new VersionModel();
      const stale: unknown[] = [];
      map.onStale((subject, epoch) => stale.push([subject, epoch]));
      for (const one of steps) {
        assertEquals(apply(map, one), model.apply(one));
        const expected = model.snapshot();
        assertEquals(map.snapshot(), expected);
        assertEquals([map.size, map.epoch], [expected.subjects.length, expected.epoch]);
      }
      assertEquals(stale, [...model.stale]);
    }),
    { numRuns: 300 },
  );
});

function apply(map: VersionMap, step: MapCall): boolean | void {
  switch (step.call) {
    case "bind":
      return map.bind(step.epoch);
    case "observe":
      return map.observe(step.subject, step.version, step.epoch);
    default:
      return map[step.call](step.subject);
  }
}

test("no two subjects share a place", () => {
  const ref = fc.string({ unit: fc.constantFrom("a", "b", "_", "1", ":", ",", '"', "\\", " ") });
  const kind = fc.stringMatching(/^[ab][ab1_]{0,3}$/);
  fc.assert(
    fc.property(fc.array(fc.record({ kind, ref }), { maxLength: 30 }), (subjects) => {
      const map = createVersionMap();
      for (const subject of subjects) map.observe(subject, "1");
      const distinct = subjects.filter(({ kind, ref }, i) =>
        subjects.findIndex((other) => other.kind === kind && other.ref === ref) === i
      );
      assertEquals(map.snapshot().subjects, distinct.map((one) => ({ ...one, version: "1" })));
    }),
  );
});

test("a new map is bound to no epoch, and the first one clears what came before it", () => {
  const map = createVersionMap();
  assertEquals([map.epoch, map.size], ["", 0]);
  assertEquals(map.bind(A), false);
  const early = createVersionMap();
  assert(early.observe(chat, "1"));
  assert(early.observe({ kind: "chat", ref: "c2" }, "1", B));
  assertEquals(early.snapshot().epoch, "");
  assertEquals([early.bind(A), early.size, early.has(chat)], [true, 0, false]);
});

test("the same epoch again clears nothing, another one clears and says whether there was anything", () => {
  const map = createVersionMap();
  map.bind(A);
  map.observe(chat, "1", A);
  assertEquals([map.bind(A), map.size], [false, 1]);
  assertEquals([map.bind(B), map.size, map.epoch], [true, 0, B]);
  assertEquals(map.bind(A), false);
});

test("a snapshot stays as it was, and is the caller's own", () => {
  const map = createVersionMap();
  map.bind(A);
  map.observe(chat, "1");
  const before = map.snapshot();
  map.observe(chat, "2");
  map.observe({ kind: "chat", ref: "c2" }, "1");
  assertEquals(before, { epoch: A, subjects: [{ ...chat, version: "1" }] });
  (before.subjects as unknown[]).length = 0;
  assertEquals(map.snapshot().subjects.length, 2);
});

test("everybody who listens is told of a stale stamp, until they stop, each for itself", () => {
  const map = createVersionMap();
  map.bind(A);
  const told: string[] = [];
  const twice = (subject: Subject, epoch: string): void => {
    told.push(`twice ${subject.ref} ${epoch}`);
  };
  const stop = map.onStale(twice);
  map.onStale(twice);
  const once = map.onStale(() => {
    once();
    told.push("once");
  });
  map.onStale(() => told.push("last"));
  assertEquals(map.observe(chat, "1", B), false);
  const one = `twice c1 ${B}`;
  assertEquals(told.splice(0), [one, one, "once", "last"]);
  stop();
  stop();
  map.observe(chat, "1", B);
  assertEquals(told.splice(0), [one, "last"]);
  assertEquals([map.observe(chat, "1", A), told], [true, []]);
});

test("a listener that throws is reported to the platform, and disturbs nobody", () => {
  const reported: unknown[] = [];
  const trouble = new Error("on purpose");
  const own = Object.getOwnPropertyDescriptor(globalThis, "reportError");
  Object.defineProperty(globalThis, "reportError", {
    configurable: true,
    value: (error: unknown) => reported.push(error),
  });
  try {
    const map = createVersionMap();
    map.bind(A);
    const told: string[] = [];
    map.onStale(() => {
      throw trouble;
    });
    map.onStale(() => told.push("second"));
    assertEquals(map.observe(chat, "1", B), false);
    assertEquals([told, reported], [["second"], [trouble]]);
  } finally {
    if (own === undefined) Reflect.deleteProperty(globalThis, "reportError");
    else Object.defineProperty(globalThis, "reportError", own);
  }
});

test("what is outside the grammar is refused by name and bound, and changes nothing", () => {
  const map = createVersionMap();
  map.bind(A);
  map.observe(chat, "1");
  const before = map.snapshot();
  const subjects: readonly (readonly [unknown, string])[] = [
    [{ ...chat, kind: "" }, "kind is not 1 to 32 bytes of [a-z][a-z0-9_]*"],
    [{ ...chat, kind: "k".repeat(33) }, "kind is not 1 to 32"],
    [{ ...chat, kind: "Chat" }, "kind is not"],
    [{ ...chat, kind: "a:b" }, "kind is not"],
    [{ ref: "c1" }, "kind is not"],
    [{ ...chat, ref: "x".repeat(513) }, "ref is not a text of at most 512 bytes"],
    [{ ...chat, ref: "é".repeat(257) }, "ref is not a text of at most 512 bytes"],
    [{ kind: "chat", ref: 7 }, "ref is not a text"],
    [{ ...chat, ref: "a\nb" }, "ref holds a control, line-separator or bidi character"],
    [{ ...chat, ref: "\u2028" }, "ref holds a control"],
    [{ ...chat, ref: "\u202e" }, "ref holds a control"],
    [{ ...chat, ref: "a\ud800" }, "ref holds a lone surrogate"],
  ];
  for (const [subject, rule] of subjects) {
    const bad = subject as Subject;
    for (const call of [() => map.observe(bad, "1"), () => map.forget(bad), () => map.has(bad)]) {
      assertStringIncludes(assertThrows(call, TypeError).message, rule);
    }
  }
  for (const version of ["", "~".repeat(65), "é", "a\n", "\u007f", 1, null, undefined]) {
    const error = assertThrows(() => map.observe(chat, version as string), TypeError);
    assertStringIncludes(error.message, "version is not 1 to 64 bytes of printable ASCII");
  }
  for (const epoch of ["", "x", A.toUpperCase(), `${A}0`, 1234567890123456, null]) {
    for (
      const call of [() => map.bind(epoch as string), () => map.observe(chat, "2", epoch as string)]
    ) {
      const error = assertThrows(call, TypeError);
      assertStringIncludes(error.message, "epoch: it is not 16 lowercase hex characters");
    }
  }
  assertEquals(map.snapshot(), before);
});

test("a map takes exactly what a hub does, but for a lone surrogate", async () => {
  const hub = createHub();
  const handler = hub.digestHandler((held) => held.map((one) => ({ ...one, status: "" })));
  const unit = fc.constantFrom(
    "a",
    "_",
    "9",
    "A",
    " ",
    '"',
    "\\",
    "é",
    "€",
    "😀",
    "\t",
    "\u2069",
    "\ud800",
  );
  const near = (bound: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.string({ unit, maxLength: 4 }),
      fc.tuple(fc.string({ unit, maxLength: 2 }), unit, fc.integer({ min: 0, max: bound + 2 }))
        .map(([head, one, times]) => head + one.repeat(times)),
      fc.integer({ min: bound - 2, max: bound + 2 }).map((times) => "a".repeat(times)),
    );
  // Two of three are good most of the time: else nearly nothing would be taken.
  const or = (good: string, bad: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.oneof({ weight: 2, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: bad });
  const seen = { taken: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      or("chat", near(32)),
      or("c1", near(512)),
      or("7", near(64)),
      async (kind, ref, version) => {
        const map = createVersionMap();
        map.bind(hub.position().epoch);
        let taken = true;
        try {
          map.observe({ kind, ref }, version);
        } catch (error) {
          assert(error instanceof TypeError);
          taken = false;
        }
        const request = new Request("http://localhost/digest", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ epoch: map.epoch, subjects: [{ kind, ref, version }] }),
        });
        const response = await handler(request);
        await response.body?.cancel();
        assertEquals(taken, response.status === 200 && ref.isWellFormed());
        seen[taken ? "taken" : "refused"]++;
      },
    ),
    { numRuns: 400 },
  );
  assert(seen.taken > 50 && seen.refused > 50, JSON.stringify(seen));
  await hub.shutdown();
});
