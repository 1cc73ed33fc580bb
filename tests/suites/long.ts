/**
 * What takes more than a minute to show. All runtimes are tested at the same time, each with a server
 * of its own, so that the minute passes once.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { startFixture } from "../support/fixture.ts";
import type { Runtime } from "../support/runtimes.ts";
import { Ground } from "./lib/group.ts";
import { traffic } from "./lib/traffic.ts";
import { elapse } from "./lib/within.ts";

/** What the slow reader reads in a second, and a sixteenth of what is published. */
const READER_BYTES = 65_536;
const FRAME = 16_384;
const FRAMES_PER_SECOND = 64;
/**
 * The write timeout is 60 s under this policy. The host's buffers take some seconds to fill; after
 * that the reader must have been seen to take something within each minute.
 */
const SPAN_MS = 75_000;
const KEEPALIVE_MS = 15_000;

/**
 * Registers the tests.
 *
 * @param runtimes Where servers run.
 */
export function long(runtimes: readonly Runtime[]): void {
  const names = runtimes.map(({ name }) => name).join(", ");
  Deno.test(`a slow reader is never taken for dead, an idle stream lives on: ${names}`, async () => {
    const results = await Promise.allSettled(runtimes.map(survive));
    const faults = results.flatMap((result, i) => {
      return result.status === "fulfilled" ? [] : [`${runtimes[i]?.name}: ${result.reason}`];
    });
    assertEquals(faults, []);
  });
}

async function survive(runtime: Runtime): Promise<void> {
  const ground = new Ground(await startFixture(runtime, { slow: "lag" }));
  try {
    const [slowTag, idleTag] = [ground.tag(), ground.tag()];
    const slow = await ground.open("?topic=busy&lag=1", {
      tag: slowTag,
      bytesPerSecond: READER_BYTES,
      bufferBytes: 4096,
      keep: false,
    });
    const idle = await ground.open("?topic=quiet", { tag: idleTag });
    await Promise.all([slow.hello(), idle.hello()]);
    const busy = traffic(ground, { topic: "busy", size: FRAME }, FRAMES_PER_SECOND);
    ground.defer(() => busy.stop());
    await elapse(SPAN_MS);
    await busy.stop();
    const { events } = await ground.fixture.state();
    const departures = events.filter(({ kind, tag }) => kind === "disconnected" && tag !== "");
    assertEquals(departures, []);
    assertEquals([slow.ending, idle.ending], [null, null], String(slow.fault ?? idle.fault));
    const expected = (SPAN_MS / 1000) * READER_BYTES;
    assertGreater(slow.bytes, expected * 0.6, "the reader was starved");
    assert(slow.bytes < expected * 1.2, "the reader was not slow");
    assertGreater(busy.published * FRAME, slow.bytes * 4);
    // One more or one less, as the span begins and ends within an interval.
    assert(
      Math.abs(idle.keepalives - SPAN_MS / KEEPALIVE_MS) <= 1,
      `${idle.keepalives} keepalives`,
    );
    const [offset = NaN] = await ground.publish({ topic: "quiet", data: "still here" });
    await idle.reached(offset);
    assertEquals(idle.durable.map(({ data }) => data), ["still here"]);
  } finally {
    await ground.close();
    await ground.fixture.stop();
  }
}
