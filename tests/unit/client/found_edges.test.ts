/** Faults that were once found at the edges, each with its test. */
import { assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { sleeplessNow } from "../../../src/client/clock.ts";
import { createSaver } from "../../../src/client/saver.ts";
import { resolveTiming } from "../../../src/client/timing.ts";
import { ConfigError } from "../../../src/errors.ts";
import { keepaliveFrame } from "../../../src/wire/control.ts";
import { type Asked, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, frame, gate, greeting, only, reaches, turns, watch } from "./edges.ts";
import { keeping, loaded, resumed } from "./keeping.ts";
import {
  history,
  live,
  move,
  reconnect,
  streaming,
  subscribed,
  TopicServer,
  URLS,
  withTopics,
} from "./topic_server.ts";

test("however often it is read, the time goes no faster than the clocks it is read from", () => {
  const hundredths = (max: number): fc.Arbitrary<number> => fc.nat(max).map((n) => n / 100);
  const reads = fc.array(hundredths(100), { minLength: 1, maxLength: 300 });
  const phase = hundredths(99);
  fc.assert(fc.property(reads, phase, (pauses, late) => {
    let ms = 1000;
    // Two honest clocks that count whole milliseconds, and do not tick in the same instant.
    const now = sleeplessNow(() => Math.round(ms), () => Math.floor(ms + late));
    const begun = ms;
    for (const pause of pauses) {
      ms += pause;
      assertLessOrEqual(Math.abs(now() - (ms - begun)), 3);
    }
  }));
});

test("on an open stream whose server names no connections a subscription is refused", async () => {
  const server = new TopicServer();
  server.names = false;
  const watched = watch({ ...URLS, fetch: server.fetch });
  watched.stream.start();
  await reaches(watched, "open");
  let settled = "not";
  watched.stream.subscribe("a").then(
    () => settled = "resolved",
    (error) => settled = error.message,
  );
  await turns();
  watched.stream.stop();
  assertEquals(settled.includes("name"), true, settled);
});

test("a store whose save returns something that is no promise is a store like any other", async () => {
  const failures: unknown[] = [];
  const kept: Record<string, string> = {};
  const save = ((saved: { cursor: string }) => kept["c"] = saved.cursor) as unknown as () => void;
  const saver = createSaver({ load: () => null, save }, (error) => failures.push(error));
  saver.put({ cursor: at(1), unverified: false });
  // In the same turn, so that what is thrown is thrown at us.
  saver.flush();
  saver.put({ cursor: at(2), unverified: false });
  saver.flush();
  await turns();
  assertEquals([kept["c"], failures], [at(2), []]);
});

test("a spread of ages does not withhold every frame for good", async () => {
  const hello = greeting({ verdict: "epoch_changed", revalidateSpreadMs: 9e15 });
  await serving(() => [STREAM, hello, frame(1, "x"), gate().opened], async (server) => {
    const watched = watch({
      url: `${server.origin}/`,
      revalidate: () => {},
      timing: { watchdogFloorMs: 2 ** 31 - 1 },
    });
    watched.stream.start();
    await reaches(watched, "open");
    // An hour is the longest that a server may ask a client to wait.
    for (let seconds = 0; seconds < 3600 && watched.frames.length === 0; seconds += 10) {
      watched.clock.advance(10_000);
      await turns();
    }
    watched.stream.stop();
    assertEquals([only(watched.records, "revalidate").length, watched.frames.length], [1, 1]);
  });
});

test("a keepalive of ages does not switch the watchdog off for good", async () => {
  await serving(() => [STREAM, greeting({ keepaliveMs: 9e15 })], async (server) => {
    const watched = watch({ url: `${server.origin}/` });
    watched.stream.start();
    await reaches(watched, "open");
    for (let hour = 0; hour < 24 * 7; hour++) watched.clock.advance(3_600_000);
    watched.stream.stop();
    assertEquals(only(watched.records, "watchdog").length > 0, true);
  });
});

test("a topic that is unsubscribed and subscribed again at once is subscribed", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  const ended = each.stream.unsubscribe("a").catch(() => {});
  const again = each.stream.subscribe("a");
  again.catch(() => {});
  await turns();
  // Two requests on their way at once may be served in either order.
  const onTheirWay = each.server.posts.map(({ path }) => path);
  each.stream.stop();
  await ended;
  assertEquals(onTheirWay, ["/unsubscribe"]);
});

test("a known topic of which some history is wanted anew loses nothing, or says so", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await move(each, 5);
  const answer = each.stream.subscribe("a", { history: { last: 1 } });
  (await each.server.take("subscribe")).answer({});
  await answer;
  each.runs.splice(0);
  // Its history's end has not come when the connection ends; ten events come meanwhile.
  await reconnect(each);
  const post = await each.server.take("subscribe");
  post.answer({ verdict: "fresh", head: "15" });
  await turns();
  each.stream.stop();
  const told = each.runs.some(({ topics }) => topics?.includes("a"));
  assertEquals(told || post.body["after"] !== undefined, true, JSON.stringify(post.body));
});

