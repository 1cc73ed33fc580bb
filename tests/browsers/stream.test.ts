/**
 * The client's stream in real browsers, against the fixture through a proxy that fails as a network
 * does. Everything that wakes, hides, cuts or stalls it happens for real.
 *
 * @module
 */
import { assertEquals, assertGreaterOrEqual, assertMatch, assertNotEquals } from "@std/assert";
import { BROWSERS } from "../support/runtimes.ts";
import { elapse } from "../suites/lib/within.ts";
import type { StreamDescription, StreamProbe } from "./page/stream.ts";
import { browserGroup, type BrowserTests, type Ground } from "./support/ground.ts";
import {
  clients,
  last,
  opensAgain,
  publish,
  records,
  sees,
  seesOnce,
  streaming,
  type StreamTab,
} from "./support/streaming.ts";

/** Short, so that a dead network is noticed while a test waits: three of them are the watchdog's. */
const KEEPALIVE_MS = 300;
const HIDDEN_MS = 300;
/** In this time a browser that knows it is hidden does something that it should not. */
const QUIET_MS = 400;

const connections: BrowserTests = {
  async "a fresh stream revalidates once, then hears every event in order"(ground) {
    const tab = await streaming(ground, { topics: ["a"] });
    const [hello] = await records(tab, "hello");
    assertEquals([hello?.verdict, hello?.resumed], ["fresh", false]);
    assertEquals((await tab.ask("revalidations")).map(({ cause }) => cause), ["hello"]);
    await ground.publish({ topic: "b", name: "news", data: "for others" });
    const sent = await publish(ground, 5, "a");
    await sees(tab, sent);
    const frames = (await tab.ask("frames")).filter(({ id }) => id !== null);
    assertEquals(frames.map(({ type }) => type), Array(5).fill("news"));
    assertEquals(await tab.ask("cursor"), frames.at(-1)?.id);
    assertMatch(await tab.ask("cursor"), /^[0-9a-f]{16}:6$/);
  },

  async "two tabs on one address have a stream each"(ground) {
    const first = await streaming(ground);
    const second = await streaming(ground);
    const sent = await publish(ground, 1);
    await sees(first, sent);
    await sees(second, sent);
  },

  async "a stream that is stopped leaves the server, and starts again from its cursor"(ground) {
    const tab = await streaming(ground);
    await sees(tab, await publish(ground, 2));
    await tab.ask("stop");
    assertEquals(await tab.ask("state"), "stopped");
    await clients(ground, 0);
    const missed = await publish(ground, 2);
    await tab.ask("start");
    await seesOnce(ground, tab, ["1", "2", ...missed]);
    assertEquals((await last(tab, "hello")).verdict, "resumed");
  },

  async "after a cut what was missed arrives exactly once, without a revalidation"(ground) {
    const tab = await streaming(ground);
    const before = await publish(ground, 3);
    await sees(tab, before);
    ground.proxy.refuse(true);
    ground.proxy.cut();
    await left(tab, "open");
    const missed = await publish(ground, 20);
    ground.proxy.refuse(false);
    await opensAgain(tab, 2);
    await seesOnce(ground, tab, [...before, ...missed]);
    const hello = await last(tab, "hello");
    assertEquals([hello.verdict, hello.resumed], ["resumed", true]);
    assertEquals((await tab.ask("revalidations")).length, 1);
    // Every browser words a cut in its own way; for the client it is an end like any other.
    assertEquals((await last(tab, "disconnected")).reason, "ended");
  },

  async "a cut in the middle of a reply loses nothing and repeats nothing"(ground) {
    const tab = await streaming(ground);
    await sees(tab, await publish(ground, 1));
    await ground.fixture.control("close-after", { frames: 8 });
    await left(tab, "open");
    const missed = await publish(ground, 30);
    // Each connection brings a few frames more before it is cut, too.
    await tab.until("seen", (seen) => seen.length >= 5, { what: "a first part of the reply" });
    await ground.fixture.control("close-after", { frames: 0 });
    await seesOnce(ground, tab, ["1", ...missed], 20_000);
  },
};

const restarts: BrowserTests = {
  async "a hub that was replaced is another epoch: the page revalidates, and goes on from there"(
    ground,
  ) {
    const tab = await streaming(ground);
    await sees(tab, await publish(ground, 2));
    await ground.fixture.control("restart");
    await startsAnew(ground, tab);
    assertEquals((await last(tab, "reset")).reason, "shutdown");
  },

  async "so is another process: no attempt at the dead one counts as an answer"(ground) {
    const tab = await streaming(ground);
    await sees(tab, await publish(ground, 2));
    await ground.replaceFixture();
    await startsAnew(ground, tab);
  },
};

