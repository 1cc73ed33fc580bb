/**
 * A stream that resumes.
 *
 * @module
 */
import { formatCursor } from "../wire/cursor.ts";
import { checkTopic } from "../wire/topic.ts";
import { resolveOptions } from "./options.ts";
import { type Internals, Runtime } from "./runtime.ts";
import type { Stream, StreamOptions } from "./types.ts";

/**
 * Makes a stream. It does nothing until {@linkcode Stream.start}.
 *
 * @param options Where the stream is, and who hears of it.
 * @returns The stream.
 * @throws {ConfigError} When an option cannot be honoured; it names the option and the bound.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { createStream } from "@tidemark/sse/client";
 *
 * const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
 * const arrived = Promise.withResolvers<string>();
 * const stream = createStream({
 *   url: "http://localhost/events",
 *   fetch: (input, init) => Promise.resolve(hub.serve(new Request(input, init))),
 *   revalidate: () => void hub.publish({ name: "tick", data: "1" }),
 *   onFrame: (frame) => arrived.resolve(`${frame.type} ${frame.data}`),
 * });
 * stream.start();
 * assertEquals(await arrived.promise, "tick 1");
 * assertEquals(stream.state(), "open");
 * stream.stop();
 * await hub.shutdown();
 * ```
 */
export function createStream(options: StreamOptions): Stream {
  return openStream(options);
}

/**
 * Makes a stream with what only the library itself may set.
 *
 * @param options The application's options.
 * @param internals The library's.
 * @returns The stream.
 */
export function openStream(options: StreamOptions, internals: Internals = {}): Stream {
  const runtime = new Runtime(resolveOptions(options), internals);
  return {
    start: () => runtime.start(),
    stop: () => runtime.stop(),
    reconnect: () => runtime.dispatch({ type: "reconnect" }),
    credentialsChanged: () => runtime.dispatch({ type: "credentials" }),
    state: () => runtime.state.link.kind,
    cursor() {
      const { cursor } = runtime.state.delivery;
      return cursor === null ? "" : formatCursor(cursor);
    },
    resetCursor: () => runtime.drop(),
    async subscribe(topic, { history } = {}) {
      checkTopic(topic);
      return await runtime.subscriptions.subscribe(topic, history);
    },
    unsubscribe: (topic) => runtime.subscriptions.unsubscribe(topic),
  };
}
