import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { readLetter } from "../../../../src/client/tabs/channel.ts";
import {
  makeId,
  PROTOCOL,
  readToHost,
  readToTab,
  type ToHost,
  type ToTab,
} from "../../../../src/client/worker/protocol.ts";
import { test } from "../../../support/test.ts";

const TO_HOST: { readonly [K in ToHost["kind"]]: Extract<ToHost, { kind: K }> } = {
  attach: {
    ...{ kind: "attach", v: PROTOCOL, tab: "t", cursor: "", start: true, repair: false },
    owed: false,
    ...{ visible: true, online: true, tag: "", url: null },
  },
  beat: { kind: "beat", ack: 3, ask: true, visible: false, online: true },
  answer: { kind: "answer", ask: 1, value: null, fault: null },
  observe: { kind: "observe", subject: { kind: "chat", ref: "1" }, version: "2", epoch: null },
  tag: { kind: "tag", tag: "a" },
  reconnect: { kind: "reconnect", how: "reset" },
  detach: { kind: "detach", reason: "pagehide" },
};

const TO_TAB: { readonly [K in ToTab["kind"]]: Extract<ToTab, { kind: K }> } = {
  who: { kind: "who", v: PROTOCOL, boot: "b" },
  welcome: {
    ...{ kind: "welcome", v: PROTOCOL, boot: "b", seq: 0, cursor: "", state: "open" },
    ...{ epoch: "", generation: 0, doubt: false },
  },
  frames: { kind: "frames", seq: 1, frames: [{ type: "a", data: "", id: null }] },
  record: { kind: "record", record: { kind: "worker_recovered" }, state: "open", cursor: "" },
  beat: { kind: "beat", cursor: "", ask: false },
  revalidate: {
    ...{ kind: "revalidate", ask: 1, cause: "hello", epoch: "", generation: 1, full: false },
    ...{ topics: null, changed: null, removed: null },
  },
  abort: { kind: "abort", ask: 1 },
  ask: { kind: "ask", ask: 1, want: "url", attempt: 0 },
};

/** A value that no field may have. */
const WRONG = { nested: [1] };

for (
  const [side, messages, read] of [
    ["a tab", TO_HOST, readToHost],
    ["the host", TO_TAB, readToTab],
  ] as const
) {
  test(`every message of ${side} is understood, also after a structured clone`, () => {
    for (const message of Object.values(messages)) {
      assertEquals<unknown>(read(structuredClone(message)), message);
      assertEquals<unknown>(read({ ...message, later: 1 }), { ...message, later: 1 });
    }
  });

  test(`a message of ${side} with a field that is missing or wrong is ignored`, () => {
    for (const message of Object.values(messages)) {
      for (const field of Object.keys(message)) {
        assertEquals(read({ ...message, [field]: undefined }), null, `${message.kind}.${field}`);
        assertEquals(read({ ...message, [field]: WRONG }), null, `${message.kind}.${field}`);
      }
    }
  });

  test(`whatever comes instead of a message of ${side} is ignored`, () => {
    fc.assert(fc.property(fc.anything(), (data) => read(data) === null));
    for (const kind of ["toString", "__proto__", "constructor", "none"]) {
      assertEquals(read({ kind }), null);
    }
  });
}

test("two revisions of the protocol never get to know each other", () => {
  const v = PROTOCOL + 1;
  assertEquals(readToHost({ ...TO_HOST.attach, v }), null);
  assertEquals(readToTab({ ...TO_TAB.who, v }), null);
  assertEquals(readToTab({ ...TO_TAB.welcome, v }), null);
});

test("a frame that is none spoils its message", () => {
  const good = { type: "a", data: "", id: "x" };
  for (
    const bad of [null, {}, { ...good, id: 1 }, { ...good, data: undefined }, { ...good, type: 2 }]
  ) {
    assertEquals(readToTab({ ...TO_TAB.frames, frames: [good, bad] }), null);
  }
});

test("headers cross as names and texts, and as nothing else", () => {
  const headers = { ...TO_HOST.answer, value: { "X-A": "1" } };
  assertEquals<unknown>(readToHost(headers), headers);
  assertEquals(readToHost({ ...TO_HOST.answer, value: { "X-A": 1 } }), null);
});

test("what comes over the channel is a letter, or is ignored", () => {
  const letter = { term: { at: 1, leader: "a" }, up: false, tab: null, body: 1 };
  assertEquals<unknown>(readLetter(letter), letter);
  assert(readLetter({ ...letter, up: true, tab: "t" }) !== null);
  for (
    const wrong of [
      { up: 1 },
      { tab: 1 },
      { up: true },
      { term: null },
      { term: { at: "1", leader: "a" } },
      { term: { at: 1 } },
    ]
  ) {
    assertEquals(readLetter({ ...letter, ...wrong }), null, JSON.stringify(wrong));
  }
  fc.assert(fc.property(fc.anything(), (data) => readLetter(data) === null));
});

test("an id is never empty", () => {
  assertEquals(makeId(0), "0");
  assertNotEquals(makeId(0.1), makeId(0.2));
});
