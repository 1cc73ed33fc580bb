/** One attempt's request, over real sockets and the runtime's own `fetch`. */
import { assertEquals } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import type { Attempt, StreamOptions } from "../../../src/client/types.ts";
import { eventually } from "../../support/poll.ts";
import {
  HALF_CLOSE,
  head,
  type ScriptedServer,
  serving,
  STREAM,
} from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, frame, greeting, only, reaches, watch, type Watched } from "./edges.ts";

/** Lets time pass until another attempt has been made and has failed. */
async function failAgain(watched: Watched): Promise<void> {
  const failures = only(watched.records, "connect_failed").length;
  while (watched.stream.state() === "backoff") watched.clock.skip();
  await eventually(() => only(watched.records, "connect_failed").length > failures, {
    what: "another failed attempt",
    everyMs: 1,
  });
}

/** The requests of a stream that opens, loses its connection and opens again. */
async function twice(
  options: (server: ScriptedServer) => Partial<StreamOptions> & Pick<StreamOptions, "url">,
  body: (server: ScriptedServer) => void | Promise<void>,
): Promise<void> {
  await serving(
    ({ number }) =>
      number === 1
        ? [STREAM, greeting({ head: 4 }), frame(5, "a"), HALF_CLOSE]
        : [STREAM, greeting({ verdict: "resumed", head: 5 })],
    async (server) => {
      const watched = watch(options(server));
      watched.stream.start();
      await reaches(watched, "backoff");
      assertEquals(watched.stream.cursor(), at(5));
      while (watched.stream.state() === "backoff") watched.clock.skip();
      await reaches(watched, "open");
      watched.stream.stop();
      await server.empty();
      await body(server);
    },
  );
}

for (const status of [401, 403, 404, 410]) {
  test(`with a url function a ${status} costs an attempt, and a fresh address is asked for`, async () => {
    const attempts: number[] = [];
    await serving(({ target }) => {
      return target === "/?ticket=2" ? [STREAM, greeting()] : [head(status), "no"];
    }, async (server) => {
      const refusals: unknown[] = [];
      const watched = watch({
        url: ({ attempt }) => `${server.origin}/?ticket=${attempts.push(attempt) - 1}`,
        onRefused: (refusal) => void refusals.push(refusal),
      });
      const { stream, clock, records } = watched;
      stream.start();
      await reaches(watched, "backoff");
      await failAgain(watched);
      clock.skip();
      await reaches(watched, "open");
      assertEquals(server.asked.map(({ target }) => target), [0, 1, 2].map((i) => `/?ticket=${i}`));
      assertEquals(attempts, [0, 1, 2]);
      assertEquals(only(records, "connect_failed").map(({ attempt }) => attempt), [1, 2]);
      assertEquals(refusals[0], { status, final: false, ticketed: true });
      stream.stop();
      await server.empty();
    });
  });
}

for (const status of [204, 400, 402, 405, 451]) {
  test(`with a url function a ${status} is as final as without`, async () => {
    await serving(() => [head(status)], async (server) => {
      const watched = watch({ url: () => `${server.origin}/` });
      watched.stream.start();
      await reaches(watched, "stopped");
      assertEquals([server.asked.length, watched.clock.pending], [1, 0]);
      await server.empty();
    });
  });
}

for (const how of ["throws", "rejects"]) {
  test(`a url function that ${how} a RefusedError stops the stream, and nothing is asked`, async () => {
    await serving(() => [STREAM, greeting()], async (server) => {
      const error = new RefusedError("signed out", 401);
      const watched = watch({
        url: () => {
          if (how === "throws") throw error;
          return Promise.reject(error);
        },
      });
      watched.stream.start();
      await reaches(watched, "stopped");
      const [{ reason, status, detail } = {}] = only(watched.records, "connect_failed");
      assertEquals([reason, status, detail], ["address", 401, String(error)]);
      assertEquals([server.connections, watched.clock.pending], [0, 0]);
    });
  });
}

