import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { FrameTooLargeError, InvalidUtf8Error, TopicError } from "../../../src/errors.ts";
import { EventLog } from "../../../src/hub/log.ts";
import { readOptions } from "../../../src/hub/options.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { isEpoch } from "../../../src/wire/cursor.ts";
import { MAX_FRAME_BYTES } from "../../../src/wire/timing.ts";
import { textOf } from "../../model/chunks.ts";
import { eventsOf, parseAll } from "../../model/reports.ts";
import { test } from "../../support/test.ts";

function logOf(maxEvents = 100): { log: EventLog; clock: FakeClock } {
  const clock = new FakeClock();
  const settings = { ...readOptions({}), maxEvents, replyMaxEvents: maxEvents, ttlMs: 75_000 };
  return { log: new EventLog({ ...settings, clock }), clock };
}

test("offsets grow by one from 1, and each frame carries its own", () => {
  const { log } = logOf();
  for (let offset = 1; offset <= 5; offset++) {
    const frame = log.append({ name: "tick", data: String(offset) });
    assertEquals([frame.offset, log.head], [offset, offset]);
    assertEquals(eventsOf(parseAll([frame.bytes])), [["tick", String(offset), log.cursor(offset)]]);
  }
});

test("the epoch is 64 random bits: two logs never share one, and one keeps its own", () => {
  const epochs = Array.from({ length: 200 }, () => logOf().log.epoch);
  assert(epochs.every(isEpoch));
  assertEquals(new Set(epochs).size, 200);
  const { log } = logOf();
  assertEquals(log.epoch, log.epoch);
});

test("a refused event consumes no offset and leaves the ring as it was", () => {
  const { log } = logOf();
  log.append({ data: "1" });
  const tooLarge = "x".repeat(MAX_FRAME_BYTES);
  assertThrows(() => log.append({ name: "sse:x", data: "" }), TypeError);
  assertThrows(() => log.append({ topic: "a\nb", data: "" }), TopicError);
  assertThrows(() => log.append({ data: "\ud800" }), InvalidUtf8Error);
  assertThrows(() => log.append({ data: Uint8Array.of(0xff) }), InvalidUtf8Error);
  assertThrows(() => log.append({ data: tooLarge }), FrameTooLargeError);
  assertEquals([log.head, log.held.events], [1, 1]);
  assertEquals(log.append({ data: "2" }).offset, 2);
});

test("the checks come in order: the name, the data, the size", () => {
  const { log } = logOf();
  const large = "x".repeat(MAX_FRAME_BYTES);
  assertThrows(() => log.append({ name: "a\n", data: large + "\ud800" }), TypeError);
  assertThrows(() => log.append({ data: large + "\ud800" }), InvalidUtf8Error);
  assertThrows(() => log.append({ data: large }), FrameTooLargeError);
});

test("the size that is refused includes the id line of the offset it would have had", () => {
  const { log } = logOf();
  const overhead = `id: ${log.cursor(1)}\ndata: \n\n`.length;
  const most = "x".repeat(MAX_FRAME_BYTES - overhead);
  const error = assertThrows(() => log.append({ data: most + "x" }), FrameTooLargeError);
  assertEquals([error.size, error.cap], [MAX_FRAME_BYTES + 1, MAX_FRAME_BYTES]);
  assertEquals(log.append({ data: most }).bytes.length, MAX_FRAME_BYTES);
});

test("an ephemeral event has no offset, no id, and stands in no ring", () => {
  const { log } = logOf();
  log.append({ data: "1" });
  const frame = log.append({ name: "typing", data: "x", ephemeral: true });
  assertEquals([frame.offset, log.head, log.held.events], [0, 1, 1]);
  assertEquals(textOf(frame.bytes), "event: typing\ndata: x\n\n");
});

test("an event that is only checked changes nothing", () => {
  const { log } = logOf();
  log.prepare({ data: "1" });
  assertEquals([log.head, log.held.events], [0, 0]);
  assertThrows(() => log.prepare({ data: "\ud800" }), InvalidUtf8Error);
});

test("the block that holds an id alone names the head of its moment", () => {
  const { log } = logOf();
  assertEquals(textOf(log.idOnly()), `id: ${log.epoch}:0\n\n`);
  log.append({ data: "1" });
  assertEquals(textOf(log.idOnly()), `id: ${log.epoch}:1\n\n`);
  assert(log.idOnly() === log.idOnly(), "encoded once for each head");
});

test("position evicts first: its floor is the one a cursor would be judged against", () => {
  const { log, clock } = logOf();
  assertEquals(log.position(), { epoch: log.epoch, floor: 0, head: 0 });
  log.append({ data: "1" });
  clock.advance(75_000);
  log.append({ data: "2" });
  assertEquals(log.position().floor, 1);
  clock.advance(1);
  assertEquals(log.position(), { epoch: log.epoch, floor: 2, head: 2 });
  clock.advance(75_000);
  assertEquals(log.position(), { epoch: log.epoch, floor: 0, head: 2 });
  assertEquals(log.evictedFor(null), 2, "a cursor at 1 has missed something, one at 2 has not");
});

test("a snapshot gives back what was published, oldest first, in copies", () => {
  const names = fc.constantFrom("", "tick", "größe");
  const topics = fc.constantFrom("", "a", "chat:7");
  const data = fc.array(fc.oneof(fc.constantFrom("\n", "\r\n", "\r", ""), fc.string()), {
    maxLength: 4,
  }).map((parts) => parts.join(""));
  fc.assert(fc.property(fc.array(fc.tuple(names, topics, data), { maxLength: 6 }), (events) => {
    const { log, clock } = logOf(4);
    const expected = events.map(([name, topic, text], i) => {
      clock.advance(10);
      log.append({ name, topic, data: text });
      const lines = text.split(/\r\n|\r|\n/).join("\n");
      return { at: clock.now(), event: { topic, name, data: lines }, offset: i + 1 };
    });
    assertEquals(log.snapshot(), expected.slice(-4));
  }));
});

test("a snapshot leaves out what has grown too old", () => {
  const { log, clock } = logOf();
  log.append({ data: "1" });
  clock.advance(75_001);
  assertEquals(log.snapshot(), []);
});

test("an adjusted system clock evicts nothing: age is measured on the monotonic one", () => {
  const clock = new FakeClock();
  let wall = 1_000_000;
  const jumping = {
    now: () => wall,
    monotonic: () => clock.monotonic(),
    after: clock.after.bind(clock),
    every: clock.every.bind(clock),
  };
  const settings = { ...readOptions({}), maxEvents: 10, ttlMs: 75_000, clock: jumping };
  const log = new EventLog(settings);
  log.append({ data: "1" });
  wall += 1e9;
  assertEquals(log.position().floor, 1);
  wall -= 2e9;
  assertEquals(log.position().floor, 1);
});
