import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { JournalError } from "../../src/errors/journal.ts";
import {
  OVERHEAD_BYTES,
  toEntry,
  toPayload,
  toSubject,
  toTopic,
} from "../../src/journal/nats/record.ts";
import { test } from "../support/test.ts";

const text = fc.string({ unit: "binary", maxLength: 300 }).filter((s) => s.isWellFormed());
const topic = fc.oneof(
  text,
  fc.constantFrom("", "=", "%", "%3D", ".", "*", ">", "a.b", "a b", "_", "\ufeff", "x".repeat(256)),
);

test("JetStream: every topic has a subject of its own, of two tokens without a wildcard", () => {
  fc.assert(fc.property(topic, topic, (one, other) => {
    const subject = toSubject("n", one);
    assert(/^n\.[!-~]+$/.test(subject) && !/[.*>]/.test(subject.slice(2)), subject);
    assertEquals(toTopic("n", subject), one);
    assertEquals(subject === toSubject("n", other), one === other);
  }));
});

test("JetStream: the longest topics fit into a line of the protocol", () => {
  for (const topic of ["\u{10ffff}".repeat(128), "\uffff".repeat(256), ".".repeat(256)]) {
    const { length } = toSubject("n".repeat(64), topic);
    // A line may have 4096 bytes; inbox, sizes and the verb need some 150.
    assert(length < 3900, `${length}`);
  }
});

test("JetStream: every event comes back from its message exactly", () => {
  const event = fc.record({
    topic,
    name: text,
    data: text,
    at: fc.integer({ min: 0, max: 2 ** 52 }),
  });
  fc.assert(fc.property(event, (event) => {
    const payload = toPayload(event, Infinity);
    assertEquals(toEntry("n", toSubject("n", event.topic), payload, 7), { offset: 7, ...event });
  }));
});

test("JetStream: an event is too large exactly above the bound, in bytes of topic, name and data", () => {
  fc.assert(fc.property(topic, text, text, (topic, name, data) => {
    const event = { topic, name, data, at: Date.now() };
    const size = new TextEncoder().encode(topic + name + data).length;
    const payload = toPayload(event, size);
    assert(payload.length <= size + OVERHEAD_BYTES - 411, "a payload with room for the headers");
    if (size === 0) return;
    const error = assertThrows(() => toPayload(event, size - 1), JournalError);
    assertEquals(error.fault, "too_large");
  }));
});
