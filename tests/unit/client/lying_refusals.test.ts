/** What a server may answer instead of a stream, over real sockets and the runtime's own `fetch`. */
import { assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import {
  deserted,
  HALF_CLOSE,
  head,
  RESET,
  serving,
  STREAM,
} from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, greeting, only, reaches, watch } from "./edges.ts";
import { final, passing } from "./lying.ts";

for (
  const type of [
    "text/html; charset=utf-8",
    "application/json",
    "text/event-streams",
    "text/plain; x=text/event-stream",
  ]
) {
  passing({
    name: `answers with the media type ${type}`,
    answer: [head(200, `Content-Type: ${type}`), "<html>"],
    says: { kind: "connect_failed", reason: "content_type", status: 200 },
  });
}

passing({
  name: "answers with no media type",
  answer: [head(200), greeting(), HALF_CLOSE],
  says: { kind: "connect_failed", reason: "content_type", status: 200 },
});

for (const status of [300, 304, 408, 425, 429, 500, 502, 503, 599]) {
  passing({
    name: `answers with ${status}`,
    // A body that does not end: what is not read must not keep the socket.
    answer: [head(status, "Content-Type: text/event-stream"), status === 304 ? "" : greeting()],
    says: { kind: "connect_failed", reason: "status", status },
  });
}

for (const status of [400, 401, 403, 404, 410, 418]) {
  final({
    name: `answers with ${status}`,
    answer: [head(status, "Content-Type: text/event-stream"), greeting()],
    says: { kind: "connect_failed", reason: "status", status },
  });
}

final({
  name: "answers with 204",
  answer: [head(204)],
  says: { kind: "connect_failed", reason: "status", status: 204 },
});

passing({
  name: "redirects in a circle",
  answer: ({ target }) => [
    head(301, `Location: ${target === "/" ? "/again" : "/"}`, "Content-Length: 0"),
  ],
  // Twenty times for the standard; Bun follows 127 times.
  requests: 130,
  says: { kind: "connect_failed", reason: "network", status: null },
});

passing({
  name: "sends no head at all",
  answer: [],
  silentMs: 15_000,
  says: { kind: "connect_failed", reason: "connect_timeout", status: null },
});

passing({
  name: "stops within the head",
  answer: ["HTTP/1.1 200 OK\r\nContent-Type: text/event-st"],
  silentMs: 15_000,
  says: { kind: "connect_failed", reason: "connect_timeout", status: null },
});

passing({
  name: "ends instead of an answer",
  answer: [HALF_CLOSE],
  says: { kind: "connect_failed", reason: "network", status: null },
});

passing({
  name: "resets instead of an answer",
  answer: [RESET],
  says: { kind: "connect_failed", reason: "network", status: null },
});

passing({
  name: "speaks no HTTP",
  answer: ["NO HTTP\r\n\r\n", HALF_CLOSE],
  says: { kind: "connect_failed", reason: "network", status: null },
});

test("where nobody listens a stream asks again at a bounded pace", async () => {
  const watched = watch({ url: `${await deserted()}/` });
  const { stream, clock, records } = watched;
  stream.start();
  for (let attempts = 1; clock.now() < 60_000; attempts++) {
    await reaches(watched, "backoff");
    assertLessOrEqual(attempts, 9);
    assertEquals(only(records, "connect_failed").length, attempts);
    clock.skip();
  }
  for (const { reason, status } of only(records, "connect_failed")) {
    assertEquals([reason, status], ["network", null]);
  }
  stream.stop();
  assertEquals(clock.pending, 0);
});

test("a redirect that leads to a stream is followed, and a media type may have parameters", async () => {
  await serving(
    ({ target }) =>
      target === "/"
        ? [head(302, "Location: /events", "Content-Length: 0"), HALF_CLOSE]
        : [head(200, "Content-Type: Text/Event-Stream ; charset=UTF-8"), greeting()],
    async (server) => {
      const watched = watch({ url: `${server.origin}/` });
      watched.stream.start();
      await reaches(watched, "open");
      watched.stream.stop();
      await server.empty();
    },
  );
});

