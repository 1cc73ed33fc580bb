/** Acknowledging keepalives: how often, with what, and what comes of an answer. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createAcknowledger } from "../../../src/client/alive.ts";
import type { Sender } from "../../../src/client/post.ts";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import type { AliveOptions } from "../../../src/client/types.ts";
import { keepaliveFrame } from "../../../src/wire/control.ts";
import { eventually } from "../../support/poll.ts";
import { HALF_CLOSE, head, RESET, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { gate, greeting, only, reaches, turns, watch } from "./edges.ts";

interface Post {
  readonly url: string;
  readonly init: RequestInit;
  answer(status: number): void;
  fail(): void;
}

/** An acknowledger at a server that answers when a test says so. */
function acknowledging(
  { alive = { url: "http://server.test/alive" }, everyBeats = 1, ...sender }: {
    readonly alive?: AliveOptions;
    readonly everyBeats?: number;
  } & Partial<Sender> = {},
): { beat(): void; stop(): void; posts: Post[]; records: LifecycleRecord[] } {
  const posts: Post[] = [];
  const records: LifecycleRecord[] = [];
  const acknowledger = createAcknowledger(alive, {
    timing: { aliveEveryBeats: everyBeats },
    fetch: (input, init = {}) =>
      new Promise((resolve, reject) => {
        init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
        posts.push({
          url: String(input),
          init,
          answer: (status) => resolve(new Response(status === 204 ? null : "ok", { status })),
          fail: () => reject(new TypeError("no network")),
        });
      }),
    ...sender,
  }, (record) => records.push(record));
  return { ...acknowledger, posts, records };
}

test("one acknowledgement stands for as many keepalives as was asked for", async () => {
  for (const [own, given, every] of [[undefined, 1, 1], [undefined, 3, 3], [2, 3, 2]] as const) {
    const alive = { url: "/alive", ...(own === undefined ? {} : { everyBeats: own }) };
    const { beat, posts } = acknowledging({ alive, everyBeats: given });
    for (let beats = 1; beats <= 12; beats++) {
      beat();
      await turns();
      posts.at(-1)?.answer(204);
      await turns();
      assertEquals(posts.length, Math.floor(beats / every));
    }
  }
});

test("an acknowledgement is a POST to its address with the stream's headers, read afresh, and credentials", async () => {
  let read = 0;
  const url = new URL("http://server.test/alive?x=1");
  const { beat, posts } = acknowledging({
    alive: { url },
    headers: () => Promise.resolve({ "X-Tag": `${++read}` }),
    credentials: "include",
  });
  for (const number of [1, 2]) {
    beat();
    await eventually(() => posts.length === number, { what: "the post", everyMs: 1 });
    posts.at(-1)?.answer(200);
    await turns();
  }
  assertEquals(posts.map(({ url }) => url), [url.href, url.href]);
  assertEquals(posts.map(({ init }) => init.method), ["POST", "POST"]);
  assertEquals(posts.map(({ init }) => new Headers(init.headers).get("X-Tag")), ["1", "2"]);
  assertEquals(posts.map(({ init }) => init.credentials), ["include", "include"]);
  const plain = acknowledging();
  plain.beat();
  await turns();
  assertEquals(Object.hasOwn(plain.posts[0]?.init ?? {}, "credentials"), false);
});

test("every answer is a record, and no failure is an exception", async () => {
  const { beat, posts, records } = acknowledging();
  for (const status of [200, 204, 299, 301, 401, 403, 404, 500]) {
    beat();
    await turns();
    posts.at(-1)?.answer(status);
    await turns();
    const ok = status < 300;
    assertEquals(records.splice(0), [{ kind: "alive_ack", ok, status }]);
  }
  beat();
  await turns();
  posts.at(-1)?.fail();
  await turns();
  assertEquals(records.splice(0), [{ kind: "alive_ack", ok: false, status: null }]);
});

test("headers that cannot be had, or a fetch that throws, are a failed acknowledgement", async () => {
  const sources: Partial<Sender>[] = [
    { headers: () => Promise.reject(new Error("no token")) },
    { headers: { "bad name": "1" } },
    {
      fetch: () => {
        throw new Error("no fetch");
      },
    },
  ];
  for (const options of sources) {
    const { beat, records } = acknowledging(options);
    for (let i = 1; i <= 2; i++) {
      beat();
      await turns();
      assertEquals(records.length, i);
    }
    assertEquals(records[1], { kind: "alive_ack", ok: false, status: null });
  }
});

