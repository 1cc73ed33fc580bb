import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import {
  createEventSource,
  type EventSourceOptions,
  ResumingEventSource,
} from "../../../src/client/event_source.ts";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { at, frame, lag, mark, PROMPT, PuppetServer } from "./puppet_server.ts";

const URL_OF_STREAM = "http://server.test/events?topic=a";

/** A source at a puppet of a server, and what it has dispatched, in order. */
function open(
  options: EventSourceOptions = {},
): { server: PuppetServer; source: ResumingEventSource; story: string[] } {
  const server = new PuppetServer();
  const source = createEventSource(URL_OF_STREAM, {
    fetch: server.fetch,
    clock: PROMPT,
    ...options,
  });
  const story: string[] = [];
  source.addEventListener("open", () => story.push(`open ${source.readyState}`));
  source.addEventListener("error", () => story.push(`error ${source.readyState}`));
  source.addEventListener("verdict", ({ detail }) => story.push(`verdict ${detail.verdict}`));
  source.addEventListener("message", ({ data, lastEventId }) => {
    story.push(`message ${data} ${lastEventId}`);
  });
  source.addEventListener("tick", (event) => story.push(`tick ${event.data} ${event.lastEventId}`));
  return { server, source, story };
}

function until(story: readonly string[], last: string): Promise<unknown> {
  return eventually(() => story.includes(last), { what: `"${last}" in ${story}`, everyMs: 1 });
}

test("a source connects after the code that made it, and tells of it in the standard's order", async () => {
  const records: LifecycleRecord[] = [];
  const { server, source, story } = open({ onLifecycle: (record) => void records.push(record) });
  assertEquals([source.readyState, source.url], [0, URL_OF_STREAM]);
  // Whoever hears of the source's life does so when it is in hand.
  assertEquals([server.requests, records], [0, []]);
  const line = await server.line(1);
  assertEquals([source.readyState, line.presented], [ResumingEventSource.CONNECTING, null]);
  line.hello({ head: 4 });
  line.send(frame(5, "a"), frame(6, "b", "tick"));
  await until(story, `tick b ${at(6)}`);
  assertEquals(story, ["open 1", "verdict fresh", `message a ${at(5)}`, `tick b ${at(6)}`]);
  source.close();
  assertEquals(source.readyState, ResumingEventSource.CLOSED);
  await eventually(() => line.gone, { what: "the end of the connection" });
});

test("a verdict says what the hello says", async () => {
  const { server, source } = open();
  const told = new Promise((resolve) => {
    source.addEventListener("verdict", ({ detail }) => resolve(detail));
  });
  (await server.line(1)).hello({ verdict: "gap_floor", head: 9, repair: true });
  assertEquals(await told, {
    verdict: "gap_floor",
    resumed: false,
    repair: true,
    epoch: at(0).slice(0, 16),
    floor: "0",
    head: "9",
  });
  source.close();
});

test("the last id sticks to events without one, and an id alone moves it", async () => {
  const { server, source, story } = open();
  const line = await server.line(1);
  line.hello();
  line.send(
    mark(3),
    frame(null, "hook"),
    frame(4, "x"),
    frame(null, "y"),
    mark(8),
    frame(null, "z"),
  );
  await until(story, `message z ${at(8)}`);
  assertEquals(story.slice(2), [
    `message hook ${at(3)}`,
    `message x ${at(4)}`,
    `message y ${at(4)}`,
    `message z ${at(8)}`,
  ]);
  assertEquals(source.lastEventId, at(8));
  source.close();
});

test("every loss is an error while another connection is on its way, which presents the cursor", async () => {
  const { server, source, story } = open();
  const first = await server.line(1);
  first.hello();
  first.send(frame(1, "a"));
  await until(story, `message a ${at(1)}`);
  server.refusals.push(503, 500);
  first.end();
  const second = await server.line(2);
  assertEquals(second.presented, at(1));
  second.hello({ verdict: "resumed", head: 1 });
  await until(story, "verdict resumed");
  second.cut();
  (await server.line(3)).hello({ verdict: "resumed", head: 1 });
  await eventually(() => story.length === 11, { what: "the third connection", everyMs: 1 });
  assertEquals(story, [
    "open 1",
    "verdict fresh",
    `message a ${at(1)}`,
    // The loss, and two attempts that failed.
    "error 0",
    "error 0",
    "error 0",
    "open 1",
    "verdict resumed",
    "error 0",
    "open 1",
    "verdict resumed",
  ]);
  source.close();
});