const networks: BrowserTests = {
  async "without a network it waits, and with one it resumes at once"(ground) {
    const tab = await streaming(ground);
    const before = await publish(ground, 2);
    await sees(tab, before);
    await ground.unplug(tab);
    await tab.until("state", (state) => state === "offline", { what: "offline" });
    const generation = (await last(tab, "state")).generation;
    const missed = await publish(ground, 4);
    await elapse(QUIET_MS);
    assertEquals((await last(tab, "state")).generation, generation, "it must not even try");
    await ground.plugIn(tab);
    await opensAgain(tab, 2);
    await seesOnce(ground, tab, [...before, ...missed]);
    assertEquals((await last(tab, "hello")).verdict, "resumed");
    assertEquals((await last(tab, "revalidate")).cause, "online");
  },

  async "told that there is no network it does not keep a stream that still flows"(ground) {
    const tab = await streaming(ground);
    const before = await publish(ground, 2);
    await sees(tab, before);
    await ground.tellOnline(tab, false);
    await tab.until("state", (state) => state === "offline", { what: "offline" });
    await clients(ground, 0);
    const missed = await publish(ground, 2);
    await ground.tellOnline(tab, true);
    await opensAgain(tab, 2);
    await seesOnce(ground, tab, [...before, ...missed]);
  },

  async "a network that has died silently is noticed by its silence, and left behind"(ground) {
    const timing = { watchdogFloorMs: 500, connectTimeoutMs: 1000, baseMs: 50, capMs: 200 };
    const tab = await streaming(ground, { timing });
    const before = await publish(ground, 2);
    await sees(tab, before);
    ground.proxy.stall(true);
    const [watchdog] = await records(tab, "watchdog", 1);
    assertGreaterOrEqual(watchdog?.sinceLastByteMs ?? 0, 3 * KEEPALIVE_MS);
    assertEquals((await last(tab, "disconnected")).reason, "silent");
    const [failed] = await records(tab, "connect_failed", 1);
    assertEquals(failed?.reason, "connect_timeout");
    const missed = await publish(ground, 4);
    ground.proxy.stall(false);
    await opensAgain(tab, 2);
    await seesOnce(ground, tab, [...before, ...missed]);
    assertEquals((await last(tab, "hello")).verdict, "resumed");
  },
};