test("whatever else a url function says backs off, and is asked again", async () => {
  const said = [new Error("no ticket"), "a text", undefined, new TypeError("x".repeat(1000))];
  await serving(() => [STREAM, greeting()], async (server) => {
    let asked = 0;
    const watched = watch({
      url: () => {
        if (asked < said.length) throw said[asked++];
        return `${server.origin}/`;
      },
    });
    const { stream, clock, records } = watched;
    stream.start();
    await reaches(watched, "backoff");
    for (let i = 1; i < said.length; i++) await failAgain(watched);
    while (stream.state() === "backoff") clock.skip();
    await reaches(watched, "open");
    assertEquals(
      only(records, "connect_failed").map(({ reason, status, detail }) => [reason, status, detail]),
      said.map((error) => ["address", null, String(error).slice(0, 200)]),
    );
    stream.stop();
    await server.empty();
  });
});

test("headers that cannot be had fail the attempt as an address does, and are asked again", async () => {
  await serving(() => [STREAM, greeting()], async (server) => {
    const answers = [
      () => Promise.reject(new Error("no token")),
      () => ({ "X-Tag": "not\nsendable" }),
      () => ({ "X-Tag": "1" }),
    ];
    let asked = 0;
    const watched = watch({ url: `${server.origin}/`, headers: () => answers[asked++]?.() ?? {} });
    watched.stream.start();
    await reaches(watched, "backoff");
    await failAgain(watched);
    assertEquals(server.asked.length, 0);
    while (watched.stream.state() === "backoff") watched.clock.skip();
    await reaches(watched, "open");
    assertEquals(server.asked[0]?.headers.get("X-Tag"), "1");
    assertEquals(only(watched.records, "connect_failed").map(({ reason }) => reason), [
      "address",
      "address",
    ]);
    watched.stream.stop();
    await server.empty();
  });
});

test("spent attempts are the end, until the application or the platform says otherwise", async () => {
  let up = true;
  await serving(() => up ? [STREAM, greeting()] : [head(503)], async (server) => {
    const watched = watch({ url: `${server.origin}/`, maxAttempts: 3 });
    const { stream, clock } = watched;
    for (const way of ["start", "reconnect", "credentialsChanged"] as const) {
      up = false;
      const before = server.asked.length;
      stream[way]();
      for (let i = 1; i < 3; i++) {
        await reaches(watched, "backoff");
        while (stream.state() === "backoff") clock.skip();
        await eventually(() => server.asked.length === before + i + 1, { what: "the next one" });
      }
      await reaches(watched, "exhausted");
      await server.empty();
      assertEquals([server.asked.length - before, clock.pending], [3, 0], way);
    }
    up = true;
    stream.credentialsChanged();
    await reaches(watched, "open");
    const { length } = server.asked;
    stream.credentialsChanged();
    assertEquals([stream.state(), server.asked.length], ["open", length]);
    stream.stop();
    await server.empty();
  });
});

test("headers are read afresh for each request: an object, a function, a promise", async () => {
  const kept = { "X-Tag": "1" };
  let calls = 0;
  const sources = [
    () => kept,
    () => ({ "X-Tag": `${++calls}` }),
    () => Promise.resolve({ "x-tag": `${++calls}` }),
  ];
  for (const source of [kept, ...sources]) {
    calls = 0;
    kept["X-Tag"] = "1";
    await twice(({ origin }) => ({
      url: `${origin}/`,
      headers: source,
      onLifecycle: ({ kind }) => {
        if (kind === "disconnected") kept["X-Tag"] = "2";
      },
    }), ({ asked }) => assertEquals(asked.map(({ headers }) => headers.get("X-Tag")), ["1", "2"]));
  }
});

/** The names of the headers that the platform sends on its own, and `Accept`. */
async function ownHeaders(): Promise<string[]> {
  let names: string[] = [];
  await serving(({ headers }) => {
    names = [...headers.keys()];
    return [head(200, "Content-Length: 0")];
  }, async ({ origin }) => {
    await (await fetch(`${origin}/`, { headers: { Accept: "text/event-stream" } })).text();
  });
  return names;
}

