import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { EventLog } from "../../../src/hub/log.ts";
import { judgeByRing, scopeOf } from "../../../src/hub/judge.ts";
import { type HubSettings, readOptions } from "../../../src/hub/options.ts";
import { topicsSince } from "../../../src/hub/topics.ts";
import { type Holdings, judge, type Judgement } from "../../../src/hub/verdict.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { History } from "../../model/history.ts";
import { test } from "../../support/test.ts";

const EPOCH = "00c0ffee00c0ffee";
const OTHER = "ffffffffffffffff";

function holdings(held: Partial<Holdings>, missed = 0): Holdings {
  const count = (_offset: number, enough: number): number => Math.min(missed, enough);
  return { epoch: EPOCH, head: 100, evicted: 40, budget: 10, count, ...held };
}
/** A log, and what it says of a cursor. */
function courtOf(settings: HubSettings): {
  readonly log: EventLog;
  judged(offset: number, topics: readonly string[] | null): Judgement;
} {
  const log = new EventLog(settings);
  return {
    log,
    judged: (offset, topics) =>
      judgeByRing(
        { log, settings },
        log.cursor(offset),
        scopeOf(log, topicsSince(topics), { owed: 0 }),
      ),
  };
}
const verdict = (presented: string, held: Holdings = holdings({})): string =>
  judge(presented, held).verdict;

test("each verdict has its case", () => {
  assertEquals(verdict(""), "fresh");
  assertEquals(verdict("42"), "cursor_invalid");
  assertEquals(verdict(`${OTHER}:50`), "epoch_changed");
  assertEquals(verdict(`${EPOCH}:101`), "gap_ahead");
  assertEquals(verdict(`${EPOCH}:39`), "gap_floor");
  assertEquals(verdict(`${EPOCH}:50`, holdings({}, 11)), "gap_budget");
  assertEquals(verdict(`${EPOCH}:50`, holdings({}, 10)), "resumed");
});

test("the first rule that holds is the verdict: the order is the wire's", () => {
  const nothing = holdings({ head: 0, evicted: 100, budget: 0 }, 5);
  assertEquals(verdict("", nothing), "fresh");
  assertEquals(verdict("x", nothing), "cursor_invalid");
  assertEquals(verdict(`${OTHER}:1`, nothing), "epoch_changed");
  assertEquals(verdict(`${EPOCH}:1`, nothing), "gap_ahead");
  assertEquals(verdict(`${EPOCH}:1`, holdings({ budget: 0 }, 5)), "gap_floor");
});

test("the borders: at the head, at the newest evicted frame, at the budget", () => {
  assertEquals(verdict(`${EPOCH}:100`), "resumed");
  assertEquals(verdict(`${EPOCH}:40`), "resumed");
  assertEquals(verdict(`${EPOCH}:0`, holdings({ evicted: 0 })), "resumed");
  assertEquals(verdict(`${EPOCH}:0`, holdings({ head: 0, evicted: 0, budget: 0 })), "resumed");
  assertEquals(verdict(`${EPOCH}:50`, holdings({ budget: 0 }, 1)), "gap_budget");
});

test("only one that resumed starts at its cursor, every other at the head", () => {
  assertEquals(judge(`${EPOCH}:50`, holdings({}, 3)), {
    verdict: "resumed",
    position: 50,
    missed: 3,
  });
  const cursors = ["", "x", `${OTHER}:5`, `${EPOCH}:101`, `${EPOCH}:1`];
  for (const presented of cursors) {
    const { position, missed } = judge(presented, holdings({}, 3));
    assertEquals([position, missed], [100, 0]);
  }
});

test("a judgement counts no further than the budget needs", () => {
  const asked: [number, number][] = [];
  const count = (offset: number, enough: number): number => (asked.push([offset, enough]), 0);
  judge(`${EPOCH}:50`, holdings({ count }));
  assertEquals(asked, [[50, 11]]);
  for (const presented of ["", "x", `${OTHER}:5`, `${EPOCH}:101`, `${EPOCH}:1`]) {
    judge(presented, holdings({ count }));
  }
  assertEquals(asked.length, 1, "where nothing is replayed nothing is counted");
});

