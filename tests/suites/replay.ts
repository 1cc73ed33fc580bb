/**
 * What follows the hello: the missed frames, the connect hook's, an id alone, live frames.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { EventStream } from "../support/stream.ts";
import type { Tests } from "./lib/group.ts";

/** Events whose data tries to look like fields, and their lines as they must be written. */
const SHAPES: readonly { name?: string; data: string; lines: readonly string[] }[] = [
  { data: "plain", lines: ["plain"] },
  { data: "", lines: [""] },
  { name: "notify", data: '{"n":1}', lines: ['{"n":1}'] },
  { data: "one\ntwo", lines: ["one", "two"] },
  { data: "one\rtwo\r\nthree\n\rfour", lines: ["one", "two", "three", "", "four"] },
  { data: "\n", lines: ["", ""] },
  { data: "ends in a line end\r\n", lines: ["ends in a line end", ""] },
  { data: "\n\nid: 1\n\n", lines: ["", "", "id: 1", "", ""] },
  { data: " leading space", lines: [" leading space"] },
  { data: ": looks like a comment", lines: [": looks like a comment"] },
  { data: "retry: 0", lines: ["retry: 0"] },
  { data: "\u{feff}BOM, \u{1f600} and \u2028", lines: ["\u{feff}BOM, \u{1f600} and \u2028"] },
  { data: "a\0b\tc\x7f", lines: ["a\0b\tc\x7f"] },
  { name: "名前 with: a colon", data: "x", lines: ["x"] },
  { name: " padded ", data: "x", lines: ["x"] },
];