test("a topic that is subscribed twice on one connection has no gap", async () => {
  const each = await streaming();
  each.runs.splice(0);
  const both = [each.stream.subscribe("a"), each.stream.subscribe("a")];
  await turns();
  for (const post of [...each.server.posts]) post.answer({ verdict: "fresh" });
  await Promise.all(both);
  const again = each.stream.subscribe("a");
  await turns();
  each.server.posts.at(-1)?.answer({ verdict: "fresh" });
  await again;
  await turns();
  each.stream.stop();
  assertEquals(each.runs.map(({ cause }) => cause), []);
});

test("a topic whose history came whole is known, even if the answer was lost", async () => {
  const each = await streaming();
  const answer = each.stream.subscribe("a", { history: true });
  await each.server.take("subscribe");
  each.server.connection.send(history("begin", "a"), live(null, "old"), history("end", "a"));
  await move(each, 5);
  each.runs.splice(0);
  await reconnect(each);
  const post = await each.server.take("subscribe");
  post.answer({ verdict: "fresh" });
  await answer;
  await turns();
  each.stream.stop();
  const told = each.runs.some(({ topics }) => topics?.includes("a"));
  assertEquals(told || post.body["after"] === at(5), true, JSON.stringify(post.body));
});

test("in the query, too, what was earned stands above a cursor that the application hides", async () => {
  // What every server does: the header wins, and of two parameters the first.
  const presented = ({ headers, target }: Asked): string | null =>
    headers.get("Last-Event-ID") ?? new URL(target, "http://x").searchParams.get("last_event_id");
  for (const hidden of ["header", "query"] as const) {
    const seen: (string | null)[] = [];
    await serving((asked) => {
      seen.push(presented(asked));
      return [STREAM, greeting({ verdict: seen.length === 1 ? "fresh" : "resumed", head: 5 })];
    }, async (server) => {
      const watched = watch({
        url: `${server.origin}/${hidden === "query" ? `?last_event_id=${at(9)}` : ""}`,
        ...(hidden === "header" ? { headers: { "Last-Event-ID": at(9) } } : {}),
        presentCursor: "query",
      });
      watched.stream.start();
      await reaches(watched, "open");
      watched.stream.reconnect();
      await reaches(watched, "open");
      watched.stream.stop();
      await server.empty();
    });
    assertEquals(seen[1], at(5), hidden);
  }
});

test("no record holds a ticket, whatever the platform says of an address", async () => {
  for (
    const url of ["/events?ticket=SECRET", "http://a:SECRET@127.0.0.1/", "http://[/?ticket=SECRET"]
  ) {
    const watched = watch({ url: () => url });
    watched.stream.start();
    await reaches(watched, "backoff");
    watched.stream.stop();
    assertEquals(
      JSON.stringify(watched.records).includes("SECRET"),
      false,
      JSON.stringify(watched.records),
    );
  }
});

test("a cursor that is dropped while it is being loaded does not come back", async () => {
  const { opened, open } = gate();
  await keeping(() => opened.then(loaded()), resumed, async (kept) => {
    kept.stream.start();
    kept.stream.resetCursor();
    open();
    await reaches(kept, "open");
    assertEquals(kept.asked[0]?.headers.get("Last-Event-ID"), null);
  });
});

test("a name that every object has is no option", () => {
  for (const name of ["toString", "constructor", "valueOf"]) {
    let refused = false;
    try {
      resolveTiming({ [name]: 5 });
    } catch (error) {
      refused = error instanceof ConfigError;
    }
    assertEquals(refused, true, name);
  }
});

test("an unsubscription whose connection ends meanwhile has nothing more to end", async () => {
  await withTopics(async (each) => {
    await subscribed(each, "a");
    const ended = each.stream.unsubscribe("a").then(() => "resolved", (error) => String(error));
    await each.server.take("unsubscribe");
    each.stream.reconnect();
    assertEquals(await ended, "resolved");
  });
});

test("whatever is thrown, even what has no text, is a failed attempt and no crash", async () => {
  const watched = watch({ url: () => Promise.reject(Object.create(null)) });
  watched.stream.start();
  await reaches(watched, "backoff");
  watched.stream.stop();
});

test("a subscription that is not answered is asked again, or told", async () => {
  const each = await streaming();
  await subscribed(each, "a");
  await reconnect(each);
  await each.server.take("subscribe");
  // Ten minutes, in which the stream itself lives.
  for (let seconds = 0; seconds < 600; seconds += 10) {
    each.server.connection.send(keepaliveFrame("sse:keepalive"));
    await turns();
    each.clock.advance(10_000);
    await turns();
  }
  const { length } = each.server.heard;
  const told = only(each.records, "subscribe_failed").length;
  const state = each.stream.state();
  each.stream.stop();
  assertEquals(state, "open");
  assertEquals(length > 2 || told > 0, true, `${length} requests, ${told} records`);
});
