/**
 * The seed's `ExampleNew`: a hub is constructed, numbers an event, and refuses options which it could
 * not honour.
 *
 * ```sh
 * deno run examples/seed/construct.ts
 * ```
 *
 * @module
 */
import { ConfigError, createHub } from "@tidemark/sse";

const hub = createHub({
  replay: { maxEvents: 1024, ttlMs: 10 * 60_000, replyMaxEvents: 256 },
});

// An event that the hub refuses throws; so the offset is all there is to print.
console.log(hub.publish({ name: "notify", data: '{"n":1}' }));

const { floor, head } = hub.position();
console.log(floor, head);

// A ring without an age bound is refused at construction.
try {
  createHub({ replay: { maxEvents: 1024 } });
} catch (error) {
  console.log(error instanceof ConfigError);
}
