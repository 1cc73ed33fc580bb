/**
 * What tests of a program that uses this library need: a hub on a real port, frames off a live
 * stream, a sink and a clock under a test's control, and the controllable fixture server.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { FrameReader, serve } from "@tidemark/sse/testing";
 *
 * const hub = createHub();
 * await using server = await serve(hub);
 *
 * const response = await fetch(server.url);
 * const reader = new FrameReader(response.body);
 * const [retry, hello] = await reader.read(2);
 * assertEquals([retry?.data, hello?.event], ["1500", "sse:hello"]);
 *
 * hub.publish({ name: "tick", data: "1" });
 * assertEquals((await reader.read(1))[0]?.event, "tick");
 * await reader.cancel();
 * ```
 *
 * @module
 */
export type { Peer, Sink } from "../hub/sink.ts";
export { FakeClock } from "./fake_clock.ts";
export { createFixture, type Fixture, type FixtureCloseOptions } from "./fixture/fixture.ts";
export type {
  FixtureJournal,
  FixtureJournalOpener,
  FixtureOpeners,
  FixtureRelay,
  FixtureTicketStore,
} from "./fixture/core.ts";
export type { FixtureOptions } from "./fixture/options.ts";
export type { FixtureEvent, FixturePresence, FixtureState } from "./fixture/state.ts";
export { type Frame, FrameReader, readFrames, type ReadOptions } from "./frames.ts";
export { RecordingSink } from "./recording_sink.ts";
export { serve, type ServedHub, type ServeForTestOptions } from "./serve.ts";
