import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Origins } from "../../../src/cluster/relay/origins.ts";
import type { Message, Stamp } from "../../../src/relay/envelope.ts";
import { test } from "../../support/test.ts";

const BEAT_MS = 5000;
const A1 = "a".repeat(16);
const A2 = "b".repeat(16);
const event = (ephemeral = false): Message => ({
  ...{ kind: "event", topic: "", name: "", ephemeral, body: new Uint8Array() },
});
const MESSAGES: Record<string, Message> = {
  event: event(),
  flash: event(true),
  beat: { kind: "beat", beatMs: BEAT_MS },
  rare: { kind: "beat", beatMs: 4 * BEAT_MS },
  join: { kind: "join", beatMs: BEAT_MS },
  leave: { kind: "leave" },
};

interface Step {
  readonly say: keyof typeof MESSAGES;
  readonly seq: number;
  readonly n: number;
  readonly boot?: string;
  readonly origin?: string;
  readonly young?: boolean;
}

/** Plays a table: a step is an envelope, a number so many intervals that pass. */
function play(steps: readonly (Step | number)[]): { story: string[]; origins: Origins } {
  const origins = new Origins(BEAT_MS);
  const story = steps.map((step) => {
    if (typeof step === "number") {
      let lost = false;
      for (let i = 0; i < step; i++) lost = origins.pass(BEAT_MS) || lost;
      return lost ? "lost" : "-";
    }
    const { say, seq, n, boot = A1, origin = "a", young = false } = step;
    const stamp: Stamp = { origin, boot, seq, n };
    const message = MESSAGES[say];
    if (message === undefined) throw new Error(`There is no message ${say}`);
    const { outcome, lost, twin } = origins.hear(stamp, message, { at: 1000 + seq, young });
    return [outcome, ...(lost ? ["lost"] : []), ...(twin ? ["twin"] : [])].join(" ");
  });
  return { story, origins };
}

const TABLE: readonly (readonly [string, readonly (Step | number)[], readonly string[]])[] = [
  [
    "an unbroken count is no loss",
    [
      { say: "join", seq: 1, n: 0 },
      { say: "event", seq: 2, n: 1 },
      { say: "flash", seq: 3, n: 1 },
      { say: "beat", seq: 4, n: 1 },
      { say: "event", seq: 5, n: 2 },
    ],
    ["taken", "taken", "taken", "taken", "taken"],
  ],
  [
    "a missing durable event is a loss, seen by the next event, beat, ephemeral event or goodbye",
    [
      { say: "join", seq: 1, n: 0 },
      { say: "event", seq: 3, n: 2 },
      { say: "beat", seq: 5, n: 3 },
      { say: "flash", seq: 7, n: 4 },
      { say: "leave", seq: 9, n: 5 },
    ],
    ["taken", "taken lost", "taken lost", "taken lost", "taken lost"],
  ],
  [
    "a missing beat or ephemeral event is none",
    [{ say: "join", seq: 1, n: 0 }, { say: "event", seq: 9, n: 1 }],
    ["taken", "taken"],
  ],
  [
    "what comes twice, or after its successor, is dropped",
    [
      { say: "event", seq: 1, n: 1 },
      { say: "event", seq: 1, n: 1 },
      { say: "event", seq: 3, n: 3 },
      { say: "event", seq: 2, n: 2 },
      { say: "flash", seq: 4, n: 3 },
      { say: "flash", seq: 4, n: 3 },
    ],
    ["taken", "repeated", "taken lost", "repeated", "taken", "repeated"],
  ],
  [
    "a count that goes back is nobody's",
    [{ say: "event", seq: 1, n: 1 }, { say: "event", seq: 2, n: 1 }, { say: "beat", seq: 3, n: 0 }],
    ["taken", "repeated", "repeated"],
  ],
  [
    "a boot under another name is nobody's",
    [{ say: "join", seq: 1, n: 0 }, { say: "event", seq: 2, n: 1, origin: "b" }],
    ["taken", "repeated"],
  ],
  [
    "who is first heard with its first event has lost nothing",
    [{ say: "event", seq: 1, n: 1 }],
    ["taken"],
  ],
  [
    "who is first heard after it has counted has lost something",
    [{ say: "event", seq: 7, n: 2 }, { say: "event", seq: 8, n: 3 }],
    ["taken lost", "taken"],
  ],
  [
    "unless this pod has only begun to listen",
    [{ say: "beat", seq: 7, n: 2, young: true }, { say: "event", seq: 9, n: 4, young: true }],
    ["taken", "taken lost"],
  ],
  [
    "who is not heard for three beats is taken for dead, once",
    [{ say: "join", seq: 1, n: 0 }, 3, 1, 9, { say: "beat", seq: 2, n: 0 }, 3, 1],
    ["taken", "-", "lost", "-", "taken", "-", "lost"],
  ],
  [
    "who comes back from the dead having published is a loss",
    [{ say: "join", seq: 1, n: 0 }, 4, { say: "beat", seq: 2, n: 1 }],
    ["taken", "lost", "taken lost"],
  ],
  [
    "who speaks less often is given more time",
    [{ say: "rare", seq: 1, n: 0 }, 12, 1],
    ["taken", "-", "lost"],
  ],
  [
    "who has said goodbye is missed by nobody, and what it says then is dropped",
    [{ say: "join", seq: 1, n: 0 }, { say: "leave", seq: 2, n: 0 }, 9, {
      ...{ say: "beat", seq: 3, n: 9 },
    }],
    ["taken", "taken", "-", "repeated"],
  ],
  [
    "another start of a pod that has said goodbye is no crash",
    [
      { say: "join", seq: 1, n: 0 },
      { say: "leave", seq: 2, n: 0 },
      { say: "join", seq: 1, n: 0, boot: A2 },
    ],
    ["taken", "taken", "taken"],
  ],
  [
    "another start of one that has not is, and once",
    [{ say: "join", seq: 1, n: 0 }, { say: "join", seq: 1, n: 0, boot: A2 }, 2, {
      ...{ say: "beat", seq: 2, n: 0, boot: A2 },
    }, 2],
    ["taken", "taken lost", "-", "taken", "-"],
  ],
  [
    "one that was taken for dead is not lost again by its next start",
    [{ say: "join", seq: 1, n: 0 }, 4, { say: "join", seq: 1, n: 0, boot: A2 }],
    ["taken", "lost", "taken"],
  ],
  [
    "two that live under one name are both heard, and are found out",
    [
      { say: "join", seq: 1, n: 0 },
      { say: "join", seq: 1, n: 0, boot: A2 },
      { say: "event", seq: 2, n: 1 },
      { say: "beat", seq: 3, n: 1 },
      { say: "event", seq: 2, n: 1, boot: A2 },
      { say: "event", seq: 4, n: 2 },
    ],
    ["taken", "taken lost", "taken", "taken", "taken", "taken"],
  ],
];

