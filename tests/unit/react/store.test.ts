import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { createStore, type OwnedStore, type UseStreamOptions } from "../../../src/react/store.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { at, frame, lag, PROMPT, PuppetServer } from "../client/puppet_server.ts";

type Lines = readonly string[];
type Options = UseStreamOptions<Lines>;

function make(
  options: Partial<Options> = {},
): { server: PuppetServer; store: OwnedStore<Lines>; all: Options } {
  const server = new PuppetServer();
  const all: Options = {
    url: "http://server.test/events",
    fetch: server.fetch,
    clock: PROMPT,
    initial: [],
    reduce: (lines, { data }) => [...lines, data],
    ...options,
  };
  return { server, store: createStore(all), all };
}

function until(store: OwnedStore<Lines>, ...lines: Lines): Promise<unknown> {
  return eventually(() => String(store.value()) === String(lines), {
    what: `${lines} where there is ${store.value()}`,
    everyMs: 1,
  });
}

test("a store does nothing until it is connected, and nothing after", async () => {
  const { server, store } = make();
  assertEquals([server.requests, store.state(), store.value()], [0, "stopped", []]);
  const disconnect = store.connect();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"));
  await until(store, "a");
  assertEquals(store.state(), "open");
  disconnect();
  assertEquals([store.state(), line.gone], ["stopped", true]);
  // What it has stays: a component that is shown again goes on from there.
  const again = store.connect();
  const next = await server.line(2);
  assertEquals(next.presented, at(1));
  next.hello({ verdict: "resumed", head: 1 });
  next.send(frame(2, "b"));
  await until(store, "a", "b");
  again();
});

test("of two mounts in one turn the first never reaches the server", async () => {
  const { server, store } = make();
  store.connect()();
  const disconnect = store.connect();
  (await server.line(1)).hello();
  await eventually(() => store.state() === "open", { what: "the open stream" });
  assertEquals(server.requests, 1);
  disconnect();
  // And a component that was gone before the turn's end does not, either.
  store.connect()();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(server.requests, 1);
});

test("listeners are told of what changed, and of nothing else", async () => {
  const { server, store } = make({
    reduce: (lines, { data }) => data === "same" ? lines : [...lines, data],
  });
  const seen: string[] = [];
  const unsubscribe = store.subscribe(() => seen.push(`${store.state()} ${store.value()}`));
  const disconnect = store.connect();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), frame(2, "same"), frame(3, "b"));
  await until(store, "a", "b");
  assertEquals(seen, ["connecting ", "open ", "open a", "open a,b"]);
  unsubscribe();
  line.send(frame(4, "c"));
  await until(store, "a", "b", "c");
  assertEquals(seen.length, 4);
  disconnect();
});

test("what a snapshot reads stays the same until something changes", () => {
  const { store } = make();
  assertStrictEquals(store.value(), store.value());
  assertStrictEquals(store.initial(), store.value());
});

test("a revalidation brings the state, and the frames that came meanwhile are reduced into it", async () => {
  const settle: ((lines: Lines | undefined) => void)[] = [];
  const given: Lines[] = [];
  const { server, store } = make({
    revalidate(context, lines) {
      assertEquals(context.cause, "hello");
      given.push(lines);
      return new Promise((resolve) => void settle.push(resolve));
    },
  });
  const disconnect = store.connect();
  const line = await server.line(1);
  line.hello({ head: 5 });
  line.send(frame(6, "new"));
  await eventually(() => line.asked >= 3, { what: "the frame to be read" });
  assertEquals(store.value(), []);
  settle[0]?.(["fetched"]);
  await until(store, "fetched", "new");

  // Nothing fetched: the state stays.
  line.end();
  const next = await server.line(2);
  next.hello({ verdict: "gap_floor", head: 9 });
  next.send(frame(10, "newer"));
  await eventually(() => settle.length === 2, { what: "the second run" });
  settle[1]?.(undefined);
  await until(store, "fetched", "new", "newer");
  assertEquals(given, [[], ["fetched", "new"]]);
  disconnect();
});

test("what a revalidation brings after it was given up is old, and dropped", async () => {
  const settle: ((lines: Lines) => void)[] = [];
  const { server, store } = make({
    revalidate: () => new Promise((resolve) => void settle.push(resolve)),
  });
  const disconnect = store.connect();
  (await server.line(1)).hello();
  await eventually(() => settle.length === 1, { what: "the run" });
  disconnect();
  settle[0]?.(["old"]);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(store.value(), []);
});

test("the functions and the headers of the newest render are used", async () => {
  const calls: string[] = [];
  const { server, store, all } = make({
    url: () => "http://server.test/first",
    headers: { "X-Render": "1" },
    revalidate: () => void calls.push("old revalidate") as undefined,
    onLifecycle: () => void calls.push("old record"),
    onLag: () => void calls.push("old lag"),
    onRefused: () => void calls.push("old refusal") as undefined,
  });
  store.update({
    ...all,
    url: () => "http://server.test/second",
    headers: () => ({ "X-Render": "2" }),
    reduce: (lines, { data }) => [...lines, data.toUpperCase()],
    revalidate: () => void calls.push("revalidate") as undefined,
    onLifecycle: ({ kind }) => void (kind === "hello" && calls.push("hello")),
    onLag: () => void calls.push("lag"),
    onRefused: ({ status }) => void calls.push(String(status)) as undefined,
  });
  server.refusals.push(503);
  const disconnect = store.connect();
  const line = await server.line(1);
  assertEquals(line.request.url, "http://server.test/second");
  assertEquals(line.request.headers.get("X-Render"), "2");
  line.hello();
  line.send(frame(1, "a"), lag(1, 1, 2));
  await until(store, "A");
  await eventually(() => calls.includes("lag"), { what: "the lag" });
  assertEquals(calls.slice(0, 4), ["503", "hello", "revalidate", "lag"]);
  disconnect();
});

test("a reducer that throws loses its frame, and the state is fetched anew", async () => {
  let runs = 0;
  const { server, store } = make({
    timing: { wakeThrottleMs: 0 },
    reduce(lines, { data }) {
      if (data === "bad") throw new Error("on purpose");
      return [...lines, data];
    },
    revalidate: () => ++runs === 1 ? undefined : ["fetched"],
  });
  const disconnect = store.connect();
  const line = await server.line(1);
  line.hello();
  line.send(frame(1, "a"), frame(2, "bad"));
  await until(store, "fetched");
  line.send(frame(3, "b"));
  await until(store, "fetched", "b");
  disconnect();
});

test("what tells two streams apart is the address, or what the application says", () => {
  const keyOf = (options: Partial<Options>): string => make(options).store.key;
  assertEquals(keyOf({ url: "http://server.test/a" }), "http://server.test/a");
  assertEquals(keyOf({ url: new URL("http://server.test/a") }), "http://server.test/a");
  assertEquals(keyOf({ url: () => "http://server.test/a" }), "");
  assertEquals(keyOf({ url: () => "http://server.test/a", key: "a" }), "a");
});

test("an option out of bounds is refused while the component renders", () => {
  assertThrows(() => make({ maxAttempts: -1 }), ConfigError, "maxAttempts");
});