for (const status of [204, 404]) {
  test(`a source that is refused with ${status} is closed for good, with one error`, async () => {
    const server = new PuppetServer();
    server.refusals.push(status);
    const { source, story } = open({ fetch: server.fetch });
    await until(story, "error 2");
    source.close();
    assertEquals([story, server.requests], [["error 2"], 1]);
  });
}

test("a source whose attempts are spent is closed for good", async () => {
  const server = new PuppetServer();
  server.refusals.push(500, 500, 500);
  const states: string[] = [];
  const { story } = open({
    fetch: server.fetch,
    maxAttempts: 3,
    onLifecycle: (record) => void (record.kind === "state" && states.push(record.to)),
  });
  await until(story, "error 2");
  assertEquals([story, server.requests], [["error 0", "error 0", "error 2"], 3]);
  // Else the page's next sign of life would open what says that it is closed.
  assertEquals(states.slice(-2), ["exhausted", "stopped"]);
});

test("after close nothing is dispatched, not even what had come with the event before", async () => {
  const { server, source, story } = open();
  source.onmessage = () => source.close();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), frame(2, "b"), frame(3, "c", "tick"));
  await until(story, `message a ${at(1)}`);
  await eventually(() => line.gone, { what: "the end of the connection" });
  assertEquals([story.slice(2), source.readyState], [[`message a ${at(1)}`], 2]);
});

test("a source that is closed as it opens tells no verdict", async () => {
  const { server, source, story } = open();
  source.onopen = () => source.close();
  const line = await server.line(1);
  line.hello();
  await until(story, "open 1");
  await eventually(() => line.gone, { what: "the end of the connection" });
  assertEquals([story, source.readyState], [["open 1"], 2]);
});

test("after close nothing is dispatched of what a revalidation had held back, either", async () => {
  let settle = (): void => {};
  const { server, source, story } = open({
    revalidate: () => new Promise((resolve) => void (settle = resolve)),
  });
  source.onmessage = () => source.close();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), frame(2, "b"), frame(3, "c"));
  await eventually(() => line.asked >= 3, { what: "the client to have read it" });
  settle();
  await until(story, `message a ${at(1)}`);
  await eventually(() => line.gone, { what: "the end of the connection" });
  assertEquals(story.slice(2), [`message a ${at(1)}`]);
});

test("a source that is closed before it has connected never connects", async () => {
  const { server, source, story } = open();
  source.close();
  // What follows in line: the source's own turn is over then.
  const other = open({ fetch: server.fetch });
  await server.line(1);
  other.source.close();
  assertEquals([server.requests, story, source.readyState], [1, [], 2]);
});

test("an address that is none is the standard's SyntaxError, at once", () => {
  for (const url of ["http://[", "/events", ""]) {
    const error = assertThrows(() => createEventSource(url), DOMException);
    assertEquals(error.name, "SyntaxError");
  }
});

test("credentials are those of the standard", async () => {
  for (const withCredentials of [undefined, false, true]) {
    const { server, source } = open(withCredentials === undefined ? {} : { withCredentials });
    const { init } = await server.line(1);
    assertEquals(init.credentials, withCredentials === true ? "include" : "same-origin");
    assertEquals(source.withCredentials, withCredentials === true);
    source.close();
  }
});

test("events come from the origin of the address, or of where a redirect led", async () => {
  for (
    const [from, origin] of [["", "http://server.test"], [
      "https://other.test/x",
      "https://other.test",
    ]] as const
  ) {
    const { server, source } = open();
    server.from = from;
    const came = new Promise<MessageEvent<string>>((resolve) => {
      source.onmessage = resolve;
    });
    const line = await server.line(1);
    line.hello();
    line.send(frame(1, "a"));
    const event = await came;
    assertInstanceOf(event, MessageEvent);
    assertEquals([event.origin, event.type, event.data], [origin, "message", "a"]);
    source.close();
  }
});

