import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { frames, type FramesOptions, type Gap } from "../../../src/client/frames.ts";
import type { Fetch, Frame } from "../../../src/client/types.ts";
import { ConfigError, CursorError, GapError, RefusedError } from "../../../src/errors.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import {
  at,
  frame,
  greeting,
  lag,
  type Line,
  mark,
  PROMPT,
  PuppetServer,
  still,
} from "./puppet_server.ts";

const ADDRESS = "http://server.test/events";

/** A loop's iterator at a puppet of a server. */
function open(
  options: FramesOptions = {},
): { server: PuppetServer; loop: AsyncIterableIterator<Frame> } {
  const server = new PuppetServer();
  return { server, loop: frames(ADDRESS, { fetch: server.fetch, clock: PROMPT, ...options }) };
}

/** Asks for the first frame, which connects, and greets. */
async function begin(
  server: PuppetServer,
  loop: AsyncIterableIterator<Frame>,
): Promise<{ line: Line; first: Promise<IteratorResult<Frame>> }> {
  const first = loop.next();
  const line = await server.line(1);
  line.hello();
  return { line, first };
}

function gone(line: Line): Promise<unknown> {
  return eventually(() => line.gone, { what: "the end of the connection", everyMs: 1 });
}

/** How many listeners a signal has, as it would leak them. */
function counted(signal: AbortSignal): () => number {
  let count = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    count++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    count--;
    removeEventListener.apply(signal, args);
  };
  return () => count;
}

