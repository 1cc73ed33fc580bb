/**
 * Rules of the machine that a reader of the golden table would miss among a thousand lines.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { go, walk, type Way } from "../../../golden/states.ts";
import { test } from "../../../support/test.ts";

const CONNECTING: Way = ["restored: cursor, state kept", "start"];
const OPEN: Way = [...CONNECTING, "head", "hello: resumed"];
const RUNNING: Way = [...CONNECTING, "head", "hello: gap_floor"];
const REPAIR: Way = [...CONNECTING, "head", "hello: gap_floor, repair"];
const FAILED_ONCE: Way = [...CONNECTING, "failed: network", ["tick: when due", "due"]];
const LATER_MS = 600_000;

test("a run of one topic does not settle what is owed for all of them", () => {
  const owed = walk("", [...RUNNING, "settled: the run, rejected", "topic_gap"]);
  assertEquals(owed.state.delivery.unverified, true);
  const [{ state }] = go(owed, "settled: the run", 10);
  assertEquals(state.delivery.unverified, true, "the rejected run is still owed");
});

test("a run of one topic does not use up that the next run has to be full", () => {
  // A full run that was rejected leaves it behind.
  const way: Way = ["restored: cursor", "start", "head", "hello: resumed"];
  const owed = walk("", [...way, "settled: the run, rejected", "topic_gap", "settled: the run"]);
  assertEquals(owed.state.delivery.full, true);
});

test("a wake does not join a run of one topic: that brings less", () => {
  const { state } = walk("", [...OPEN, "topic_gap", "visible"]);
  assertEquals(state.delivery.next?.cause, "visible");
  const settled = walk("", [...OPEN, "topic_gap", "settled: the run", "visible"]);
  assertEquals(settled.state.delivery.run?.cause, "visible");
});

test("a repair's end does not move the cursor past pieces of it that are held", () => {
  const { state } = walk("", [...REPAIR, "topic_gap", "frame: without id", "repaired"]);
  const { cursor, held, unverified } = state.delivery;
  assert(held.frames === 0 || unverified || cursor?.offset === 5, "a reload would lose the piece");
});

test("a stream that was open for half a minute leaves no failure behind, however it ended", () => {
  const open = walk("", [...FAILED_ONCE, "head", "hello: resumed"]);
  assertEquals(open.state.link.attempt, 1);
  const [{ state }] = go(open, "offline: 10 min later", LATER_MS);
  assertEquals(state.link.attempt, 0);
});

test("what the application starts while the page is hidden has the whole hidden time before it", () => {
  const stopped = walk("", [...OPEN, "hidden", "stop"]);
  const [started] = go(stopped, "start", LATER_MS);
  const [{ state }] = go(started, "tick: early", 10);
  assertEquals(state.link.kind, "connecting");
});

test("nothing is said to have been reopened while there is no network", () => {
  const closed = walk("", [...OPEN, "pagehide", "offline"]);
  const [{ state }, effects] = go(closed, "visible", 10);
  assertEquals(state.link.kind, "offline");
  const told = effects.flatMap((effect) => effect.type === "record" ? [effect.record.kind] : []);
  assertEquals(told, ["state"]);
});