/** What a `Retry-After` says, and the least wait that comes of it; half a first step is 250 ms. */
const WAITS: readonly (readonly [said: string, ms: number])[] = [
  ["7", 7000],
  ["0", 250],
  ["007", 7000],
  ["3600", 3_600_000],
  // Nothing silences a client for longer than an hour.
  ["3601", 3_600_000],
  ["99999999999999999999", 3_600_000],
  ["9".repeat(400), 3_600_000],
  ["Fri, 31 Dec 9999 23:59:59 GMT", 3_600_000],
  // What makes no sense says nothing.
  ["Thu, 01 Jan 1970 00:00:00 GMT", 250],
  ["-5", 250],
  ["1.5", 250],
  ["soon", 250],
  ["5, 10", 250],
  ["", 250],
];

for (const status of [429, 503]) {
  test(`a ${status} is asked again no sooner than its Retry-After says, and within an hour`, async () => {
    for (const [said, ms] of WAITS) {
      await serving(() => [head(status, `Retry-After: ${said}`)], async (server) => {
        const watched = watch({ url: `${server.origin}/` });
        const { stream, clock, records } = watched;
        stream.start();
        await reaches(watched, "backoff");
        assertEquals(only(records, "state").pop()?.waitMs, ms, said);
        clock.advance(ms - 1);
        assertEquals([stream.state(), server.asked.length], ["backoff", 1]);
        clock.advance(1);
        await reaches(watched, "backoff");
        assertEquals(server.asked.length, 2);
        stream.stop();
        await server.empty();
      });
    }
  });
}

test("a Retry-After that is a date is read on the wall clock", async () => {
  const date = (): string => new Date(Date.now() + 120_000).toUTCString();
  await serving(() => [head(503, `Retry-After: ${date()}`)], async (server) => {
    const watched = watch({ url: `${server.origin}/` });
    watched.stream.start();
    await reaches(watched, "backoff");
    const waitMs = only(watched.records, "state").pop()?.waitMs ?? 0;
    // A date has no part of a second.
    assertGreater(waitMs, 110_000);
    assertLessOrEqual(waitMs, 120_000);
    watched.stream.stop();
    await server.empty();
  });
});

test("no wake cuts a Retry-After short, but the application may", async () => {
  let wake = (_: "visible"): void => {};
  const visibility = {
    hidden: () => false,
    subscribe(listener: (signal: "visible") => void): () => void {
      wake = listener;
      return () => {};
    },
  };
  await serving(({ number }) => {
    return number === 1 ? [head(503, "Retry-After: 40")] : [STREAM, greeting()];
  }, async (server) => {
    const watched = watch({ url: `${server.origin}/`, visibility });
    const { stream, clock } = watched;
    stream.start();
    await reaches(watched, "backoff");
    clock.advance(39_999);
    wake("visible");
    assertEquals([stream.state(), clock.left], ["backoff", 1]);
    stream.reconnect();
    await reaches(watched, "open");
    assertEquals(server.asked.length, 2);
    stream.stop();
    await server.empty();
  });
});

test("a refusal never discards a cursor, whatever the application says to it", async () => {
  const asked: unknown[] = [];
  const answers = ["retry", undefined, "stop"] as const;
  await serving(({ number }) => {
    if (number === 1) return [STREAM, greeting({ head: 9 }), HALF_CLOSE];
    return number === 2 ? [head(204)] : number === 3 ? [head(500)] : [head(503)];
  }, async (server) => {
    const watched = watch({
      url: `${server.origin}/`,
      onRefused(refusal) {
        asked.push(refusal);
        return answers[asked.length - 1];
      },
    });
    const { stream, clock, records } = watched;
    stream.start();
    for (let i = 1; i <= 3; i++) {
      await reaches(watched, "backoff");
      assertEquals(only(records, "state").length, 1 + 2 * i);
      clock.skip();
      await reaches(watched, i === 3 ? "stopped" : "backoff");
    }
    assertEquals(asked, [
      { status: 204, final: true, ticketed: false },
      { status: 500, final: false, ticketed: false },
      { status: 503, final: false, ticketed: false },
    ]);
    assertEquals([stream.cursor(), server.asked.length], [at(9), 4]);
    await server.empty();
  });
});
