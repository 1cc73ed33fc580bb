/**
 * Acknowledgement: a client that reads keeps its tag alive; one that is stopped does not, though its
 * socket stands.
 *
 * @module
 */
import { assertEquals, assertGreater, assertGreaterOrEqual } from "@std/assert";
import type { FixturePresence } from "../../../src/testing/fixture/state.ts";
import { eventually } from "../../support/poll.ts";
import type { Pair, Scenarios } from "./pair.ts";

const WINDOW_MS = 700;

/** Scenarios on a fixture with a keepalive of 200 ms. */
export const alive: Scenarios = {
  "keepalives are acknowledged, with the stream's own headers, one by one or several at once":
    async (pair) => {
      const tag = pair.server.tag();
      const url = pair.url("/alive");
      const stream = await pair.open({ headers: { "SSE-Client": tag }, alive: { url } });
      const lazy = await pair.open({
        headers: { "SSE-Client": pair.server.tag() },
        alive: { url, everyBeats: 4 },
      });
      // Without a tag it is refused: that is a record, and nothing else.
      const nobody = await pair.open({ alive: { url } });
      const { ok, status } = await nobody.next("alive_ack");
      assertEquals([ok, status], [false, 400]);
      const first = await stream.next("alive_ack");
      assertEquals([first.ok, first.status], [true, 204]);
      const before = (await presence(pair, tag))?.last_alive_at ?? NaN;
      await lazy.next("alive_ack");
      // The fourth may be on its way.
      assertGreaterOrEqual(stream.records("alive_ack").length, 3);
      assertGreater((await presence(pair, tag))?.last_alive_at ?? NaN, before);
      await pair.expectExactly(nobody, []);
      assertEquals([stream, lazy, nobody].flatMap((each) => each.records("disconnected")), []);
    },

  "a tag is alive while its client runs, gone when that is stopped, and back when it goes on":
    async (pair) => {
      await pair.fault("alive-window", { ms: WINDOW_MS });
      const tag = pair.server.tag();
      const stream = await pair.open({
        headers: { "SSE-Client": tag },
        alive: { url: pair.url("/alive") },
      });
      await stream.next("alive_ack");
      const seen = await presence(pair, tag);
      assertEquals([seen?.connected, seen?.gone], [true, false]);
      pair.defer(() => pair.client.kill("SIGCONT"));
      pair.client.kill("SIGSTOP");
      await until(pair, tag, "gone", ({ connected, gone }) => connected && gone);
      pair.client.kill("SIGCONT");
      await until(pair, tag, "alive again", ({ connected, gone }) => connected && !gone);
      assertEquals(stream.records("disconnected"), []);
    },
};

async function presence(pair: Pair, tag: string): Promise<FixturePresence | undefined> {
  return (await pair.fixture.state()).presence.find((each) => each.tag === tag);
}

async function until(
  pair: Pair,
  tag: string,
  what: string,
  holds: (presence: FixturePresence) => boolean,
): Promise<void> {
  await eventually(async () => {
    const found = await presence(pair, tag);
    return found !== undefined && holds(found);
  }, { what: `${tag} ${what}`, everyMs: 25 });
}
