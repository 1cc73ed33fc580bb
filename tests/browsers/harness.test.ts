/**
 * The harness itself, in every browser, with the browser's own `EventSource`: what the tests of the
 * client build on happens for real, and the table of browsers says what each of them does.
 *
 * @module
 */
import { assertEquals, assertGreater, assertMatch, assertNotEquals } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { BROWSERS } from "../support/runtimes.ts";
import { elapse } from "../suites/lib/within.ts";
import type { LifeEvent } from "./page/recorder.ts";
import type { NativeProbe } from "./page/native.ts";
import { browserGroup, type BrowserTests } from "./support/ground.ts";
import { hears, leaveAndReturn, listening, type NativeTab, told } from "./support/listening.ts";
import { clients } from "./support/streaming.ts";

/** In this time nothing may happen that was not to happen. */
const QUIET_MS = 400;

const streams: BrowserTests = {
  async "a page hears the hello, and an event that is published afterwards"(ground) {
    const tab = await listening(ground);
    const [event] = await tab.ask("events");
    assertEquals(event, { type: "open", data: "" });
    await hears(tab, "sse:hello", /"verdict":"fresh"/);
    await ground.publish({ name: "news", data: "the first" });
    await hears(tab, "news", /^the first$/);
  },

  async "a cut connection is noticed, and what was missed comes on the next one"(ground) {
    const tab = await listening(ground);
    await ground.publish({ name: "news", data: "before" });
    await hears(tab, "news", /^before$/);
    const accepted = ground.proxy.accepted();
    ground.proxy.refuse(true);
    ground.proxy.cut();
    await hears(tab, "error", /^0$/);
    await ground.publish({ name: "news", data: "meanwhile" });
    ground.proxy.refuse(false);
    await hears(tab, "sse:hello", /"verdict":"resumed"/);
    await hears(tab, "news", /^meanwhile$/);
    assertGreater(ground.proxy.accepted(), accepted);
  },

  async "a stalled network brings nothing and ends nothing, and all of it comes afterwards"(
    ground,
  ) {
    const tab = await listening(ground);
    ground.proxy.stall(true);
    await ground.publish({ name: "news", data: "late" });
    await elapse(QUIET_MS);
    const types = (await tab.ask("events")).map(({ type }) => type);
    assertEquals(types.filter((type) => ["news", "error"].includes(type)), []);
    ground.proxy.stall(false);
    await hears(tab, "news", /^late$/);
  },

  async "the fixture's cut reaches the page"(ground) {
    const tab = await ground.open<NativeProbe>("native");
    await tab.ask("read", "/events");
    await tab.until("heads", (heads) => heads === 1, { what: "the head" });
    assertEquals(await tab.ask("ending"), "");
    await ground.fixture.control("close-after", { frames: 1 });
    const ending = await tab.until("ending", (text) => text !== "", { what: "the cut" });
    assertEquals(ending === "end", !ground.can.tellsCutFromEnd, ending);
  },

  async "the page's leaving reaches the fixture"(ground) {
    const tab = await listening(ground);
    await clients(ground, 1);
    await tab.goto(`${ground.origin}/blank`);
    await tab.close();
    await clients(ground, 0);
  },

  async "another process may take the fixture's place behind the same address"(ground) {
    const tab = await listening(ground);
    await ground.publish({ name: "news", data: "with a cursor" });
    await hears(tab, "news", /./);
    const before = await ground.fixture.state();
    await ground.replaceFixture();
    await hears(tab, "sse:hello", /"verdict":"epoch_changed"/);
    const after = await ground.fixture.state();
    assertNotEquals(after.position.epoch, before.position.epoch);
  },

  async "one profile gets so many streams of one origin, and the next hangs until one ends"(
    ground,
  ) {
    const { streamsPerOrigin } = ground.browser;
    const tabs: NativeTab[] = [];
    for (let i = 0; i <= streamsPerOrigin; i++) tabs.push(await ground.open<NativeProbe>("native"));
    const last = tabs.pop();
    for (const tab of tabs) {
      await tab.ask("listen", "/events");
      await hears(tab, "sse:hello", /"verdict":"fresh"/);
    }
    const [first] = tabs;
    if (first === undefined || last === undefined) throw new Error("There is no tab");
    await last.ask("listen", "/events");
    await elapse(QUIET_MS);
    assertEquals(await last.ask("events"), []);
    await clients(ground, streamsPerOrigin);
    await first.ask("silence");
    await hears(last, "sse:hello", /"verdict":"fresh"/);
  },

  async "plain fetches of one address run side by side or wait for each other, as the table says"(
    ground,
  ) {
    const tab = await ground.open<NativeProbe>("native");
    await tab.ask("fetchMany", "/events?topic=a", 2, "default");
    await tab.until("heads", (heads) => heads >= 1, { what: "the first head" });
    await elapse(QUIET_MS);
    assertEquals(await tab.ask("heads"), ground.can.fetchesSideBySide ? 2 : 1);
    await tab.reload();
    await tab.ask("fetchMany", "/events?topic=b", 2, "no-store");
    await tab.until("heads", (heads) => heads === 2, { what: "both heads" });
  },
};

