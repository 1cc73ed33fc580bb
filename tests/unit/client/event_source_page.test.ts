import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { assertEquals } from "@std/assert";
import { createEventSource } from "../../../src/client/event_source.ts";
import type { VisibilitySignal, VisibilitySource } from "../../../src/client/types.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { serve } from "../../../src/testing/serve.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { at, frame, PROMPT, PuppetServer, still } from "./puppet_server.ts";

/** Does something where the global scope has what a page has. */
async function within(scope: Readonly<Record<string, unknown>>, work: () => Promise<void>) {
  const before = Object.keys(scope).map((name) =>
    [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const
  );
  for (const [name, value] of Object.entries(scope)) {
    Object.defineProperty(globalThis, name, { configurable: true, value });
  }
  try {
    await work();
  } finally {
    for (const [name, property] of before) {
      if (property === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, property);
    }
  }
}

/** Nobody looks, or somebody does, as the test says. */
class Eyes implements VisibilitySource {
  readonly #listeners = new Set<(signal: VisibilitySignal) => void>();

  hidden(): boolean {
    return false;
  }

  subscribe(listener: (signal: VisibilitySignal) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  say(signal: VisibilitySignal): void {
    for (const listener of this.#listeners) listener(signal);
  }
}

test("an address is relative to the document's base, or else to where the page or worker is", async () => {
  const visibility = new Eyes();
  const location = { href: "http://page.test/app/index.html", origin: "http://page.test" };
  const urlOf = (url: string | URL): string => {
    const source = createEventSource(url, { visibility });
    source.close();
    return source.url;
  };
  await within({ location }, async () => {
    assertEquals(urlOf("events"), "http://page.test/app/events");
    assertEquals(urlOf("//other.test/x"), "http://other.test/x");
    await within({ document: { baseURI: "http://cdn.test/base/" } }, () => {
      assertEquals(urlOf("events"), "http://cdn.test/base/events");
      assertEquals(urlOf(new URL("http://third.test")), "http://third.test/");
      return Promise.resolve();
    });
  });
});

test("a page presents its cursor to its own origin in a header, and to others in the address", async () => {
  const location = { href: "http://page.test/", origin: "http://page.test" };
  const presentedTo = async (url: string, presentCursor?: "header" | "query") => {
    const server = new PuppetServer();
    const { fetch } = server;
    const source = createEventSource(url, {
      fetch,
      clock: PROMPT,
      ...(presentCursor !== undefined && { presentCursor }),
    });
    const first = await server.line(1);
    first.hello();
    first.send(frame(1, "a"));
    first.end();
    const { request } = await server.line(2);
    source.close();
    return [
      request.headers.get("Last-Event-ID"),
      new URL(request.url).searchParams.get("last_event_id"),
      // Any of these would make a browser ask the other server for leave first.
      [...request.headers.keys()].filter((name) => name !== "accept").length > 0,
    ];
  };
  await within({ location }, async () => {
    assertEquals(await presentedTo("/events"), [at(1), null, true]);
    assertEquals(await presentedTo("http://other.test/events"), [null, at(1), false]);
    assertEquals(await presentedTo("http://other.test/events", "header"), [at(1), null, true]);
    assertEquals(await presentedTo("/events", "query"), [null, at(1), false]);
  });
  assertEquals(await presentedTo("http://other.test/events"), [at(1), null, true]);
});

test("a source stays open while nobody looks, unless it is asked not to", async () => {
  const stateAfter = async (hiddenCloseAfterMs?: number): Promise<readonly unknown[]> => {
    const server = new PuppetServer();
    const clock = new FakeClock();
    const visibility = new Eyes();
    const source = createEventSource("http://server.test/", {
      fetch: server.fetch,
      clock: still(clock),
      visibility,
      ...(hiddenCloseAfterMs !== undefined && { timing: { hiddenCloseAfterMs } }),
    });
    const events: string[] = [];
    source.onopen = () => events.push("open");
    source.onerror = () => events.push(`error ${source.readyState}`);
    const line = await server.line(1);
    line.hello();
    await eventually(() => events.length === 1, { what: "the open event" });
    visibility.say("hidden");
    for (let minute = 0; minute < 60; minute++) clock.advance(60_000);
    const seen = [...events, source.readyState, line.gone];
    source.close();
    return seen;
  };
  assertEquals(await stateAfter(), ["open", 1, false]);
  assertEquals(await stateAfter(90_000), ["open", "error 0", 0, true]);
});

test("a listener that throws stops neither the others nor the stream, where the program lives on", async () => {
  const file = fileURLToPath(new URL("./event_source_throws.ts", import.meta.url));
  const args = "Deno" in globalThis
    ? ["run", "--allow-all", "--no-check", file]
    : "Bun" in globalThis
    ? [file]
    : ["--import", "tsx", file];
  const run = (mode: string): Promise<{ code: number | null; output: string }> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [...args, mode], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      let output = "";
      child.stdout.on("data", (text) => output += text);
      child.on("close", (code) => resolve({ code, output: output.trim() }));
    });
  const [handled, unhandled] = await Promise.all([run("handled"), run("unhandled")]);
  assertEquals([handled.code, handled.output.split("\n").sort()], [0, [
    "another listener: 1",
    "another listener: 2",
    "done",
    "reported: on purpose",
  ]]);
  // As with every event target of these runtimes: Bun alone goes on, and says so when it ends.
  assertEquals([unhandled.code, unhandled.output.includes("done")], [1, "Bun" in globalThis]);
});

if ("EventSource" in globalThis) {
  test("a program hears the same of this source as of the platform's", async () => {
    const hub = createHub({ replay: { maxEvents: 100, ttlMs: 600_000 }, reconnectDelayMs: 20 });
    await using server = await serve(hub, {
      handler: (request, host) =>
        hub.serve(request, {
          host,
          topics: ["a"],
          onConnect: (writer) => writer.event("", "welcome"),
        }),
    });
    const address = `${server.url}/events`;
    const watch = (source: EventSource): { source: EventSource; story: unknown[] } => {
      const story: unknown[] = [source.readyState, source.url, source.withCredentials];
      const note = (event: Event): void => {
        const { type } = event;
        // Not the origin: Deno's holds the whole address.
        const { data, lastEventId } = event as MessageEvent;
        story.push([type, source.readyState, data, lastEventId]);
      };
      source.onopen = note;
      source.onerror = note;
      source.onmessage = note;
      source.addEventListener("tick", note);
      return { source, story };
    };
    const both = [
      watch(new EventSource(address)),
      watch(createEventSource(address, { clock: PROMPT })),
    ];
    const length = (count: number): Promise<unknown> =>
      eventually(() => both.every(({ story }) => story.length >= count), {
        what: `${count} entries in ${both.map(({ story }) => JSON.stringify(story)).join("\n")}`,
      });
    await length(5);
    hub.publish({ topic: "a", data: "one\ntwo" });
    hub.publish({ topic: "a", name: "tick", data: "" });
    hub.publish({ topic: "b", data: "for others" });
    await length(7);
    hub.disconnect({ topic: "a" });
    hub.publish({ topic: "a", data: "missed" });
    await length(11);
    for (const { source, story } of both) {
      source.close();
      story.push(source.readyState);
    }
    const [theirs = [], ours = []] = both.map(({ story }) => story);
    // The one difference: what the platform does not know yet this source takes from the hello.
    const welcome = ["message", 1, "welcome"];
    assertEquals(theirs[4], [...welcome, ""]);
    assertEquals(ours.splice(4, 1, theirs[4]), [[...welcome, `${hub.position().epoch}:0`]]);
    assertEquals(ours, theirs);
    assertEquals(ours.length, 12);
  }, { foreignTimers: true });
}