test("the constants stand on the class and on each source", () => {
  const { source } = open();
  source.close();
  for (const each of [source, ResumingEventSource]) {
    assertEquals([each.CONNECTING, each.OPEN, each.CLOSED], [0, 1, 2]);
  }
  assertInstanceOf(source, EventTarget);
  // What is typed as the platform's takes this one.
  const dropIn: EventSource = source;
  assertEquals(dropIn.readyState, dropIn.CLOSED);
});

test("a handler keeps its place when it is replaced, and loses it when it is taken away", async () => {
  const { server, source } = open();
  const calls: string[] = [];
  const note = (name: string) => () => void calls.push(name);
  assertEquals([source.onopen, source.onmessage, source.onerror], [null, null, null]);
  source.onmessage = note("old");
  source.addEventListener("message", note("listener"));
  source.onmessage = function (this: unknown) {
    calls.push(this === source ? "handler" : "handler without its source");
  };
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"));
  await eventually(() => calls.length === 2, { what: "both calls" });
  assertEquals(calls.splice(0), ["handler", "listener"]);

  source.onmessage = null;
  assertEquals(source.onmessage, null);
  source.onmessage = note("last");
  line.send(frame(2, "b"));
  await eventually(() => calls.length === 2, { what: "both calls" });
  assertEquals(calls.splice(0), ["listener", "last"]);

  // As in the standard, where anything may be assigned.
  Reflect.set(source, "onmessage", "no function");
  assertEquals(source.onmessage, null);
  line.send(frame(3, "c"));
  await eventually(() => calls.length === 1, { what: "the listener's call" });
  assertEquals(calls, ["listener"]);
  source.close();
});

test("the open and error handlers are called with their events", async () => {
  const { server, source } = open();
  const types: string[] = [];
  source.onopen = (event) => void types.push(event.type);
  source.onerror = (event) => void types.push(event.type);
  const line = await server.line(1);
  line.hello();
  await eventually(() => types.length === 1, { what: "the open event" });
  line.end();
  await eventually(() => types.length === 2, { what: "the error event" });
  assertEquals(types, ["open", "error"]);
  source.close();
});

test("lost events are told, as an event and to the option", async () => {
  const lags: unknown[] = [];
  const { server, source } = open({ onLag: (lag) => void lags.push(lag) });
  source.addEventListener("lag", ({ detail }) => void lags.push(detail));
  const line = await server.line(1);
  line.hello();
  line.send(lag(7, 0, 9));
  await eventually(() => lags.length === 2, { what: "both" });
  assertEquals(lags[0], { missed: 7, from: at(0), to: at(9) });
  assertEquals(lags[1], lags[0]);
  source.close();
});

test("a server's event of any name is dispatched by it, even one that a source has of its own", async () => {
  const server = new PuppetServer();
  const source = createEventSource(URL_OF_STREAM, { fetch: server.fetch });
  const names = ["open", "error", "verdict", "lag", "constructor"];
  const seen: string[] = [];
  for (const name of names) {
    source.addEventListener(name, (event: Event) => {
      if (event instanceof MessageEvent) seen.push(`${event.type} ${event.data}`);
    });
  }
  const line = await server.line(1);
  line.hello();
  line.send(...names.map((name, index) => frame(index + 1, name, name)));
  await eventually(() => seen.length === names.length, { what: "every event" });
  assertEquals(seen, names.map((name) => `${name} ${name}`));
  source.close();
});

test("a revalidation holds the events back until it has settled", async () => {
  let settle: (() => void) | undefined;
  const { server, source, story } = open({
    revalidate: () => new Promise((resolve) => void (settle = resolve)),
  });
  const line = await server.line(1);
  line.hello({ head: 3 });
  line.send(frame(4, "a"));
  await eventually(() => line.asked >= 3, { what: "the client to have read it" });
  assertEquals(story, ["open 1", "verdict fresh"]);
  settle?.();
  await until(story, `message a ${at(4)}`);
  source.close();
});