const lives: BrowserTests = {
  async "to show one tab hides the other, and each is told so"(ground) {
    const first = await ground.open<NativeProbe>("native");
    const second = await ground.open<NativeProbe>("native");
    await told(first, "visibilitychange", "hidden");
    const before = (await first.ask("life")).length;
    await first.bringToFront();
    const [now] = (await told(first, "visibilitychange", "visible")).slice(before);
    assertEquals(now?.detail, "visible");
    await told(second, "visibilitychange", "hidden");
    await second.bringToFront();
    await first.until("life", (life) => hides(life) === 2, { what: "hidden a second time" });
    assertEquals(await first.run(() => document.visibilityState), "hidden");
    assertEquals(await second.run(() => document.visibilityState), "visible");
  },

  "a hidden tab can be frozen: nothing runs in it until it is thawed": {
    needs: ["freezable"],
    async run(ground) {
      const tab = await listening(ground);
      await ground.open<NativeProbe>("native");
      await told(tab, "visibilitychange", "hidden");
      await tab.freeze();
      await told(tab, "freeze", "");
      await ground.publish({ name: "news", data: "while frozen" });
      await elapse(QUIET_MS);
      assertEquals((await tab.ask("events")).filter(({ type }) => type === "news"), []);
      await tab.resume();
      await told(tab, "resume", "");
      await hears(tab, "news", /^while frozen$/);
      assertEquals(await tab.run(() => document.visibilityState), "hidden");
    },
  },

  "whether a fetch's body flows on after a freeze is as the table says": {
    needs: ["freezable"],
    async run(ground) {
      const tab = await ground.open<NativeProbe>("native");
      await tab.ask("read", "/events");
      await tab.until("text", (text) => text.includes("sse:hello"), { what: "the hello" });
      await ground.open<NativeProbe>("native");
      await told(tab, "visibilitychange", "hidden");
      await tab.freeze();
      await ground.publish({ name: "news", data: "while frozen" });
      await elapse(QUIET_MS);
      await tab.bringToFront();
      await told(tab, "visibilitychange", "visible");
      await ground.publish({ name: "news", data: "thawed" });
      await elapse(QUIET_MS);
      assertEquals((await tab.ask("text")).includes("thawed"), ground.can.fetchSurvivesFreeze);
      assertEquals(await tab.ask("ending"), "");
    },
  },

  async "a page that holds nothing is the same page when one comes back to it"(ground) {
    const tab = await ground.open<NativeProbe>("native");
    assertEquals(await leaveAndReturn(ground, tab), true);
  },

  async "whether a page is kept with an open stream is as the table says"(ground) {
    const tab = await ground.open<NativeProbe>("native");
    await tab.ask("read", "/events");
    await tab.until("heads", (heads) => heads === 1, { what: "the head" });
    assertEquals(await leaveAndReturn(ground, tab), ground.can.bfcacheWithStream);
  },

  "whether a page is kept with a lock, and keeps the lock, is as the table says": {
    needs: ["webLocks"],
    async run(ground) {
      const tab = await ground.open<NativeProbe>("native");
      const kept = await leaveAndReturn(ground, tab, "lock");
      assertEquals(kept, ground.can.bfcacheWithLock);
      assertEquals(await tab.ask("lockFree"), !ground.can.bfcacheKeepsLock);
      // A page that was kept without its lock is told so; one that is new asked for none.
      const lost = kept && !ground.can.bfcacheKeepsLock ? /^AbortError/ : /^$/;
      await tab.until("lockLost", (text) => lost.test(text), { what: "the lock's end" });
    },
  },

  "the lock of a page that was left can be had by another": {
    needs: ["webLocks"],
    async run(ground) {
      const other = await ground.open<NativeProbe>("native");
      const tab = await ground.open<NativeProbe>("native");
      await tab.ask("lock");
      assertEquals(await other.ask("lockFree"), false);
      await tab.goto(`${ground.origin}/blank`);
      await other.until("lockFree", (free) => free, { what: "the lock" });
    },
  },

  "whether a page is kept with a shared worker's port is as the table says": {
    needs: ["sharedWorker"],
    async run(ground) {
      const tab = await ground.open<NativeProbe>("native");
      assertEquals(await leaveAndReturn(ground, tab, "greet"), ground.can.bfcacheWithWorker);
    },
  },

  async "a page that is loaded again has forgotten everything"(ground) {
    const tab = await listening(ground);
    await tab.reload();
    assertEquals(await tab.ask("events"), []);
    const life = await tab.ask("life");
    assertEquals(life.filter(({ type }) => type === "load").length, 1);
  },

  "a tab can be told that there is no network, and an open stream flows on": {
    needs: ["emulatesOffline"],
    async run(ground) {
      const tab = await listening(ground);
      await tab.setOffline(true);
      await told(tab, "offline", "offline");
      await ground.publish({ name: "news", data: "all the same" });
      await hears(tab, "news", /^all the same$/);
      await tab.setOffline(false);
      await told(tab, "online", "online");
    },
  },

  async "to unplug a tab tells it so and cuts its stream, and to plug it in brings both back"(
    ground,
  ) {
    const tab = await listening(ground);
    await ground.unplug(tab);
    await told(tab, "offline");
    await hears(tab, "error", /^[02]$/);
    await ground.plugIn(tab);
    await told(tab, "online");
    await tab.ask("listen", "/events");
    await hears(tab, "sse:hello", /"verdict":"fresh"/);
  },
};