/** With `cache: "no-store"` a platform that has a cache sends these. */
const CACHE = ["cache-control", "pragma"];

test("the cursor in the header brings three headers of the library's own, and the first request two", async () => {
  const own = await ownHeaders();
  await twice(({ origin }) => ({ url: `${origin}/` }), ({ asked }) => {
    const added = asked.map(({ headers }) =>
      [...headers.keys()].filter((name) => !own.includes(name) && !CACHE.includes(name))
    );
    assertEquals(added, [["sse-lag", "sse-wire"], ["last-event-id", "sse-lag", "sse-wire"]]);
    assertEquals(asked.map(({ headers }) => headers.get("sse-wire")), ["1", "1"]);
    assertEquals(asked.map(({ headers }) => headers.get("sse-lag")), ["1", "1"]);
    assertEquals(
      asked.map(({ headers }) => headers.get("accept")),
      Array(2).fill("text/event-stream"),
    );
    assertEquals(asked.map(({ target }) => target), ["/", "/"]);
  });
});

test("the cursor in the query brings no header but Accept, so that nothing needs a preflight", async () => {
  const own = await ownHeaders();
  await twice(({ origin }) => ({ url: `${origin}/`, presentCursor: "query" }), ({ asked }) => {
    for (const { headers } of asked) {
      const names = [...headers.keys()].filter((name) => !CACHE.includes(name));
      assertEquals(names, own);
      assertEquals(headers.get("accept"), "text/event-stream");
    }
    const cursor = encodeURIComponent(at(5));
    assertEquals(asked.map(({ target }) => target), ["/?lag=1", `/?last_event_id=${cursor}&lag=1`]);
  });
});

test("the query that was there stays, and a fragment stays where fragments are", async () => {
  const url = (origin: string): string => `${origin}/a%20b?topic=%C3%A9&x=1&x=2#part?no=query`;
  const options = { presentCursor: "query" } as const;
  await twice(({ origin }) => ({ url: url(origin), ...options }), ({ asked }) => {
    const cursor = encodeURIComponent(at(5));
    assertEquals(asked.map(({ target }) => target), [
      "/a%20b?topic=%C3%A9&x=1&x=2&lag=1",
      `/a%20b?topic=%C3%A9&x=1&x=2&last_event_id=${cursor}&lag=1`,
    ]);
  });
});

test("a URL object is an address like any other", async () => {
  await twice(({ origin }) => ({ url: new URL("/x?y=1", origin) }), ({ asked }) => {
    assertEquals(asked.map(({ target }) => target), ["/x?y=1", "/x?y=1"]);
  });
});

for (const presentCursor of ["header", "query"] as const) {
  test(`a Request is an address whose headers stay, with the cursor in its ${presentCursor}`, async () => {
    const seen: Attempt[] = [];
    let request: Request | undefined;
    await twice(({ origin }) => ({
      url: (attempt) => {
        seen.push(attempt);
        // The same one each time: an attempt must not use it up, nor change it.
        return request ??= new Request(`${origin}/x?y=1`, {
          headers: { Authorization: "Bearer r", "X-Tag": "theirs", "SSE-Wire": "7" },
        });
      },
      headers: { "X-Tag": "ours" },
      presentCursor,
    }), ({ asked }) => {
      assertEquals(asked.map(({ method }) => method), ["GET", "GET"]);
      for (const { headers } of asked) {
        assertEquals(headers.get("Authorization"), "Bearer r");
        assertEquals(headers.get("X-Tag"), "ours");
        assertEquals(headers.get("SSE-Wire"), presentCursor === "header" ? "1" : "7");
      }
      const query = presentCursor === "header"
        ? ["", ""]
        : ["&lag=1", `&last_event_id=${encodeURIComponent(at(5))}&lag=1`];
      assertEquals(asked.map(({ target }) => target), query.map((rest) => `/x?y=1${rest}`));
      assertEquals([seen.length, request?.headers.get("Last-Event-ID")], [2, null]);
    });
  });
}
