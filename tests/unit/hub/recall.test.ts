import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createHub } from "../../../src/hub/hub.ts";
import type { RecalledEvent } from "../../../src/hub/types.ts";
import { Echoes, MAX_ECHOES } from "../../../src/hub/echoes.ts";
import { readFrames } from "../../../src/testing/frames.ts";
import { encodeFrame } from "../../../src/wire/frame.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

test("what an application recalls while it is published comes once, and before what is new", async () => {
  const hub = createHub({ replay: { maxEvents: 64, ttlMs: 600_000 } });
  const { body } = hub.serve(new Request("http://localhost/"), { topics: ["other"] });
  const { connection } = JSON.parse((await readFrames(body, 2))[1]?.data ?? "{}");
  const log: RecalledEvent[] = [];
  const say = (data: string): void => {
    log.push({ name: "word", data });
    hub.publish({ topic: "talk", name: "word", data });
  };
  say("1");
  say("2");
  const recall = async function* (): AsyncGenerator<RecalledEvent> {
    // The log grows while it is read: what is said now is recalled, and live as well.
    yield log[0] ?? { data: "" };
    say("3");
    yield log[1] ?? { data: "" };
    hub.publish({ topic: "other", data: "in between" });
    yield log[2] ?? { data: "" };
  };
  assertEquals(await hub.subscribe(connection, "talk", { recall }), { verdict: "fresh", head: 2 });
  const frames = await readFrames(body, 6);
  assertEquals(frames.map(({ data }) => data), [
    '{"phase":"begin","topic":"talk"}',
    "1",
    "2",
    "3",
    '{"phase":"end","topic":"talk"}',
    "in between",
  ]);
  assert(frames.slice(1, 4).every(({ id }) => !id), "no cursor moves back");
  say("4");
  assertEquals((await readFrames(body, 1))[0]?.data, "4");
  await body?.cancel();
  await hub.shutdown();
});

test("a recall that throws ends the connection, which comes back and asks again", async () => {
  const errors: string[] = [];
  const logger = { ...silent, error: (message: string) => void errors.push(message) };
  const hub = createHub({ replay: { maxEvents: 64, ttlMs: 600_000 }, logger });
  const { body } = hub.serve(new Request("http://localhost/"), { topics: ["other"] });
  const { connection } = JSON.parse((await readFrames(body, 2))[1]?.data ?? "{}");
  // deno-lint-ignore require-yield -- it fails before it has anything
  const recall = async function* (): AsyncGenerator<RecalledEvent> {
    await Promise.resolve();
    throw new Error("the log is away");
  };
  await hub.subscribe(connection, "talk", { recall });
  const [begin, goodbye] = await readFrames(body, 2);
  assertEquals([begin?.event, goodbye?.event], ["sse:history", "sse:reset"]);
  assertEquals(errors.length, 1);
  await eventually(() => hub.clientCount === 0, { what: "the connection to end" });
  await hub.shutdown();
});

test("one occurrence cancels one, and only the newest are remembered", () => {
  const frame = (data: string): Uint8Array => encodeFrame(null, "word", data);
  const echoes = new Echoes();
  echoes.recalled(frame("a"));
  echoes.recalled(frame("a"));
  assertEquals(["a", "a", "a", "b"].map((data) => echoes.isEcho(frame(data))), [
    true,
    true,
    false,
    false,
  ]);
  for (let i = 0; i <= MAX_ECHOES; i++) echoes.recalled(frame(String(i)));
  assertEquals(echoes.isEcho(frame("0")), false, "in doubt it is delivered");
  assertEquals(echoes.isEcho(frame("1")), true);
});

test("a history that makes no sense is refused as the stream is served, and as it is subscribed", async () => {
  const hub = createHub({ replay: { maxEvents: 8, ttlMs: 600_000 } });
  const request = (): Request => new Request("http://localhost/");
  for (const history of [{ last: -1 }, { last: 1.5 }, { sinceMs: NaN }]) {
    assertThrows(() => hub.serve(request(), { topics: ["a"], history }), TypeError, "whole number");
    await assertRejects(() => hub.subscribe("nobody", "a", { history }), TypeError, "whole number");
  }
  assertEquals(hub.clientCount, 0);
  await hub.shutdown();
});