const tools: BrowserTests = {
  "all tabs of a profile share one worker": {
    needs: ["sharedWorker"],
    async run(ground) {
      const first = await ground.open<NativeProbe>("native");
      const second = await ground.open<NativeProbe>("native");
      const { life } = await first.ask("greet");
      assertEquals(await second.ask("greet"), { life, greetings: 2 });
    },
  },

  "a shared worker can be killed, and the next tab starts another": {
    needs: ["sharedWorker", "killsSharedWorker"],
    async run(ground) {
      const tab = await ground.open<NativeProbe>("native");
      const { life } = await tab.ask("greet");
      assertEquals(await ground.killSharedWorkers(), 1);
      const next = await tab.ask("greet");
      assertNotEquals(next.life, life);
      assertEquals(next.greetings, 1);
    },
  },

  "what a page throws and what it logs as an error is kept": {
    throws: true,
    async run(ground) {
      const tab = await ground.open<NativeProbe>("native");
      assertEquals(await ground.complaints(), []);
      await tab.run(() => {
        setTimeout(() => {
          throw new Error("thrown on purpose");
        });
        console.error("logged on purpose");
      });
      const complaints = await eventually(async () => {
        const all = await ground.complaints();
        return all.length >= 2 ? all : null;
      }, { what: "two complaints" });
      assertEquals(complaints.length, 2);
      assertMatch(complaints.join("\n"), /exception: .*thrown on purpose/);
      assertMatch(complaints.join("\n"), /console: .*logged on purpose/);
    },
  },

  async "what the page throws, the test throws"(ground) {
    const tab = await ground.open<NativeProbe>("native");
    const message = await tab.run(() => Promise.reject(new RangeError("too far"))).then(
      () => "",
      String,
    );
    assertMatch(message, /RangeError: too far/);
  },

  async "a picture of the page is a PNG"(ground) {
    const tab = await ground.open<NativeProbe>("native");
    const picture = await tab.screenshot();
    assertEquals([...picture.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
  },
};

// The table's own truth takes a minute in all three: the streams' tests lean on it in each of them.
const tried = Deno.env.get("TIDEMARK_HARNESS") === "all" ? BROWSERS : BROWSERS.slice(0, 1);
for (const browser of tried) {
  browserGroup(browser, "the harness", {}, { ...streams, ...lives, ...tools });
}

function hides(life: readonly LifeEvent[]): number {
  return life.filter(({ type, detail }) => type === "visibilitychange" && detail === "hidden")
    .length;
}
