/**
 * Presence: arrivals and departures, and acknowledgements.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { FixturePresence } from "../../src/testing/fixture/state.ts";
import { eventually } from "../support/poll.ts";
import type { Runtime } from "../support/runtimes.ts";
import { fetchRaw, type WholeResponse } from "./lib/exchange.ts";
import { type Ground, group } from "./lib/group.ts";

const KEEPALIVE_MS = 300;

/** Registers the tests. */
export function presence(runtime: Runtime): void {
  group(runtime, "presence", { keepaliveMs: KEEPALIVE_MS }, {
    "an arrival tells verdict, topic and tag, a departure its cause": async (ground) => {
      const epoch = await ground.epoch();
      await ground.publish({ data: "x", count: 3 });
      const tag = ground.tag();
      const stream = await ground.open("?topic=a&topic=b", { tag, cursor: `${epoch}:1` });
      await stream.hello();
      const arrival = await ground.presence("connected", tag);
      assertEquals([arrival.verdict, arrival.topic, arrival.epoch, arrival.cause], [
        "resumed",
        "a",
        epoch,
        "",
      ]);
      assert(Math.abs(Date.now() - arrival.at) < 10_000);
      await stream.close();
      const departure = await ground.presence("disconnected", tag);
      assertEquals([departure.client_id, departure.verdict], [arrival.client_id, ""]);
      assert(["closed", "dead"].includes(departure.cause));
    },

    "two connections of one tag are two clients": async (ground) => {
      const tag = ground.tag();
      const streams = await Promise.all([ground.open("", { tag }), ground.open("", { tag })]);
      await Promise.all(streams.map((stream) => stream.hello()));
      const { events, clients } = await ground.fixture.state();
      const ids = events.filter((event) => event.tag === tag).map((event) => event.client_id);
      assertEquals([new Set(ids).size, clients], [2, 2]);
      await streams[0]?.close();
      await ground.presence("disconnected", tag);
      assertEquals((await seen(ground, tag))?.connected, true);
    },

    "an acknowledgement with a tag is 204, without one 400 alive_invalid": async (ground) => {
      assertEquals((await alive(ground, ground.tag())).head.status, 204);
      for (const tag of [undefined, "", "two words", "x".repeat(65), "ü"]) {
        const { head, text } = await alive(ground, tag);
        assertEquals(head.status, 400, text);
        assertEquals((JSON.parse(text) as Record<string, unknown>)["code"], "alive_invalid");
      }
      const { head } = await fetchRaw(`${ground.fixture.url}/alive`, {
        headers: [["SSE-Client", "tag"], ["Connection", "close"]],
      });
      assertEquals(head.status, 405);
    },

    "a tag that is not acknowledged is gone after the window, whatever its socket says": async (
      ground,
    ) => {
      const windowMs = 400;
      await ground.fixture.control("alive-window", { ms: windowMs });
      ground.defer(async () => void await ground.fixture.control("alive-window", { ms: 0 }));
      const [silent, acknowledged] = [ground.tag(), ground.tag()];
      const before = (await ground.fixture.state()).transitions;
      for (const tag of [silent, acknowledged]) await (await ground.open("", { tag })).hello();
      const startedAt = Date.now();
      await eventually(async () => {
        await alive(ground, acknowledged);
        assertEquals((await seen(ground, acknowledged))?.gone, false);
        return (await seen(ground, silent))?.gone;
      }, { what: "the silent tag is gone", everyMs: 50 });
      assert(Date.now() - startedAt >= windowMs - 50, "it was gone before the window had passed");
      assertEquals((await seen(ground, silent))?.connected, true);
      await alive(ground, silent);
      assertEquals((await seen(ground, silent))?.gone, false);
      const { alive: became, expired } = (await ground.fixture.state()).transitions;
      assertEquals([became - before.alive, expired - before.expired], [3, 1]);
    },
  });
}

function alive(ground: Ground, tag: string | undefined): Promise<WholeResponse> {
  const headers: [string, string][] = [["Connection", "close"]];
  if (tag !== undefined) headers.push(["SSE-Client", tag]);
  return fetchRaw(`${ground.fixture.url}/alive`, { method: "POST", headers });
}

async function seen(ground: Ground, tag: string): Promise<FixturePresence | undefined> {
  return (await ground.fixture.state()).presence.find((entry) => entry.tag === tag);
}