const lives: BrowserTests = {
  async "hidden too long it closes, and it resumes as soon as somebody looks"(ground) {
    const tab = await streaming(ground, { timing: { hiddenCloseAfterMs: HIDDEN_MS } });
    const before = await publish(ground, 2);
    await sees(tab, before);
    await ground.open<StreamProbe>("stream");
    await tab.until("state", (state) => state === "hidden_closed", { what: "hidden_closed" });
    await clients(ground, 0);
    const missed = await publish(ground, 4);
    await tab.bringToFront();
    await opensAgain(tab, 2);
    await seesOnce(ground, tab, [...before, ...missed]);
    assertEquals((await last(tab, "hello")).verdict, "resumed");
    assertEquals((await last(tab, "reopened")).cause, "visible");
    assertEquals((await last(tab, "revalidate")).cause, "visible");
  },

  async "hidden for less than that it stays open, and hears everything"(ground) {
    const tab = await streaming(ground);
    await ground.open<StreamProbe>("stream");
    await tab.until("life", (life) => life.some(({ detail }) => detail === "hidden"), {
      what: "hidden",
    });
    await sees(tab, await publish(ground, 3));
    assertEquals(await tab.ask("state"), "open");
    assertEquals((await records(tab, "hello")).length, 1);
  },

  "frozen with an open stream it misses nothing, whatever becomes of the socket": {
    needs: ["freezable"],
    async run(ground) {
      const tab = await streaming(ground);
      const before = await publish(ground, 2);
      await sees(tab, before);
      await ground.open<StreamProbe>("stream");
      await tab.until("life", (life) => life.some(({ detail }) => detail === "hidden"), {
        what: "hidden",
      });
      await tab.freeze();
      const frozen = await publish(ground, 2);
      await elapse(QUIET_MS);
      assertEquals(await tab.ask("seen"), before);
      ground.proxy.cut();
      const missed = await publish(ground, 2);
      await tab.resume();
      await opensAgain(tab, 2);
      await seesOnce(ground, tab, [...before, ...frozen, ...missed]);
      assertEquals((await last(tab, "hello")).verdict, "resumed");
    },
  },

  "frozen it closes its stream, which would never flow again, and thawed it misses nothing": {
    needs: ["freezable"],
    async run(ground) {
      const tab = await streaming(ground);
      const before = await publish(ground, 2);
      await sees(tab, before);
      await ground.open<StreamProbe>("stream");
      await tab.freeze();
      // In Chromium a body that grew meanwhile never flows again, and nobody is told.
      const missed = await publish(ground, 3);
      await tab.bringToFront();
      await seesOnce(ground, tab, [...before, ...missed]);
      assertEquals((await last(tab, "hidden_closed")).arm, "pagehide");
      assertEquals((await last(tab, "hello")).verdict, "resumed");
    },
  },

  async "a page that one comes back to goes on where it was, whether it was kept or not"(ground) {
    const description: StreamDescription = { keep: "state" };
    const tab = await streaming(ground, description);
    const before = await publish(ground, 3);
    await sees(tab, before);
    await tab.goto(`${ground.origin}/blank`);
    await clients(ground, 0);
    const missed = await publish(ground, 3);
    await tab.back();
    const kept = await tab.ask("begun");
    assertEquals(kept, ground.can.bfcacheWithStream);
    if (!kept) await tab.ask("begin", description);
    await seesOnce(ground, tab, [...before, ...missed]);
    assertEquals((await last(tab, "hello")).verdict, "resumed");
    // A page that was kept closed its stream itself; of another that life is forgotten.
    const arms = (await records(tab, "hidden_closed")).map(({ arm }) => arm);
    assertEquals(arms, kept ? ["pagehide"] : []);
    assertEquals((await records(tab, "reopened")).length, kept ? 1 : 0);
  },

  async "loaded again with its cursor alone it revalidates what the page has forgotten"(ground) {
    const description: StreamDescription = { keep: "cursor" };
    const tab = await streaming(ground, description);
    await sees(tab, await publish(ground, 3));
    const cursor = await tab.ask("cursor");
    await tab.reload();
    await clients(ground, 0);
    const missed = await publish(ground, 2);
    await tab.ask("begin", description);
    await seesOnce(ground, tab, missed);
    const hello = await last(tab, "hello");
    assertEquals([hello.verdict, hello.epoch], ["resumed", cursor.slice(0, 16)]);
    const runs = (await tab.ask("revalidations")).map(({ cause, full }) => ({ cause, full }));
    assertEquals(runs, [{ cause: "restored", full: true }]);
  },

  async "loaded again with its state too it revalidates nothing, and has everything once"(ground) {
    const description: StreamDescription = { keep: "state" };
    const tab = await streaming(ground, description);
    const before = await publish(ground, 3);
    await sees(tab, before);
    await tab.reload();
    const missed = await publish(ground, 2);
    await tab.ask("begin", description);
    await seesOnce(ground, tab, [...before, ...missed]);
    assertEquals((await last(tab, "hello")).verdict, "resumed");
    assertEquals(await tab.ask("revalidations"), []);
  },
};

for (const browser of BROWSERS) {
  const tests = { ...connections, ...restarts, ...networks, ...lives };
  browserGroup(browser, "a stream", { keepaliveMs: KEEPALIVE_MS }, tests);
}

/** The page has found another epoch, has revalidated once more, and hears what comes. */
async function startsAnew(ground: Ground, tab: StreamTab): Promise<void> {
  const before = await tab.ask("seen");
  await opensAgain(tab, 2);
  const hellos = await records(tab, "hello");
  assertEquals(hellos.map(({ verdict }) => verdict), ["fresh", "epoch_changed"]);
  assertNotEquals(hellos[0]?.epoch, hellos[1]?.epoch);
  const causes = (await tab.ask("revalidations")).map(({ cause, epoch }) => ({ cause, epoch }));
  assertEquals(causes.at(-1), { cause: "hello", epoch: hellos[1]?.epoch });
  assertEquals(causes.length, 2);
  await sees(tab, [...before, ...await publish(ground, 3)]);
  assertMatch(await tab.ask("cursor"), new RegExp(`^${hellos[1]?.epoch}:3$`));
}

async function left(tab: StreamTab, state: string): Promise<void> {
  await tab.until("state", (now) => now !== state, { what: `no longer ${state}` });
}