test("what was stopped says nothing, and its count begins anew", async () => {
  const { beat, stop, posts, records } = acknowledging({ everyBeats: 2 });
  beat();
  stop();
  beat();
  await turns();
  assertEquals(posts.length, 0);
  beat();
  await turns();
  stop();
  assertEquals(posts[0]?.init.signal?.aborted, true);
  await turns();
  beat();
  beat();
  await turns();
  posts[1]?.answer(204);
  await turns();
  assertEquals([posts.length, records], [2, [{ kind: "alive_ack", ok: true, status: 204 }]]);
});

test("the late end of one that was stopped does not count as the end of the next", async () => {
  const { beat, stop, posts, records } = acknowledging();
  beat();
  await turns();
  stop();
  beat();
  await turns();
  assertEquals(posts.length, 2);
  beat();
  await turns();
  assertEquals([posts.length, records], [2, []]);
});

test("never two at once: a server that does not answer is not asked again", async () => {
  const act = fc.constantFrom("beat", "beat", "answer", "fail", "stop", "turn");
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(act), async (every, acts) => {
      const { beat, stop, posts, records } = acknowledging({ everyBeats: every });
      let open: Post | undefined;
      for (const each of acts) {
        if (each === "beat") beat();
        else if (each === "stop") {
          stop();
          open = undefined;
        } else if (each === "answer") open?.answer(200);
        else if (each === "fail") open?.fail();
        const before = { posts: posts.length, records: records.length };
        await turns();
        if (records.length > before.records) open = undefined;
        if (posts.length > before.posts) {
          assertEquals([posts.length, open], [before.posts + 1, undefined]);
          open = posts.at(-1);
        }
      }
      // One record for each post that was not stopped.
      const stopped = posts.filter(({ init }) => init.signal?.aborted).length;
      assertEquals(records.length, posts.length - stopped - (open === undefined ? 0 : 1));
    }),
    { numRuns: 60 },
  );
});

test("a stream acknowledges over real sockets, whatever the server makes of it, and stays open", async () => {
  const next = [gate(), gate(), gate(), gate()];
  const beat = keepaliveFrame("sse:keepalive");
  const answers = [[head(204)], [head(401), "who?"], [RESET], [head(200), "x", HALF_CLOSE]];
  let posts = 0;
  await serving(
    ({ method }) =>
      method === "POST"
        ? answers[posts++] ?? []
        : [STREAM, greeting(), ...next.flatMap(({ opened }) => [opened, beat])],
    async (server) => {
      const watched = watch({
        url: `${server.origin}/events`,
        alive: { url: `${server.origin}/alive` },
        headers: { Authorization: "Bearer a" },
      });
      const { stream, records } = watched;
      stream.start();
      await reaches(watched, "open");
      for (const [i, { open }] of next.entries()) {
        open();
        await eventually(() => only(records, "alive_ack").length === i + 1, { what: "the record" });
      }
      assertEquals(only(records, "alive_ack").map(({ ok, status }) => [ok, status]), [
        [true, 204],
        [false, 401],
        [false, null],
        [true, 200],
      ]);
      const acknowledged = server.asked.filter(({ method }) => method === "POST");
      assertEquals(acknowledged.map(({ target }) => target), Array(4).fill("/alive"));
      for (const { headers, body } of acknowledged) {
        assertEquals([headers.get("Authorization"), body], ["Bearer a", ""]);
      }
      assertEquals(stream.state(), "open");
      stream.stop();
      await server.empty();
    },
  );
});

test("an acknowledgement under way ends with its stream, and leaves no socket", async () => {
  await serving(
    ({ method }) => method === "POST" ? [] : [STREAM, greeting(), keepaliveFrame("sse:keepalive")],
    async (server) => {
      const watched = watch({
        url: `${server.origin}/events`,
        alive: { url: `${server.origin}/alive` },
      });
      watched.stream.start();
      await eventually(() => server.open === 2, { what: "both requests", everyMs: 1 });
      watched.stream.stop();
      await server.empty();
      assertEquals(only(watched.records, "alive_ack"), []);
    },
  );
});
