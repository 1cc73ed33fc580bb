/**
 * Every verdict, at both sides of each of its bounds.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Runtime } from "../support/runtimes.ts";
import type { EventStream } from "../support/stream.ts";
import { type Ground, group } from "./lib/group.ts";
import { judgeByModel, type ModelEvent } from "./lib/model.ts";

const RING = 32;
const REPLY = 16;
const MAX_OFFSET = "9007199254740991";

/** What no cursor may look like; `@` stands for the hub's own epoch. */
const MALFORMED: readonly string[] = [
  "1",
  "42",
  ":",
  "@",
  "@:",
  ":1",
  "@:01",
  "@:00",
  "@:+1",
  "@:-1",
  "@:-0",
  "@:1.0",
  "@:1e0",
  "@:0x1",
  "@:1_0",
  "@:1:1",
  "@:1,@:1",
  "@:1, @:1",
  "@;1",
  "@-1",
  "@ 1",
  "@: 1",
  "@ :1",
  "@:NaN",
  "@:null",
  "@:9007199254740992",
  "@:9999999999999999",
  "@:10000000000000000",
  `@:${"9".repeat(400)}`,
  "0123456789ABCDEF:1",
  "0123456789abcde:1",
  "0123456789abcdef0:1",
  "0123456789abcdeg:1",
  "*",
  "0",
  "null",
  "undefined",
  "%00",
];

/** What a header cannot carry, or loses at its ends. */
const MALFORMED_IN_QUERY: readonly string[] = [
  " @:1",
  "@:1 ",
  "@:1\n",
  "@:1\r\nX-Evil: 1",
  "@:1\0",
  "\0",
  "@:１",
  "@:١",
  "Е0123456789abcde:1",
  "@:1\u2028",
];

