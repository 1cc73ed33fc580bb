import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JournalEvent, JournalWindow } from "../../../src/journal/journal.ts";
import type { RetentionOptions } from "../../../src/journal/retention.ts";
import { startTrimming } from "../../../src/journal/sqlite/trimming.ts";
import { test } from "../../support/test.ts";
import { dataOf, eventOf, faultOf, fileTest, watched } from "./sqlite_world.ts";

const HOUR_MS = 3_600_000;

fileTest(
  "a quiet journal drops what is too old in the instant in which it is read",
  async (world) => {
    let now = 1_000_000;
    const journal = await world.open(world.connect(), {
      retention: { maxAgeMs: HOUR_MS },
      now: () => now,
    });
    for (let n = 0; n < 5; n++) await journal.append(eventOf(`${n}`, { at: now + n * 1000 }));
    const seen = async (at: number): Promise<readonly [floor: number, entries: number]> => {
      now = at;
      const { floor, entries } = await journal.read({ after: 0, topics: null, limit: 10 });
      assertEquals(await journal.count({ after: 0, topics: null }, 10), entries.length);
      assertEquals(await journal.count({ after: 0, topics: [""] }, 10), entries.length);
      assertEquals((await journal.window()).floor, floor);
      return [floor, entries.length];
    };
    assertEquals(await seen(1_000_000 + HOUR_MS), [1, 5]);
    assertEquals(await seen(1_000_001 + HOUR_MS), [2, 4]);
    assertEquals(await seen(1_002_500 + HOUR_MS), [4, 2]);
    // A clock that was set back brings nothing back.
    assertEquals(await seen(1_000_000), [4, 2]);
    assertEquals(await seen(1_004_001 + HOUR_MS), [6, 0]);
    assertEquals((await journal.append(eventOf("next", { at: now }))).offset, 6);
    assertEquals(await seen(now), [6, 1]);
  },
);

fileTest(
  "the floor that was told holds after the file was opened with wider bounds",
  async (world) => {
    const database = world.connect();
    let now = 0;
    const first = await world.open(database, { retention: { maxAgeMs: 1000 }, now: () => now });
    for (let n = 0; n < 5; n++) await first.append(eventOf(`${n}`, { at: n }));
    now = 1003;
    assertEquals((await first.window()).floor, 4);
    await first.close();
    const second = await world.open(database, { retention: { maxAgeMs: 0 }, now: () => now });
    assertEquals((await second.window()).floor, 4);
  },
);

fileTest(
  "rows leave the file in small steps, and with each append more than came",
  async (world) => {
    const database = world.connect();
    const rows = (): unknown =>
      (database.prepare("SELECT count(*) AS n FROM tidemark_entries").all()[0] as { n: number }).n;
    const first = await world.open(database, { retention: { maxAgeMs: 0 } });
    await Promise.all(Array.from({ length: 1000 }, (_, n) => first.append(eventOf(`${n}`))));
    await first.close();
    const second = await world.open(database, { retention: { maxAgeMs: 0, maxEntries: 800 } });
    assertEquals((await second.window()).floor, 201);
    assertEquals(rows(), 1000);
    await second.append(eventOf("one"));
    assertEquals(rows(), 1000 + 1 - 64);
    for (let n = 0; n < 3; n++) await second.append(eventOf(`${n}`));
    assertEquals(rows(), 800);
    assertEquals((await second.window()).floor, 205);
  },
);

fileTest("a turn that is not stored moves no floor", async (world) => {
  let full = false;
  const database = watched(world.connect(), (sql) => {
    if (full && sql === "COMMIT") throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
  });
  const journal = await world.open(database, { retention: { maxEntries: 10 } });
  await Promise.all(Array.from({ length: 10 }, (_, n) => journal.append(eventOf(`${n}`))));
  full = true;
  const turn = Array.from({ length: 8 }, (_, n) => journal.append(eventOf(`lost ${n}`)));
  assertEquals(await Promise.all(turn.map(faultOf)), turn.map(() => "full"));
  full = false;
  const { floor, head } = await journal.window();
  assertEquals([floor, head, (await dataOf(journal)).length], [1, 10, 10]);
});

