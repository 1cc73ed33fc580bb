/**
 * The bounds of the wire, met exactly and passed by one.
 *
 * @module
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { PublishBody } from "../support/fixture.ts";
import type { Ground, Tests } from "./lib/group.ts";

const MAX_FRAME = 1_048_576;

/** What publish refuses, and a word of why. */
const REFUSED: readonly (readonly [body: PublishBody, reason: string])[] = [
  [{ name: "sse:hello", data: "x" }, "sse:"],
  [{ name: "sse:", data: "x" }, "sse:"],
  [{ name: "sse:mine", data: "x" }, "sse:"],
  [{ name: "a\nid: 9", data: "x" }, "CR, LF or NUL"],
  [{ name: "a\rb", data: "x" }, "CR, LF or NUL"],
  [{ name: "a\0b", data: "x" }, "CR, LF or NUL"],
  [{ data: "lone \ud800 surrogate" }, "index 5"],
  [{ data: "\udc00" }, "index 0"],
  [{ topic: "a\nb", data: "x" }, "control"],
  [{ topic: "\u202e", data: "x" }, "bidi"],
  [{ topic: "x".repeat(257), data: "x" }, "257"],
  [{ size: MAX_FRAME + 1 }, String(MAX_FRAME + 1)],
  [{ size: 2 * MAX_FRAME, name: "big", topic: "t" }, String(2 * MAX_FRAME)],
  [{ data: "x".repeat(MAX_FRAME) }, String(MAX_FRAME)],
  [{ data: "\n".repeat(MAX_FRAME / 7) }, String(MAX_FRAME)],
  [{ size: MAX_FRAME + 1, ephemeral: true }, String(MAX_FRAME + 1)],
];

/** At the default settings. */
export const limitTests: Tests = {
  "a frame of exactly 1,048,576 bytes is delivered, live and replayed": async (ground) => {
    const epoch = await ground.epoch();
    const live = await ground.open();
    await live.hello();
    await ground.publish({ size: MAX_FRAME });
    await ground.publish({ size: MAX_FRAME, name: "named" });
    const replayed = await ground.open("", { cursor: `${epoch}:0` });
    for (const stream of [live, replayed]) {
      const events = await stream.events(2, 20_000);
      const sizes = events.map(({ raw }) => new TextEncoder().encode(`${raw}\n\n`).length);
      assertEquals(sizes, [MAX_FRAME, MAX_FRAME]);
      assertEquals(stream.offsets, [1, 2]);
      assertEquals(/^x+$/.test(events[0]?.data ?? ""), true);
    }
  },

  "what publish refuses consumes no offset and reaches nobody": async (ground) => {
    const stream = await ground.open();
    await stream.hello();
    for (const [i, [body, reason]] of REFUSED.entries()) {
      const error = await assertRejects(() => ground.publish(body), Error);
      assertStringIncludes(error.message, "422");
      assertStringIncludes(error.message, "publish_refused");
      assertStringIncludes(error.message, reason);
      assertEquals(await ground.publish({ data: "next" }), [i + 1]);
    }
    await stream.events(REFUSED.length);
    assertEquals(new Set(stream.durable.map(({ data }) => data)), new Set(["next"]));
  },

  "a topic of 256 characters and 256 topics on one connection are taken": async (ground) => {
    const long = "t".repeat(256);
    const many = Array.from({ length: 255 }, (_, i) => `topic=t${i}`).join("&");
    const stream = await ground.open(`?topic=${long}&${many}`);
    await stream.hello();
    await ground.publish({ topic: long, data: "long" });
    await ground.publish({ topic: "t254", data: "last" });
    await stream.events(2);
    assertEquals(stream.durable.map(({ data }) => data), ["long", "last"]);
  },

  "a burst as long as the buffer is delivered whole": async (ground) => {
    const streams = await openSome(ground, 10);
    await ground.publish({ data: "x".repeat(100), count: 4000 });
    for (const stream of streams) {
      await stream.events(4000, 20_000);
      assertEquals(stream.offsets.at(-1), 4000);
    }
  },
};

async function openSome(
  ground: Ground,
  count: number,
): Promise<Awaited<ReturnType<Ground["open"]>>[]> {
  return await Promise.all(Array.from({ length: count }, async () => {
    const stream = await ground.open();
    await stream.hello();
    return stream;
  }));
}