/** Registers the tests. */
export function verdicts(runtime: Runtime): void {
  group(runtime, "verdicts", { replayEvents: RING, replyMax: REPLY }, {
    "a client that presents no cursor is fresh": async (ground) => {
      await ground.publish({ data: "x", count: 3 });
      for (const headers of [[], [["Last-Event-ID", ""]] as [string, string][]]) {
        const stream = await ground.open("", { headers });
        assertEquals(await verdict(stream), "fresh");
      }
      assertEquals(await verdict(await ground.open("?last_event_id=")), "fresh");
    },

    "a malformed cursor is cursor_invalid in the header, and nothing is replayed": async (
      ground,
    ) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "x", count: 3 });
      const streams = await Promise.all(MALFORMED.map((shape) => {
        return ground.open("", { headers: [["Last-Event-ID", shape.replaceAll("@", epoch)]] });
      }));
      await expectEach(ground, MALFORMED, streams, "cursor_invalid");
    },

    "a malformed cursor is cursor_invalid in the query, and nothing is replayed": async (
      ground,
    ) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "x", count: 3 });
      const shapes = [...MALFORMED, ...MALFORMED_IN_QUERY];
      const streams = await Promise.all(shapes.map((shape) => {
        const value = encodeURIComponent(shape.replaceAll("@", epoch));
        return ground.open(`?last_event_id=${value}`);
      }));
      await expectEach(ground, shapes, streams, "cursor_invalid");
    },

    "two Last-Event-ID headers are not a cursor": async (ground) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "x", count: 3 });
      const header: [string, string] = ["Last-Event-ID", `${epoch}:1`];
      assertEquals(
        await verdict(await ground.open("", { headers: [header, header] })),
        "cursor_invalid",
      );
    },

    "a cursor of another epoch is epoch_changed, below and beyond the head": async (ground) => {
      await ground.publish({ data: "x", count: 3 });
      for (const offset of ["0", "2", "3", "4", MAX_OFFSET]) {
        const stream = await ground.open("", { cursor: `0123456789abcdef:${offset}` });
        assertEquals(await verdict(stream), "epoch_changed", offset);
      }
    },

    "a cursor from before a restart is epoch_changed": async (ground) => {
      const before = await ground.epoch();
      await ground.publish({ data: "x", count: 3 });
      await ground.fixture.control("restart");
      assertEquals(
        await verdict(await ground.open("", { cursor: `${before}:3` })),
        "epoch_changed",
      );
    },

    "a cursor beyond the head is gap_ahead": async (ground) => {
      const epoch = await ground.epoch();
      assertEquals(await verdict(await ground.open("", { cursor: `${epoch}:1` })), "gap_ahead");
      await ground.publish({ data: "x", count: 3 });
      for (const offset of ["4", "100", MAX_OFFSET]) {
        const stream = await ground.open("", { cursor: `${epoch}:${offset}` });
        assertEquals(await verdict(stream), "gap_ahead", offset);
      }
    },

    "a cursor at the head is resumed, at the very start too": async (ground) => {
      const epoch = await ground.epoch();
      assertEquals(await verdict(await ground.open("", { cursor: `${epoch}:0` })), "resumed");
      await ground.publish({ data: "x", count: 3 });
      const stream = await ground.open("", { cursor: `${epoch}:3` });
      assertEquals(await verdict(stream), "resumed");
      assertEquals([await ground.settle(stream), stream.offsets], [4, [4]]);
    },

    "a cursor just above what the ring evicted is resumed, one below is gap_floor": async (
      ground,
    ) => {
      const epoch = await ground.epoch();
      // The last 16 are as many as one reply may carry: so it is the floor that decides.
      await ground.publish({ topic: "old", data: "x", count: RING });
      await ground.publish({ topic: "other", data: "x", count: RING - REPLY });
      await ground.publish({ topic: "old", data: "x", count: REPLY });
      const evicted = RING;
      const at = await ground.open("?topic=old", { cursor: `${epoch}:${evicted}` });
      assertEquals(await verdict(at), "resumed");
      const below = await ground.open("?topic=old", { cursor: `${epoch}:${evicted - 1}` });
      assertEquals(await verdict(below), "gap_floor");
      assertEquals(
        await verdict(await ground.open("?topic=old", { cursor: `${epoch}:0` })),
        "gap_floor",
      );
      const head = await ground.settle(at, below);
      const firstKept = head - REPLY;
      assertEquals(at.offsets, range(firstKept, head));
      assertEquals(below.offsets, [head]);
    },

    "as many missed frames as one reply may carry are resumed, one more is gap_budget": async (
      ground,
    ) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "x", count: REPLY + 1 });
      const fits = await ground.open("", { cursor: `${epoch}:1` });
      assertEquals(await verdict(fits), "resumed");
      const over = await ground.open("", { cursor: `${epoch}:0` });
      assertEquals(await verdict(over), "gap_budget");
      const head = await ground.settle(fits, over);
      assertEquals(fits.offsets, range(2, head));
      assertEquals(over.offsets, [head]);
    },

    "gap_budget counts the frames of the connection's topics alone": async (ground) => {
      const epoch = await ground.epoch();
      await ground.publish({ topic: "mine", data: "x" });
      await ground.publish({ topic: "theirs", data: "x", count: REPLY + 4 });
      const stream = await ground.open("?topic=mine", { cursor: `${epoch}:0` });
      assertEquals(await verdict(stream), "resumed");
      const head = await ground.settle(stream);
      assertEquals(stream.offsets, [1, head]);
    },

    "the query parameter presents a cursor, and the header wins over it": async (ground) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "x", count: 5 });
      const byQuery = await ground.open(`?last_event_id=${epoch}:3`, {});
      assertEquals((await byQuery.hello()).verdict, "resumed");
      const goodHeader = await ground.open("?last_event_id=rubbish", { cursor: `${epoch}:3` });
      assertEquals(await verdict(goodHeader), "resumed");
      const badHeader = await ground.open(`?last_event_id=${epoch}:3`, { cursor: "rubbish" });
      assertEquals(await verdict(badHeader), "cursor_invalid");
      const both = await ground.open(`?last_event_id=${epoch}:1`, { cursor: `${epoch}:4` });
      await both.events(1);
      assertEquals(both.offsets, [5]);
      await byQuery.events(2);
      assertEquals(byQuery.offsets, [4, 5]);
    },

    "every verdict, and what follows it, is what a model of the rules says": async (ground) => {
      await fc.assert(
        fc.asyncProperty(histories, clients, async (history, asked) => {
          await ground.fixture.control("restart");
          const epoch = await ground.epoch();
          const events: ModelEvent[] = [];
          for (const { topic, count } of history) {
            for (const offset of await ground.publish({ topic, data: "x", count })) {
              events.push({ offset, topic });
            }
          }
          const opened = await Promise.all(asked.map(async ({ topics, back }) => {
            const offset = Math.max(0, events.length + 1 - back);
            const query = topics.length === 0 ? "" : `?topic=${topics.join("&topic=")}`;
            const stream = await ground.open(query, { cursor: `${epoch}:${offset}` });
            const model = judgeByModel(events, topics, offset, { ring: RING, reply: REPLY });
            assertEquals(await verdict(stream), model.verdict, JSON.stringify({ topics, offset }));
            return { stream, model };
          }));
          const head = await ground.settle(...opened.map(({ stream }) => stream));
          for (const { stream, model } of opened) {
            assertEquals(stream.offsets, [...model.follows, head]);
            await stream.close();
          }
        }),
        { numRuns: 20 },
      );
    },
  });
}

const topic = fc.constantFrom("", "a", "b", "c");
const histories = fc.array(fc.record({ topic, count: fc.integer({ min: 1, max: 20 }) }), {
  minLength: 1,
  maxLength: 10,
});
const clients = fc.array(
  fc.record({
    topics: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
    /** How far below the head the cursor is; 0 is one beyond it. */
    back: fc.integer({ min: 0, max: 80 }),
  }),
  { minLength: 1, maxLength: 6 },
);

async function verdict(stream: EventStream): Promise<string> {
  return (await stream.hello()).verdict;
}

async function expectEach(
  ground: Ground,
  shapes: readonly string[],
  streams: readonly EventStream[],
  expected: string,
): Promise<void> {
  const told = await Promise.all(streams.map(verdict));
  assertEquals(
    shapes.map((shape, i) => [shape, told[i]]),
    shapes.map((shape) => [shape, expected]),
  );
  const head = await ground.settle(...streams);
  for (const stream of streams) assertEquals(stream.offsets, [head]);
}

/** The whole numbers from one to another, both included. */
function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
