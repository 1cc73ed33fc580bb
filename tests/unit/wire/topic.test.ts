import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { TopicError } from "../../../src/errors.ts";
import { checkTopic, checkTopics, MAX_TOPIC_LENGTH, MAX_TOPICS } from "../../../src/wire/topic.ts";
import { test } from "../../support/test.ts";

const someTopics = (count: number): string[] => Array.from({ length: count }, (_, i) => `t:${i}`);

test("a topic has 1 to 256 characters", () => {
  assertEquals(MAX_TOPIC_LENGTH, 256);
  checkTopic("x");
  checkTopic("x".repeat(256));
  assertThrows(() => checkTopic(""), TopicError, "0 characters");
  assertThrows(() => checkTopic("x".repeat(257)), TopicError, "257 characters");
});

test("a topic may hold any safe character, spaces, commas and colons too", () => {
  for (
    const topic of ["chat:7", " ", "a b", "a,b", "sse:x", "größe", "日本", "😀", "*", ">", "."]
  ) {
    checkTopic(topic);
  }
});

test("a topic without control, line-separator or bidi characters only", () => {
  const unsafe = ["\0", "\t", "\n", "\r", "\u001f", "\u007f", "\u0085", "\u009f", "\u061c"];
  unsafe.push("\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069");
  for (const character of unsafe) {
    for (const topic of [character, `a${character}`, `${character}b`, `a${character}b`]) {
      assertThrows(() => checkTopic(topic), TopicError, "control, line-separator or bidi");
    }
  }
  assertThrows(() => checkTopic("a\ud800"), TopicError, "lone surrogate");
});

test("a refusal never repeats the topic, for it may come from a request", () => {
  const topic = "secret\u202e";
  assert(!assertThrows(() => checkTopic(topic), TopicError).message.includes("secret"));
});

test("none, an empty list or only the empty topic means everything", () => {
  assertEquals(checkTopics(undefined), null);
  assertEquals(checkTopics([]), null);
  assertEquals(checkTopics([""]), null);
  assertEquals(checkTopics(["", ""]), null);
});

test("the empty topic beside others is refused: it would widen a list to everything", () => {
  assertThrows(() => checkTopics(["a", ""]), TopicError);
  assertThrows(() => checkTopics(["", "a"]), TopicError);
});

test("a list is kept in order without repetitions", () => {
  assertEquals(checkTopics(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 }), (topics) => {
      const checked = checkTopics(topics);
      assertEquals(checked, topics.filter((topic, i) => topics.indexOf(topic) === i));
    }),
  );
});

test("at most 256 topics on one connection", () => {
  assertEquals(MAX_TOPICS, 256);
  assertEquals(checkTopics(someTopics(256))?.length, 256);
  assertThrows(() => checkTopics(someTopics(257)), TopicError, "257");
});

test("one bad topic refuses the whole list, wherever it stands", () => {
  for (const at of [0, 1, 255]) {
    const topics = someTopics(256);
    topics[at] = "a\nb";
    assertThrows(() => checkTopics(topics), TopicError);
  }
});

test("the list handed in is not kept: changing it later changes nothing", () => {
  const topics = ["a", "b"];
  const checked = checkTopics(topics);
  topics.push("c");
  assertEquals(checked, ["a", "b"]);
});
