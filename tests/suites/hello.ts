/**
 * How every stream begins: the head, `retry:`, and the hello.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Runtime } from "../support/runtimes.ts";
import { group } from "./lib/group.ts";

/** Far below the default keepalive, and above what a busy machine needs. */
const AT_ONCE_MS = 1000;

/** Registers the tests. */
export function hello(runtime: Runtime): void {
  group(runtime, "hello", { replayEvents: 4, replyMax: 4 }, {
    "retry: and then the hello come at once, though nothing is published": async (ground) => {
      const started = performance.now();
      const stream = await ground.open();
      await stream.hello();
      const tookMs = performance.now() - started;
      assert(tookMs < AT_ONCE_MS, `the hello took ${tookMs} ms`);
      assertEquals(stream.blocks[0]?.raw, "retry: 1500");
      assertMatch(stream.blocks[1]?.raw ?? "", /^event: sse:hello\ndata: \{[^\n]*\}$/);
    },

    "the head is that of an event stream which nothing may buffer, cache or compress": async (
      ground,
    ) => {
      const stream = await ground.open("", { headers: [["Accept-Encoding", "gzip, br, deflate"]] });
      await stream.hello();
      const header = (name: string): string | null => stream.headers.get(name);
      assertEquals(stream.status, 200);
      assertEquals(header("content-type"), "text/event-stream");
      assertEquals(header("cache-control"), "no-cache, no-transform");
      assertEquals(header("x-accel-buffering"), "no");
      assertEquals([header("content-encoding"), header("content-length")], [null, null]);
    },

    "the hello tells the wire, the epoch, the window as strings, the verdict and the keepalive":
      async (ground) => {
        const stream = await ground.open();
        const { connection, ...rest } = await stream.hello();
        assertEquals(rest, {
          wire: 1,
          epoch: await ground.epoch(),
          floor: "0",
          head: "0",
          resumed: false,
          verdict: "fresh",
          keepalive_ms: 15_000,
          keepalive_event: "sse:keepalive",
        });
        assertMatch(rest.epoch, /^[0-9a-f]{16}$/);
        assertMatch(connection, /^\S{16,}$/);
      },

    "floor and head are those of the hub, whatever the topics": async (ground) => {
      await ground.publish({ topic: "busy", data: "x", count: 10 });
      for (const query of ["", "?topic=quiet", "?topic=busy"]) {
        const { floor, head } = await (await ground.open(query)).hello();
        assertEquals({ floor, head }, { floor: "7", head: "10" }, query);
      }
    },

    "each connection has an id of its own that cannot be guessed from others": async (ground) => {
      const streams = await Promise.all(Array.from({ length: 100 }, () => ground.open()));
      const ids = await Promise.all(
        streams.map(async (stream) => (await stream.hello()).connection),
      );
      assertEquals(new Set(ids).size, ids.length);
      // Of 100 random ids each place shows most of its alphabet: a counter or a clock does not.
      const bits = Array.from({ length: Math.min(...ids.map((id) => id.length)) }, (_, place) => {
        const seen = new Set(ids.map((id) => id.charAt(place))).size;
        return seen < 8 ? 0 : Math.log2(seen);
      }).reduce((sum, place) => sum + place, 0);
      assert(bits >= 100, `the ids differ by about ${Math.round(bits)} bits: ${ids.slice(0, 4)}`);
    },

    "each hub has an epoch of its own": async (ground) => {
      const epochs = new Set<string>();
      for (let i = 0; i < 20; i++) {
        await ground.fixture.control("restart");
        epochs.add((await (await ground.open()).hello()).epoch);
      }
      assertEquals(epochs.size, 20);
    },
  });
}
