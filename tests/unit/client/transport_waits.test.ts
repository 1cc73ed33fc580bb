/** What an attempt does while something that it needs does not come. */
import { assertEquals } from "@std/assert";
import type { Attempt, Fetch } from "../../../src/client/types.ts";
import { eventually } from "../../support/poll.ts";
import { serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, frame, gate, greeting, only, turns, watch } from "./edges.ts";

/** A fetch that never answers, and what it was called with. */
function deaf(): { readonly fetch: Fetch; readonly calls: [string, RequestInit][] } {
  const calls: [string, RequestInit][] = [];
  const fetch: Fetch = (input, init = {}) => {
    calls.push([String(input), init]);
    return new Promise((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
  };
  return { fetch, calls };
}

test("the time of an attempt covers the url function, the headers and the request together", async () => {
  const never = (): Promise<never> => new Promise(() => {});
  const { fetch } = deaf();
  for (const options of [{ url: never }, { url: "/", headers: never }, { url: "/", fetch }]) {
    const watched = watch({ ...options, timing: { connectTimeoutMs: 4000 } });
    const { stream, clock, records } = watched;
    stream.start();
    await turns();
    clock.advance(3999);
    assertEquals(stream.state(), "connecting");
    clock.advance(1);
    const failures = only(records, "connect_failed").map(({ reason, detail }) => [reason, detail]);
    assertEquals(failures, [["connect_timeout", "nothing in 4000 ms"]]);
    assertEquals(stream.state(), "backoff");
    stream.stop();
    await turns();
    // What was given up has nothing more to say.
    assertEquals([clock.pending, only(records, "stale_event")], [0, []]);
  }
});

for (const way of ["stop", "reconnect", "resetCursor"] as const) {
  test(`a ${way} aborts the signal of the url function, whose late answer is not asked`, async () => {
    const attempts: Attempt[] = [];
    const { fetch, calls } = deaf();
    const { opened, open } = gate();
    const watched = watch({
      fetch,
      url: async (attempt) => {
        const number = attempts.push(attempt);
        if (number === 1) await opened;
        return `/${number}`;
      },
    });
    const { stream, records } = watched;
    stream.start();
    assertEquals(attempts.map(({ signal }) => signal.aborted), [false]);
    stream[way]();
    assertEquals(attempts[0]?.signal.aborted, true);
    open();
    const expected = way === "stop" ? [] : ["/2"];
    await eventually(() => calls.length === expected.length, { what: "the request", everyMs: 1 });
    // The first answer has had its turns, too.
    await turns();
    assertEquals(calls.map(([url]) => url), expected);
    stream.stop();
    assertEquals(only(records, "connect_failed"), []);
  });
}

test("an attempt that is given up while its headers come asks for nothing", async () => {
  const { fetch, calls } = deaf();
  const { opened, open } = gate();
  const watched = watch({ url: "/", fetch, headers: () => opened.then(() => ({ "X-Tag": "1" })) });
  watched.stream.start();
  watched.stream.stop();
  open();
  await turns();
  assertEquals([calls, watched.records.length], [[], 2]);
});

test("a request says what it is: no cache, its signal, and credentials only where they are asked for", async () => {
  const { fetch, calls } = deaf();
  for (const credentials of [undefined, "include", "omit"] as const) {
    const watched = watch({
      url: "/x",
      fetch,
      ...(credentials === undefined ? {} : { credentials }),
    });
    watched.stream.start();
    await eventually(() => calls.length === 1, { what: "the request", everyMs: 1 });
    const [[url, init] = []] = calls.splice(0);
    assertEquals([url, init?.credentials], ["/x", credentials]);
    assertEquals(Object.hasOwn(init ?? {}, "credentials"), credentials !== undefined);
    // A host whose requests have no such field may refuse it.
    assertEquals(init?.cache, "cache" in Request.prototype ? "no-store" : undefined);
    assertEquals(init?.signal?.aborted, false);
    watched.stream.stop();
    assertEquals(init?.signal?.aborted, true);
  }
});

test("a relative address stays as it is, with the cursor behind its query", async () => {
  const { fetch, calls } = deaf();
  const watched = watch({
    url: "events?topic=a#x",
    fetch,
    presentCursor: "query",
    persist: { load: () => ({ cursor: at(3), unverified: false }), save: () => {} },
  });
  watched.stream.start();
  await eventually(() => calls.length === 1, { what: "the request", everyMs: 1 });
  const cursor = encodeURIComponent(at(3));
  assertEquals(calls[0]?.[0], `events?topic=a&last_event_id=${cursor}&lag=1#x`);
  watched.stream.stop();
});

test("a drip of bytes without a hello has the time of a hello from the head on, and no more", async () => {
  let send = (_: Uint8Array): void => {};
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (send = (bytes) => controller.enqueue(bytes)),
  });
  const response = new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  const watched = watch({ url: "/", fetch: () => Promise.resolve(response) });
  const { stream, clock, records } = watched;
  stream.start();
  // The head puts the deadline of the hello in the place of its own.
  await eventually(() => clock.left === 10_000, { what: "the head", everyMs: 1 });
  for (let second = 1; second < 10; second++) {
    clock.advance(1000);
    send(new TextEncoder().encode(": wait\n\n"));
    await turns();
    assertEquals(stream.state(), "connecting");
  }
  clock.advance(1000);
  assertEquals(only(records, "connect_failed").map(({ reason }) => reason), ["hello_timeout"]);
  stream.stop();
  assertEquals(clock.pending, 0);
});

test("a second start changes nothing, and a stream that was stopped starts anew from its cursor", async () => {
  await serving(
    ({ number }) =>
      number === 1
        ? [STREAM, greeting({ head: 4 }), frame(5, "a")]
        : [STREAM, greeting({ verdict: "resumed", head: 6 }), frame(6, "b")],
    async (server) => {
      const watched = watch({ url: `${server.origin}/` });
      const { stream, frames } = watched;
      stream.start();
      stream.start();
      await eventually(() => frames.length === 1, { what: "a frame", everyMs: 1 });
      stream.start();
      assertEquals(stream.state(), "open");
      stream.stop();
      stream.stop();
      await server.empty();
      stream.start();
      await eventually(() => frames.length === 2, { what: "another frame", everyMs: 1 });
      assertEquals(server.asked.map(({ headers }) => headers.get("Last-Event-ID")), [null, at(5)]);
      stream.stop();
      await server.empty();
      assertEquals(watched.clock.pending, 0);
    },
  );
});