for (const [name, steps, expected] of TABLE) {
  test(`origins: ${name}`, () => {
    assertEquals(play(steps).story, expected);
  });
}

test("origins: a twin is known by the beat that follows another start of its name", () => {
  const { story } = play([
    { say: "join", seq: 1, n: 0 },
    { say: "join", seq: 1, n: 0, boot: A2 },
    { say: "beat", seq: 2, n: 0 },
    { say: "beat", seq: 3, n: 0 },
  ]);
  assertEquals(story, ["taken", "taken lost", "taken twin", "taken"]);
});

test("origins: those who are there are listed, with what is known of them", () => {
  const { origins } = play([
    { say: "event", seq: 1, n: 1 },
    { say: "join", seq: 1, n: 0, boot: A2, origin: "b" },
    { say: "leave", seq: 2, n: 0, boot: A2, origin: "b" },
  ]);
  assertEquals(origins.siblings(), [{ origin: "a", boot: A1, n: 1, lastHeardAt: 1001 }]);
});

test("origins: however many starts are heard, so many are remembered", () => {
  const origins = new Origins(BEAT_MS);
  const moment = { at: 0, young: false };
  for (let i = 0; i < 1100; i++) {
    const boot = i.toString(16).padStart(16, "0");
    origins.hear({ origin: `pod-${i}`, boot, seq: 1, n: 0 }, { kind: "beat", beatMs: 1 }, moment);
  }
  assertEquals(origins.siblings().length, 1024);
});

test("origins: a loss is seen exactly when a durable event did not come, whatever did", () => {
  const sent = fc.array(fc.record({ durable: fc.boolean(), arrives: fc.boolean() }), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(sent, (messages) => {
      const origins = new Origins(BEAT_MS);
      const moment = { at: 0, young: false };
      const say = (message: Message, seq: number, n: number): boolean =>
        origins.hear({ origin: "a", boot: A1, seq, n }, message, moment).lost;
      say({ kind: "join", beatMs: BEAT_MS }, 1, 0);
      let [seq, n, owed] = [1, 0, false];
      for (const { durable, arrives } of messages) {
        seq++;
        if (durable) n++;
        if (!arrives) {
          owed ||= durable;
          continue;
        }
        assertEquals(say(event(!durable), seq, n), owed);
        owed = false;
      }
      assertEquals(say({ kind: "beat", beatMs: BEAT_MS }, seq + 1, n), owed);
    }),
    { numRuns: 500, seed: 20_261_201 },
  );
});
