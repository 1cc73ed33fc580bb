/** The options of a stream: which are refused, by which name, and what stands for what is not given. */
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { resolveOptions } from "../../../src/client/options.ts";
import { createStream } from "../../../src/client/stream.ts";
import { DEFAULT_TIMING } from "../../../src/client/timing.ts";
import type { StreamOptions } from "../../../src/client/types.ts";
import { test } from "../../support/test.ts";

const onFrame = (): void => {};
const least: StreamOptions = { url: "/events", onFrame };

/** What must be refused, and under which name. */
const REFUSED: readonly (readonly [name: string, options: Record<string, unknown>])[] = [
  ["url", { url: undefined }],
  ["url", { url: null }],
  ["url", { url: 7 }],
  ["url", { url: {} }],
  // One of it alone could be asked only once for all that anybody knows.
  ["url", { url: new Request("http://server.test/") }],
  ["onFrame", { onFrame: undefined }],
  ["onFrame", { onFrame: "apply" }],
  ["presentCursor", { presentCursor: "cookie" }],
  ["presentCursor", { presentCursor: "" }],
  ["maxAttempts", { maxAttempts: -1 }],
  ["maxAttempts", { maxAttempts: 1.5 }],
  ["maxAttempts", { maxAttempts: NaN }],
  ["maxAttempts", { maxAttempts: Infinity }],
  ["maxAttempts", { maxAttempts: "3" }],
  ["minWire", { minWire: 0 }],
  ["minWire", { minWire: 1.5 }],
  ["maxWire", { maxWire: 0 }],
  ["maxWire", { maxWire: 2 }],
  ["maxWire", { minWire: 2 }],
  ["alive.everyBeats", { alive: { url: "/alive", everyBeats: 0 } }],
  ["alive.everyBeats", { alive: { url: "/alive", everyBeats: 1.5 } }],
  ["timing.baseMs", { timing: { baseMs: 0 } }],
  ["timing.capMs", { timing: { capMs: 2 ** 31 } }],
  ["timing.typo", { timing: { typo: 1 } }],
];

for (const [name, given] of REFUSED) {
  const shown = JSON.stringify(
    given,
    (_, value) =>
      value instanceof Request ? "a Request" : typeof value === "number" ? `${value}` : value,
  );
  test(`an option ${name} of ${shown} is refused by name when the stream is made`, () => {
    const options = { ...least, ...given } as StreamOptions;
    const error = assertThrows(() => createStream(options), ConfigError);
    assertEquals(error.option, name);
    assertEquals(error.message.startsWith(`Cannot use option ${name}: `), true);
  });
}

test("a stream needs an address and somebody who takes frames, and nothing more", () => {
  const { presentCursor, maxAttempts, minWire, maxWire, timing, ...rest } = resolveOptions(least);
  assertEquals([presentCursor, maxAttempts, minWire, maxWire], ["header", 0, 1, 1]);
  assertEquals(timing, DEFAULT_TIMING);
  // Nobody tells a server when it is hidden or offline: it never is.
  assertEquals([rest.visibility.hidden(), rest.online.online()], [false, true]);
  assertEquals(createStream(least).state(), "stopped");
});

test("whatever is allowed is let through", () => {
  const url = new URL("http://server.test/");
  for (const each of ["", "/", url, () => "/"]) createStream({ url: each, onFrame });
  createStream({ ...least, maxAttempts: 0, minWire: 1, maxWire: 1, alive: { url: "/alive" } });
  createStream({ ...least, alive: { url: "/alive", everyBeats: 4 }, timing: {} });
});

test("an application's own object is read through: methods keep their this, later changes count", () => {
  class Application implements StreamOptions {
    readonly url = "/events";
    tag = "1";
    readonly seen: string[] = [];
    onFrame(): void {
      this.seen.push("frame");
    }
    get headers(): Record<string, string> {
      return { "X-Tag": this.tag };
    }
  }
  const application = new Application();
  const options = resolveOptions(application);
  application.tag = "2";
  assertEquals<unknown>(options.headers, { "X-Tag": "2" });
  options.onFrame({ type: "message", data: "", id: null });
  assertEquals(application.seen, ["frame"]);
  // Nothing is written back.
  assertEquals(Object.keys(application), ["url", "tag", "seen"]);
});

test("the platform's fetch is looked up at each request, and called as a function of its own", async () => {
  const { fetch } = globalThis;
  const { fetch: resolved } = resolveOptions(least);
  const response = new Response("here");
  try {
    globalThis.fetch = () => Promise.resolve(response);
    assertStrictEquals(await resolved("http://server.test/"), response);
  } finally {
    globalThis.fetch = fetch;
  }
});