/** At the default settings. */
export const replayTests: Tests = {
  "an event is the same bytes live and replayed, whatever its data": async (ground) => {
    const epoch = await ground.epoch();
    const live = await ground.open();
    await live.hello();
    for (const { name, data } of SHAPES) await ground.publish({ name, data });
    const expected = SHAPES.map(({ name, lines }, i) => {
      const event = name === undefined ? [] : [`event: ${name}`];
      return [`id: ${epoch}:${i + 1}`, ...event, ...lines.map((line) => `data: ${line}`)].join(
        "\n",
      );
    });
    const seen = await live.events(SHAPES.length);
    assertEquals(seen.map(({ raw }) => raw), expected);
    const resumed = await ground.open("", { cursor: `${epoch}:0` });
    const replayed = await resumed.events(SHAPES.length);
    assertEquals(replayed.map(({ raw }) => raw), expected);
  },

  "the order is retry:, hello, missed frames, the hook's frame, an id alone, live frames": async (
    ground,
  ) => {
    const epoch = await ground.epoch();
    await ground.publish({ data: "missed", count: 3 });
    const stream = await ground.open("", { cursor: `${epoch}:1` });
    await stream.reached(3);
    await stream.until("the id alone", ({ blocks }) => blocks.at(-1)?.kind === "id");
    await ground.publish({ data: "live", count: 2 });
    await stream.reached(5);
    assertEquals(outline(stream), [
      "retry",
      "sse:hello",
      "2 missed",
      "3 missed",
      '- {"type":"connected"}',
      "id 3",
      "4 live",
      "5 live",
    ]);
  },

  "a client that caught up is given the head as an id alone before its first live frame": async (
    ground,
  ) => {
    await ground.publish({ topic: "other", data: "x", count: 7 });
    const stream = await ground.open("?topic=quiet");
    await stream.until("an id", ({ blocks }) => blocks.some(({ kind }) => kind === "id"));
    await ground.publish({ topic: "quiet", data: "x" });
    await stream.events(1);
    assertEquals(outline(stream), [
      "retry",
      "sse:hello",
      '- {"type":"connected"}',
      "id 7",
      "8 x",
    ]);
  },

  "the id alone lets a client resume that was never sent an event": async (ground) => {
    await ground.publish({ data: "x", count: 3 });
    const first = await ground.open("?topic=quiet");
    await first.until("a cursor", ({ audit }) => audit.cursor);
    await first.close();
    await ground.publish({ topic: "quiet", data: "missed" });
    const second = await ground.open("?topic=quiet", { cursor: first.audit.cursor });
    await second.events(1);
    assertEquals((await second.hello()).verdict, "resumed");
    assertEquals(second.offsets, [4]);
  },

  "what is published while the connect hook runs waits, and no id alone overtakes it": async (
    ground,
  ) => {
    await ground.fixture.control("hook-sleep", { ms: 500 });
    ground.defer(async () => void await ground.fixture.control("hook-sleep", { ms: 0 }));
    const stream = await ground.open();
    await stream.hello();
    await ground.publish({ data: "meanwhile", count: 3 });
    assertEquals(stream.offsets, [], "the hook has ended before the test looked");
    await stream.events(3);
    assertEquals(outline(stream).slice(0, 6), [
      "retry",
      "sse:hello",
      '- {"type":"connected"}',
      "1 meanwhile",
      "2 meanwhile",
      "3 meanwhile",
    ]);
  },

  "a replay does not wait for the connect hook": async (ground) => {
    const epoch = await ground.epoch();
    await ground.publish({ data: "missed", count: 3 });
    await ground.fixture.control("hook-sleep", { ms: 2000 });
    ground.defer(async () => void await ground.fixture.control("hook-sleep", { ms: 0 }));
    const started = performance.now();
    const stream = await ground.open("", { cursor: `${epoch}:0` });
    await stream.events(3);
    const tookMs = performance.now() - started;
    assert(tookMs < 1500, `the replay took ${tookMs} ms`);
  },

  "a connect hook that fails ends its stream, with the cause hook_failed": async (ground) => {
    await ground.fixture.control("hook-sleep", { ms: 1, fail: true });
    ground.defer(async () => void await ground.fixture.control("hook-sleep", { ms: 0 }));
    const tag = ground.tag();
    const stream = await ground.open("", { tag });
    await stream.end();
    assertEquals((await ground.presence("disconnected", tag)).cause, "hook_failed");
  },

  "an ephemeral event has no id, moves no head and is not replayed": async (ground) => {
    const epoch = await ground.epoch();
    const live = await ground.open();
    await live.hello();
    await ground.publish({ data: "kept" });
    await ground.publish({ data: "gone", ephemeral: true, count: 2 });
    await ground.publish({ data: "kept" });
    await live.events(2);
    assertEquals(outline(live).slice(-4), ["1 kept", "- gone", "- gone", "2 kept"]);
    assertEquals((await ground.fixture.state()).position.head, "2");
    const resumed = await ground.open("", { cursor: `${epoch}:0` });
    await resumed.until("the id alone", ({ blocks }) => blocks.at(-1)?.kind === "id");
    assertEquals(outline(resumed).slice(2), [
      "1 kept",
      "2 kept",
      '- {"type":"connected"}',
      "id 2",
    ]);
  },

  "a long replay comes whole and in order": async (ground) => {
    const epoch = await ground.epoch();
    await ground.publish({ size: 100_000, count: 256 });
    const stream = await ground.open("", { cursor: `${epoch}:0` });
    await stream.events(256, 20_000);
    assertEquals(stream.offsets, Array.from({ length: 256 }, (_, i) => i + 1));
    const sizes = new Set(stream.durable.map(({ raw }) => raw.length + 2));
    assertEquals([...sizes], [100_000]);
  },
};

/** Each block in a few characters: its offset or `-`, and its data. */
function outline(stream: EventStream): string[] {
  return stream.blocks.map((block) => {
    if (block.kind === "id") return `id ${block.id.slice(17)}`;
    if (block.kind !== "event") return block.kind;
    if (block.name === "sse:hello") return block.name;
    return `${block.id === null ? "-" : block.id.slice(17)} ${block.data}`;
  });
}
