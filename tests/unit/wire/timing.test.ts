import { assertEquals } from "@std/assert";
import written from "../../../timing.json" with { type: "json" };
import * as timing from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";

test("every constant of the wire is the number in timing.json", () => {
  const numbers: Readonly<Record<string, unknown>> = written;
  for (const [name, value] of Object.entries(timing)) {
    // An offset is a string there: not every JSON reader keeps 2^53 − 1 exact.
    const expected = name === "MAX_OFFSET" ? String(value) : value;
    assertEquals(numbers[name.toLowerCase()], expected, name);
  }
});

test("timing.json holds the numbers of revision 1, which the seed's peers share", () => {
  assertEquals<unknown>(written, {
    wire: 1,
    keepalive_ms: 15_000,
    write_timeout_beats: 2,
    max_frame_bytes: 1_048_576,
    replay_max_bytes_frames: 64,
    max_buffer_bytes: 1_048_576,
    reset_write_timeout_ms: 250,
    watchdog_beats: 3,
    watchdog_floor_ms: 15_000,
    connect_timeout_ms: 15_000,
    hello_timeout_ms: 10_000,
    revalidate_timeout_ms: 30_000,
    digest_timeout_ms: 10_000,
    held_max_frames: 2000,
    held_max_bytes_frames: 64,
    retry_ms: 1500,
    base_ms: 500,
    cap_ms: 30_000,
    stable_ms: 30_000,
    hidden_close_after_ms: 60_000,
    heartbeat_ms: 5000,
    alive_every_beats: 1,
    alive_window_beats: 2,
    wake_throttle_ms: 1000,
    reply_max_events_ceiling: 256,
    client_buffer_floor: 256,
    digest_max_subjects: 256,
    digest_max_body_bytes: 524_288,
    max_offset: "9007199254740991",
    keepalive_event: "sse:keepalive",
    replay_ttl_floor_extra_ms: 30_000,
  });
});

test("the largest offset is the largest integer that a number holds exactly", () => {
  assertEquals(timing.MAX_OFFSET, Number.MAX_SAFE_INTEGER);
});