const TOPICS = ["", "a", "b", "c"];
const topicSets = fc.option(fc.subarray(TOPICS.slice(1), { minLength: 1 }), { nil: null });
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ topic: fc.constantFrom(...TOPICS), length: fc.nat({ max: 60 }) }),
    },
    { weight: 2, arbitrary: fc.record({ waitMs: fc.integer({ min: 1, max: 40_000 }) }) },
  ),
  { maxLength: 40 },
);
const bounds = fc.record({
  maxEvents: fc.nat({ max: 10 }),
  maxBytes: fc.integer({ min: 100, max: 700 }),
  ttlMs: fc.constantFrom(45_000, 75_000, Infinity),
  replyMaxEvents: fc.nat({ max: 6 }),
});

test("resumed is said exactly when every frame that was missed is held and fits one reply", () => {
  let resumed = 0;
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      bounds,
      steps,
      fc.array(fc.tuple(fc.nat({ max: 42 }), topicSets), { minLength: 1, maxLength: 20 }),
      (limits, script, questions) => {
        const clock = new FakeClock();
        const { log, judged } = courtOf({ ...readOptions({}), ...limits, clock });
        const history = new History(log.epoch, limits);
        for (const step of script) {
          if ("waitMs" in step) {
            clock.advance(step.waitMs);
            continue;
          }
          const data = "x".repeat(step.length);
          const frame = log.append({ topic: step.topic, data });
          const size = { bytes: frame.bytes.length, born: clock.monotonic() };
          const published = history.publish({ topic: step.topic, name: "", data, ...size });
          assertEquals(frame.offset, published.offset);
        }
        history.evict(clock.monotonic());
        assertEquals(log.position(), {
          epoch: history.epoch,
          floor: history.held[0]?.offset ?? 0,
          head: history.head,
        });
        for (const [offset, topics] of questions) {
          const judgement = judged(offset, topics);
          assertEquals(judgement.verdict, history.verdict(log.cursor(offset), topics));
          seen.add(judgement.verdict);
          if (judgement.verdict !== "resumed") continue;
          resumed++;
          // And what follows the hello is exactly what was missed.
          assertEquals(
            [...log.matching(offset, topicsSince(topics))].map((frame) => frame.offset),
            history.matching(offset, history.head, topics).map((event) => event.offset),
          );
          assertEquals(judgement.missed, history.matching(offset, history.head, topics).length);
        }
      },
    ),
    { numRuns: 500 },
  );
  assert(resumed > 100, "the property was not vacuous");
  assertEquals([...seen].sort(), ["gap_ahead", "gap_budget", "gap_floor", "resumed"]);
});

test("a client of a quiet topic is resumed from far below the ring's floor", () => {
  const clock = new FakeClock();
  const settings = { ...readOptions({}), maxEvents: 5, replyMaxEvents: 5, clock };
  const { log, judged } = courtOf(settings);
  log.append({ topic: "quiet", data: "1" });
  for (let i = 0; i < 1000; i++) log.append({ topic: "loud", data: "x" });
  assertEquals(log.position().floor, 997);
  assertEquals(judged(1, ["quiet"]).verdict, "resumed");
  assertEquals(judged(0, ["quiet"]).verdict, "gap_floor");
  assertEquals(judged(1, ["loud"]).verdict, "gap_floor");
  assertEquals(judged(1, ["quiet", "loud"]).verdict, "gap_floor");
  assertEquals(judged(1, null).verdict, "gap_floor");
});

test("the budget counts only frames that the connection would receive", () => {
  const { log, judged } = courtOf({ ...readOptions({}), maxEvents: 100, replyMaxEvents: 2 });
  for (let i = 0; i < 50; i++) {
    log.append({ topic: i % 25 === 0 ? "rare" : "often", data: "x" });
  }
  assertEquals(judged(0, ["rare"]), { verdict: "resumed", position: 0, missed: 2 });
  assertEquals(judged(0, ["often"]).verdict, "gap_budget");
});