/** Lets whatever would happen by itself happen. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
}

test("a loop connects when it asks for its first frame, and gets each in order", async () => {
  const { server, loop } = open();
  assertEquals(server.requests, 0);
  const seen: Frame[] = [];
  const reading = (async () => {
    for await (const frame of loop) {
      seen.push(frame);
      if (seen.length === 3) break;
    }
  })();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), mark(2));
  line.send(frame(3, "b", "tick"), frame(null, "c"), frame(4, "never asked for"));
  await reading;
  assertEquals(seen, [
    { type: "message", data: "a", id: at(1) },
    { type: "tick", data: "b", id: at(3) },
    { type: "message", data: "c", id: null },
  ]);
  await gone(line);
  assertEquals(await loop.next(), { done: true, value: undefined });
  assertEquals(server.requests, 1);
});

test("a loop resumes by itself, and gets what it missed once", async () => {
  const { server, loop } = open();
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"), frame(2, "b"));
  assertEquals((await first).value?.data, "a");
  line.end();
  assertEquals((await loop.next()).value?.data, "b");
  const third = loop.next();
  const again = await server.line(2);
  assertEquals(again.presented, at(2));
  again.hello({ verdict: "resumed", head: 4 });
  again.send(frame(3, "c"), frame(4, "d"));
  assertEquals([(await third).value?.data, (await loop.next()).value?.data], ["c", "d"]);
  await loop.return?.();
  await gone(again);
});

test("an exception in the loop's body closes the connection", async () => {
  const { server, loop } = open();
  const reading = (async () => {
    for await (const { data } of loop) throw new Error(`on purpose at ${data}`);
  })();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"));
  await assertRejects(() => reading, Error, "on purpose at a");
  await gone(line);
});

test("return ends a wait for the next frame at once, and throw does too", async () => {
  for (const how of ["return", "throw"] as const) {
    const { server, loop } = open();
    const { line, first } = await begin(server, loop);
    const ended = how === "return"
      ? loop.return?.()
      : assertRejects(async () => await loop.throw?.(new Error("on purpose")), Error, "on purpose");
    assertEquals(await first, { done: true, value: undefined });
    await ended;
    await gone(line);
  }
});

test("a loop that was given up before it began never connects", async () => {
  const { server, loop } = open();
  assertEquals(await loop.return?.(), { done: true, value: undefined });
  assertEquals([await loop.next(), server.requests], [{ done: true, value: undefined }, 0]);
});

test("frames that were asked for together come in order", async () => {
  const { server, loop } = open();
  const asked = [loop.next(), loop.next(), loop.next()];
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), frame(2, "b"), frame(3, "c"));
  assertEquals((await Promise.all(asked)).map(({ value }) => value?.data), ["a", "b", "c"]);
  await loop.return?.();
});

test("a signal ends the loop with its reason, and keeps no listener", async () => {
  const reason = new Error("enough");

  const before = open({ signal: AbortSignal.abort(reason) });
  assertStrictEquals(await assertRejects(() => before.loop.next()), reason);
  assertEquals(before.server.requests, 0);

  const controller = new AbortController();
  const listeners = counted(controller.signal);
  const { server, loop } = open({ signal: controller.signal });
  assertEquals(listeners(), 0);
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"), frame(2, "b"));
  assertEquals((await first).value?.data, "a");
  assertEquals(listeners(), 1);
  controller.abort(reason);
  // At once: also while the loop's body is busy.
  assert(line.gone);
  assertStrictEquals(await assertRejects(() => loop.next()), reason);
  assertEquals(await loop.next(), { done: true, value: undefined });
  assertEquals(listeners(), 0);

  const waiting = new AbortController();
  const other = open({ signal: waiting.signal });
  const started = await begin(other.server, other.loop);
  waiting.abort();
  const error = await assertRejects(() => started.first, DOMException);
  assertEquals(error.name, "AbortError");
});

test("no listener is left on a signal, however the loop ends", async () => {
  const { signal } = new AbortController();
  const listeners = counted(signal);
  const broken = open({ signal });
  const { line, first } = await begin(broken.server, broken.loop);
  line.send(frame(1, "a"));
  await first;
  await broken.loop.return?.();
  const refused = open({ signal });
  refused.server.refusals.push(404);
  await assertRejects(() => refused.loop.next(), RefusedError);
  assertEquals(listeners(), 0);
});

test("nothing is read while a frame waits for the loop, and one piece when none does", async () => {
  const { server, loop } = open();
  const { line, first } = await begin(server, loop);
  // The second is asked for while the first, which is the hello, is being read.
  await eventually(() => line.asked === 2, { what: "the second piece to be asked for" });
  line.send(frame(1, "a"), frame(2, "b"), frame(3, "c"));
  assertEquals((await first).value?.data, "a");
  line.send(frame(4, "d"));
  await loop.next();
  // "c" waits. Whoever would read on has had many turns in which to do so.
  await turns();
  assertEquals(line.asked, 2);
  await loop.next();
  await eventually(() => line.asked === 3, { what: "the third piece to be asked for" });
  assertEquals((await loop.next()).value?.data, "d");
  await loop.return?.();
});

test("a frame that waits does not keep another connection from its hello", async () => {
  const { server, loop } = open();
  const { line, first } = await begin(server, loop);
  // A second hello is against the wire: the connection is given up, and what it brought stays.
  line.send(frame(1, "a"), frame(2, "b"), greeting());
  assertEquals((await first).value?.data, "a");
  const again = await server.line(2);
  again.hello({ verdict: "resumed", head: 2 });
  await eventually(() => again.asked === 1, { what: "the hello to be asked for" });
  assertEquals((await loop.next()).value?.data, "b");
  await loop.return?.();
});

test("nothing follows the end of a loop, not even what came in the same piece", async () => {
  const controller = new AbortController();
  const { server, loop } = open({
    signal: controller.signal,
    onGap() {},
    onLifecycle: ({ kind }) => kind === "lag" && controller.abort(),
  });
  const first = loop.next();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"));
  assertEquals((await first).value?.data, "a");
  const second = loop.next();
  line.send(lag(1, 1, 2), frame(3, "b"), frame(4, "c"));
  await assertRejects(() => second, DOMException);
  assertEquals(await loop.next(), { done: true, value: undefined });
});

test("a connection ends with its loop even where its fetch takes no notice of a signal", async () => {
  const server = new PuppetServer();
  const fetch: Fetch = (input, { headers } = {}) => server.fetch(input, headers ? { headers } : {});
  const loop = frames(ADDRESS, { fetch, clock: PROMPT });
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"), frame(2, "b"));
  await first;
  await loop.return?.();
  await gone(line);
});

test("a loop that takes its time is not taken for a silent server", async () => {
  const clock = new FakeClock();
  const { server, loop } = open({ clock: still(clock) });
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"), frame(2, "b"));
  await first;
  clock.advance(3_600_000);
  assertEquals([line.gone, server.requests], [false, 1]);
  assertEquals((await loop.next()).value?.data, "b");
  // But while it waits for the server it is watched again.
  const third = loop.next();
  await eventually(() => line.asked === 3, { what: "the third piece to be asked for" });
  clock.advance(3_600_000);
  await gone(line);
  await loop.return?.();
  await third;
});

test("the first hello is no gap, whatever it says, unless a cursor was to go on from", async () => {
  const fresh = open();
  const { line, first } = await begin(fresh.server, fresh.loop);
  line.send(frame(1, "a"));
  assertEquals((await first).value?.data, "a");
  await fresh.loop.return?.();

  const { server, loop } = open({ cursor: at(7) });
  const next = loop.next();
  const asked = await server.line(1);
  assertEquals(asked.presented, at(7));
  asked.hello({ verdict: "gap_floor", head: 90 });
  const error = await assertRejects(() => next, GapError, "some frames are missing (gap_floor)");
  assertEquals([error.code, error.reason, error.missed], ["gap", "gap_floor", null]);
  assertEquals([error.from, error.to], [at(7), at(90)]);
  await gone(asked);
});

test("a loop goes on from a cursor, without a gap where the server resumes", async () => {
  const { server, loop } = open({ cursor: at(7) });
  const next = loop.next();
  const line = await server.line(1);
  line.hello({ verdict: "resumed", head: 9 });
  line.send(frame(8, "a"));
  assertEquals((await next).value, { type: "message", data: "a", id: at(8) });
  await loop.return?.();
});

test("a gap ends the loop after every frame before it", async () => {
  const { server, loop } = open();
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"), frame(2, "b"), lag(7, 2, 9), frame(10, "behind"));
  assertEquals((await first).value?.data, "a");
  assertEquals((await loop.next()).value?.data, "b");
  const error = await assertRejects(() => loop.next(), GapError, "7 frames are missing (lag)");
  assertEquals([error.missed, error.from, error.to], [7, at(2), at(9)]);
  assertEquals(await loop.next(), { done: true, value: undefined });
  await gone(line);
});

test("a gap that is asked for is told in its place, and holds up what is behind it", async () => {
  const story: unknown[] = [];
  const settle: (() => void)[] = [];
  const { server, loop } = open({
    onGap: (gap) => {
      story.push(gap);
      return new Promise<void>((resolve) => void settle.push(resolve));
    },
  });
  const reading = (async () => {
    for await (const { data } of loop) {
      story.push(data);
      if (data === "d") break;
    }
  })();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), lag(null, 1, 4), frame(5, "b"), frame(6, "c"));
  await eventually(() => settle.length === 1, { what: "the first gap" });
  await turns();
  const lost: Gap = { reason: "lag", missed: null, from: at(1), to: at(4), repair: false };
  assertEquals(story, ["a", lost]);
  settle[0]?.();
  await eventually(() => story.length === 4, { what: "what is behind it" });
  line.end();
  const again = await server.line(2);
  const epoch = "0123456789abcdef";
  again.hello({ verdict: "epoch_changed", epoch, head: 3, repair: true });
  again.send(frame(null, "d"));
  await eventually(() => settle.length === 2, { what: "the second gap" });
  settle[1]?.();
  await reading;
  const changed: Gap = {
    reason: "epoch_changed",
    missed: null,
    from: at(6),
    to: at(3, epoch),
    repair: true,
  };
  assertEquals(story, ["a", lost, "b", "c", changed, "d"]);
});

test("what onGap throws ends the loop", async () => {
  const onGap = (): Promise<void> => Promise.reject(new Error("no state either"));
  const { server, loop } = open({ onGap });
  const { line, first } = await begin(server, loop);
  line.send(lag(1, 0, 1));
  await assertRejects(() => first, Error, "no state either");
  await gone(line);
});

test("a refusal for good ends the loop after every frame before it", async () => {
  const { server, loop } = open();
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"), frame(2, "b"));
  server.refusals.push(404);
  await first;
  line.end();
  assertEquals((await loop.next()).value?.data, "b");
  const error = await assertRejects(() => loop.next(), RefusedError, "404");
  assertEquals([error.code, error.status], ["refused", 404]);
  assertEquals(server.requests, 2);
});

test("spent attempts end the loop", async () => {
  const { server, loop } = open({ maxAttempts: 3 });
  server.refusals.push(503, 503, 500);
  const error = await assertRejects(() => loop.next(), RefusedError, "attempt 3");
  assertEquals([error.status, server.requests], [500, 3]);
});

test("attempts that are spent while the loop is busy are not begun anew before it asks", async () => {
  const states: string[] = [];
  const { server, loop } = open({
    maxAttempts: 1,
    onLifecycle: (record) => void (record.kind === "state" && states.push(record.to)),
  });
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"));
  await first;
  line.end();
  // The page's next sign of life would start what is only exhausted.
  await eventually(() => states.includes("stopped"), { what: `the stop after ${states}` });
  await assertRejects(() => loop.next(), RefusedError);
  assertEquals(states, ["connecting", "open", "exhausted", "stopped"]);
});

test("who brings the address can end the loop with an error of its own", async () => {
  const mine = new RefusedError("the ticket is sold", 402);
  const server = new PuppetServer();
  const url = (): Promise<string> => Promise.reject(mine);
  const loop = frames(url, { fetch: server.fetch, clock: PROMPT });
  assertStrictEquals(await assertRejects(() => loop.next()), mine);
  assertEquals(server.requests, 0);
});

test("options out of bounds are refused at once", () => {
  assertThrows(() => frames(ADDRESS, { cursor: "42" }), CursorError);
  assertThrows(() => frames(ADDRESS, { maxAttempts: -1 }), ConfigError, "maxAttempts");
});

test("the application hears of the stream's life", async () => {
  const kinds: string[] = [];
  const { server, loop } = open({ onLifecycle: ({ kind }) => void kinds.push(kind) });
  const { line, first } = await begin(server, loop);
  line.send(frame(1, "a"));
  await first;
  await loop.return?.();
  assertEquals([...new Set(kinds)].filter((kind) => ["state", "hello"].includes(kind)), [
    "state",
    "hello",
  ]);
});
