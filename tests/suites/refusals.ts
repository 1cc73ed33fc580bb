/**
 * Refusals: which, in what envelope, and that a refused request consumes nothing.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { eventually } from "../support/poll.ts";
import type { Runtime } from "../support/runtimes.ts";
import { type ExchangeOptions, fetchRaw, type WholeResponse } from "./lib/exchange.ts";
import { type Ground, group, type Tests } from "./lib/group.ts";

/** Queries whose topics are outside the grammar. */
const BAD_TOPICS: readonly string[] = [
  "topic=%00",
  "topic=a%00b",
  "topic=a%0Ab",
  "topic=a%0Db",
  "topic=%7F",
  "topic=%C2%85",
  "topic=%E2%80%A8",
  "topic=%E2%80%A9",
  "topic=%E2%80%AE",
  "topic=%E2%81%A6",
  "topic=%E2%80%8F",
  "topic=%D8%9C",
  "topic=%09",
  `topic=${"x".repeat(257)}`,
  "topic=good&topic=",
  "topic=good&topic=b%0Ad",
  Array.from({ length: 257 }, (_, i) => `topic=${i}`).join("&"),
];

/** At the default settings. */
export const refusalTests: Tests = {
  "a method other than GET and HEAD is 405 sse_method, and Allow names GET": async (ground) => {
    await unchanged(ground, async () => {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const answer = await ask(ground, "/events", { method, body: "x" });
        expectRefusal(answer, 405, "sse_method");
        assertMatch(answer.head.headers.get("allow") ?? "", /(^|, )GET($|,)/);
      }
    });
  },

  "a HEAD is answered with the stream's head alone": async (ground) => {
    await unchanged(ground, async () => {
      const { head, text } = await ask(ground, "/events?topic=a", { method: "HEAD" });
      assertEquals(head.status, 200);
      assertEquals(head.headers.get("content-type"), "text/event-stream");
      assertEquals(head.headers.get("cache-control"), "no-cache, no-transform");
      assertEquals(head.headers.get("x-accel-buffering"), "no");
      assertEquals(text, "");
    });
  },

  "topics outside the grammar are 400 sse_topics": async (ground) => {
    await unchanged(ground, async () => {
      for (const query of BAD_TOPICS) {
        expectRefusal(await ask(ground, `/events?${query}`), 400, "sse_topics");
      }
    });
  },

  "a tag outside the grammar is no tag, and its bytes reach no log": async (ground) => {
    const before = ground.fixture.log().length;
    for (const tag of ["secret tag", "x".repeat(65), "sec;ret", "s\u00e9cret"]) {
      const stream = await ground.open("", { tag });
      await stream.hello();
      await stream.close();
    }
    const { events } = await ground.fixture.state();
    const log = ground.fixture.log().slice(before);
    assertEquals(events.filter(({ tag }) => /secret|sec;ret|x{65}/.test(tag)), []);
    assert(!/secret|sec;ret|x{65}/.test(log), log);
  },
};

/** Registers the tests that need a server of their own. */
export function refusals(runtime: Runtime): void {
  group(runtime, "the cap on clients", { maxClients: 3, keepaliveMs: 300 }, {
    "a client over the cap gets 503 sse_unavailable with Retry-After, until one leaves": async (
      ground,
    ) => {
      const streams = await Promise.all([ground.open(), ground.open(), ground.open()]);
      await Promise.all(streams.map((stream) => stream.hello()));
      for (let i = 0; i < 10; i++) {
        const answer = await ask(ground, "/events");
        expectRefusal(answer, 503, "sse_unavailable");
        assertMatch(answer.head.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      }
      await streams[0]?.close();
      const next = await eventually(() => ground.open(), { what: "a free place" });
      await next.hello();
      assertEquals((await ground.fixture.state()).clients, 3);
      expectRefusal(await ask(ground, "/events"), 503, "sse_unavailable");
    },

    "refused requests and HEADs take no place": async (ground) => {
      for (let i = 0; i < 10; i++) {
        await ask(ground, "/events", { method: "HEAD" });
        await ask(ground, "/events", { method: "POST" });
        await ask(ground, "/events?topic=%00");
      }
      const streams = await Promise.all([ground.open(), ground.open(), ground.open()]);
      await Promise.all(streams.map((stream) => stream.hello()));
    },
  });
}

function ask(ground: Ground, path: string, options: ExchangeOptions = {}): Promise<WholeResponse> {
  const headers: [string, string][] = [["Connection", "close"]];
  return fetchRaw(`${ground.fixture.url}${path}`, { headers, ...options });
}

function expectRefusal({ head, text }: WholeResponse, status: number, code: string): void {
  assertEquals(head.status, status, text);
  assertMatch(head.headers.get("content-type") ?? "", /^application\/json(;|$)/);
  assertEquals(head.headers.get("x-content-type-options"), "nosniff");
  const { error, ...rest } = JSON.parse(text) as Record<string, unknown>;
  assertEquals(rest, { code });
  assert(typeof error === "string" && error.length > 0);
}

/** Does something, and checks that the hub counts no client, no arrival and no offset for it. */
async function unchanged(ground: Ground, work: () => Promise<void>): Promise<void> {
  const before = await ground.fixture.state();
  await work();
  const after = await ground.fixture.state();
  assertEquals(after.position, before.position);
  assertEquals([after.clients, after.events.length], [before.clients, before.events.length]);
}
