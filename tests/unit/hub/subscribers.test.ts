import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Subscribers } from "../../../src/hub/subscribers.ts";
import { topicsSince } from "../../../src/hub/topics.ts";
import { test } from "../../support/test.ts";

interface Member {
  readonly n: number;
  readonly topics: Map<string, number> | null;
}

const TOPICS = ["a", "b", "c", "d"];
const member = (n: number, topics: readonly string[] | null): Member => ({
  n,
  topics: topicsSince(topics),
});

/** The rule itself, asked of each member. */
const listens = ({ topics }: Member, topic: string): boolean =>
  topics === null || topic === "" || topics.has(topic);

function reached(subscribers: Subscribers<Member>, topic: string): number[] {
  const found: number[] = [];
  subscribers.each(topic, ({ n }) => found.push(n));
  return found.sort((x, y) => x - y);
}

test("under any joining and leaving the index reaches exactly those that a filter finds, once", () => {
  const step = fc.oneof(
    fc.option(fc.subarray(TOPICS, { minLength: 1 }), { nil: null }).map((topics) => ({ topics })),
    fc.record({ leave: fc.nat({ max: 30 }) }),
    fc.record({ member: fc.nat({ max: 30 }), turn: fc.constantFrom(...TOPICS) }),
  );
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), (script) => {
    const subscribers = new Subscribers<Member>();
    const all: Member[] = [];
    let present: Member[] = [];
    for (const one of script) {
      if ("topics" in one) {
        const joined = member(all.length, one.topics);
        all.push(joined);
        present.push(joined);
        subscribers.add(joined);
      } else if ("turn" in one) {
        const turning = present[one.member];
        if (turning === undefined || turning.topics === null) continue;
        // What it listens to it leaves, what it does not it joins.
        if (turning.topics.delete(one.turn)) subscribers.leave(turning, one.turn);
        else {
          turning.topics.set(one.turn, 0);
          subscribers.join(turning, one.turn);
        }
      } else {
        const leaving = all[one.leave];
        if (leaving === undefined) continue;
        // One that has left already may leave again.
        subscribers.delete(leaving);
        present = present.filter((other) => other !== leaving);
      }
    }
    for (const topic of ["", ...TOPICS, "nobody's"]) {
      const expected = present.filter((one) => listens(one, topic)).map(({ n }) => n);
      assertEquals(reached(subscribers, topic), expected);
    }
    assertEquals(subscribers.size, present.length);
    assertEquals([...subscribers], present);
    const counts = subscribers.counts();
    for (const topic of TOPICS) {
      const count = present.filter(({ topics }) => topics?.has(topic)).length;
      assertEquals(counts.get(topic) ?? 0, count);
    }
    const everything = present.filter(({ topics }) => topics === null).length;
    assertEquals(counts.get("") ?? 0, everything);
    assert([...counts.values()].every((count) => count > 0), "no topic nobody listens to is kept");
  }));
});

test("members may leave while an event reaches them", () => {
  const subscribers = new Subscribers<Member>();
  const members = Array.from({ length: 10 }, (_, n) => member(n, n % 2 === 0 ? null : ["a"]));
  members.forEach((one) => subscribers.add(one));
  const seen: number[] = [];
  subscribers.each("a", (one) => {
    seen.push(one.n);
    subscribers.delete(one);
  });
  assertEquals(seen.sort((x, y) => x - y), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assertEquals([subscribers.size, reached(subscribers, "a")], [0, []]);
});

test("an event of one topic does not so much as look at the listeners of another", () => {
  const subscribers = new Subscribers<Member>();
  let looked = 0;
  for (let n = 0; n < 1000; n++) {
    subscribers.add({
      n,
      get topics(): Map<string, number> {
        looked++;
        return new Map([["quiet", 0]]);
      },
    });
  }
  subscribers.add(member(1000, ["loud"]));
  looked = 0;
  assertEquals(reached(subscribers, "loud"), [1000]);
  assertEquals(looked, 0);
});