fileTest("an event above the bound of all bytes is refused as too large", async (world) => {
  const journal = await world.open(world.connect(), { retention: { maxBytes: 100 } });
  assertEquals(journal.maxBytes, 100);
  await journal.append(eventOf("é".repeat(50)));
  assertEquals((await journal.window()).floor, 1);
  const error = await journal.append(eventOf("é".repeat(50), { name: "x" })).catch(String);
  assertEquals(
    error,
    "JournalError: Cannot use the journal: the event has 101 bytes, it may have 100",
  );
});

/** The floor as its words have it: the oldest leave until every bound holds. */
function naiveFloor(
  events: readonly JournalEvent[],
  { maxEntries = 0, maxAgeMs = 0, maxBytes = 0 }: RetentionOptions,
  now: number,
): number {
  let latest = -Infinity;
  const times = events.map(({ at }) => latest = Math.max(latest, at));
  const sizes = events.map(({ data }) => new TextEncoder().encode(data).length);
  const held = (from: number): boolean =>
    (maxEntries === 0 || events.length - from <= maxEntries) &&
    (maxAgeMs === 0 || now - (times[from] ?? now) <= maxAgeMs) &&
    (maxBytes === 0 || sizes.slice(from).reduce((sum, size) => sum + size, 0) <= maxBytes);
  let from = 0;
  while (from < events.length && !held(from)) from++;
  return from + 1;
}

fileTest(
  "whatever is appended at whatever time, the floor is exactly what the bounds say",
  async (world) => {
    let files = 0;
    const event = fc.record({
      at: fc.integer({ min: 0, max: 100 }),
      data: fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.toWellFormed()),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(event, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 10 }),
        fc.record({
          maxEntries: fc.integer({ min: 0, max: 30 }),
          maxAgeMs: fc.integer({ min: 0, max: 100 }),
          maxBytes: fc.oneof(fc.constant(0), fc.integer({ min: 100, max: 400 })),
        }),
        async (turns, retention) => {
          let now = 1000;
          const database = world.connect(`${files++}.db`);
          const options = { retention, synchronous: "normal", now: () => now } as const;
          let journal = await world.open(database, options);
          const events: JournalEvent[] = [];
          let floor = 1;
          for (const [index, turn] of turns.entries()) {
            now += 20;
            const added = turn.map(({ at, data }) => eventOf(data, { at: now - at }));
            events.push(...added);
            await Promise.all(added.map((each) => journal.append(each)));
            if (index % 3 === 2) {
              await journal.close();
              journal = await world.open(database, options);
            }
            const window: JournalWindow = await journal.window();
            floor = Math.max(floor, naiveFloor(events, retention, now));
            assertEquals([window.floor, window.head], [floor, events.length]);
          }
          await journal.close();
        },
      ),
      { numRuns: 40 },
    );
  },
);

test("the timer goes on after a failure, comes soon when there is more, and stops", () => {
  const steps: number[] = [];
  const answers = [(): boolean => true, (): boolean => {
    throw new Error("the disk is full");
  }];
  const timers: { readonly ms: number; readonly callback: () => void }[] = [];
  const { setTimeout, clearTimeout } = globalThis;
  let cleared = 0;
  try {
    globalThis.setTimeout = Object.assign((callback: () => void, ms: number) => {
      timers.push({ ms, callback });
      return {} as ReturnType<typeof setTimeout>;
    }, setTimeout);
    globalThis.clearTimeout = (): void => void cleared++;
    const stop = startTrimming((rows) => {
      steps.push(rows);
      return answers.shift()?.() ?? false;
    });
    for (let n = 0; n < 3; n++) timers[n]?.callback();
    stop();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
  assertEquals(steps, [512, 512, 512]);
  assertEquals(timers.map(({ ms }) => ms), [5000, 20, 5000, 5000]);
  assertEquals(cleared, 1);
});
