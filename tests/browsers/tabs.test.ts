/**
 * Tabs that share one stream, in real browsers: over a SharedWorker, and over a leading tab where a
 * page is given no worker. Workers die, tabs are closed, frozen, and kept for a way back.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { BROWSERS } from "../support/runtimes.ts";
import type { SeenRecord, TabDescription, TabsProbe } from "./page/tabs.ts";
import { browserGroup, type BrowserTests, type Ground } from "./support/ground.ts";
import type { ProbedTab } from "./support/probe.ts";

type SharingTab = ProbedTab<TabsProbe>;

/** Short, so that a loss is noticed while a test waits: three of them are the limit. */
const BEAT_MS = 700;
/** One more than a browser has connections to an origin over HTTP/1.1. */
const MANY = 7;

const WORKER: TabDescription = {
  worker: `/script/tabs_worker.js?beat=${BEAT_MS}`,
  beatMs: BEAT_MS,
};
const LEADER: TabDescription = { worker: null, beatMs: BEAT_MS };

/** Opens a tab that shares the stream, and waits until it has got its state. */
async function sharing(ground: Ground, description: TabDescription): Promise<SharingTab> {
  const tab = await ground.open<TabsProbe>("tabs");
  await tab.ask("begin", description);
  await settled(tab, 1);
  return tab;
}

/** Waits until a tab has revalidated so many times, and its stream is open. */
async function settled(tab: SharingTab, runs: number): Promise<void> {
  await tab.until("revalidations", (all) => all.length >= runs, { what: `${runs} revalidations` });
  await tab.until("state", (state) => state === "open", { what: "open" });
}

async function several(
  ground: Ground,
  count: number,
  description: TabDescription,
): Promise<SharingTab[]> {
  const tabs: SharingTab[] = [];
  for (let i = 0; i < count; i++) tabs.push(await sharing(ground, description));
  return tabs;
}

const published = new WeakMap<Ground, number>();

/** Publishes events with the data `1`, `2`, … within a test; returns their data. */
async function publish(ground: Ground, count: number): Promise<string[]> {
  const first = (published.get(ground) ?? 0) + 1;
  published.set(ground, first + count - 1);
  const data = Array.from({ length: count }, (_, i) => String(first + i));
  for (const each of data) await ground.publish({ name: "news", data: each });
  return data;
}

/** Waits until each tab has seen the last of these, and holds the end of what it saw to be just them. */
async function allSee(tabs: readonly SharingTab[], data: readonly string[]): Promise<void> {
  for (const tab of tabs) {
    const options = { what: `event ${data.at(-1)}`, timeoutMs: 15_000 };
    await tab.until("seen", (seen) => seen.at(-1) === data.at(-1), options);
    const seen = await tab.ask("seen");
    assertEquals(seen.slice(-data.length), data);
    assertEquals(new Set(seen).size, seen.length, "nothing came twice");
  }
}

/** Waits until the fixture has so many streams. */
async function clients(ground: Ground, count: number): Promise<void> {
  await eventually(async () => (await ground.fixture.state()).clients === count, {
    what: `${count} clients of the fixture`,
    everyMs: 50,
  });
}

async function kinds(tab: SharingTab): Promise<readonly SeenRecord["kind"][]> {
  return (await tab.ask("records")).map(({ kind }) => kind);
}

/** How often each tab has revalidated: also when the profile was seen again between two tabs. */
async function revalidated(tabs: readonly SharingTab[]): Promise<number[]> {
  return await Promise.all(tabs.map(async (tab) => (await tab.ask("revalidations")).length));
}

async function modes(tabs: readonly SharingTab[]): Promise<(string | null)[]> {
  return await Promise.all(tabs.map((tab) => tab.ask("mode")));
}

/** Waits until exactly one of the tabs leads; returns it. */
async function leaderOf(tabs: readonly SharingTab[]): Promise<SharingTab> {
  return await eventually(async () => {
    const now = await modes(tabs);
    return now.filter((mode) => mode === "leader").length === 1
      ? tabs[now.indexOf("leader")]
      : null;
  }, { what: "one leader", timeoutMs: 15_000, everyMs: 50 });
}

function others(tabs: readonly SharingTab[], tab: SharingTab): SharingTab[] {
  return tabs.filter((each) => each !== tab);
}

const both: BrowserTests = Object.fromEntries(
  ([["a worker", WORKER], ["a leading tab", LEADER]] as const).flatMap(([carrier, description]) => [
    [
      `over ${carrier} more tabs than a browser has connections live on one`,
      async (ground: Ground) => {
        const tabs = await several(ground, MANY, description);
        await allSee(tabs, await publish(ground, 5));
        await clients(ground, 1);
        const expected = description === WORKER
          ? Array(MANY).fill("worker")
          : ["leader", ...Array(MANY - 1).fill("follower")];
        assertEquals(await modes(tabs), expected);
        assertEquals(new Set(await Promise.all(tabs.map((tab) => tab.ask("cursor")))).size, 1);
      },
    ],
    [
      `over ${carrier} a tab that comes late gets its state first, then what follows`,
      async (ground: Ground) => {
        const first = await sharing(ground, description);
        await allSee([first], await publish(ground, 3));
        const late = await sharing(ground, description);
        const more = await publish(ground, 2);
        await allSee([first, late], more);
        assertEquals(await late.ask("seen"), more);
        assertEquals((await late.ask("revalidations"))[0], true);
      },
    ],
    [
      `over ${carrier} a cut of the network costs no tab a frame`,
      async (ground: Ground) => {
        const tabs = await several(ground, 3, description);
        const before = await publish(ground, 2);
        await allSee(tabs, before);
        ground.proxy.cut();
        await allSee(tabs, [...before, ...await publish(ground, 5)]);
        await clients(ground, 1);
      },
    ],
    [
      `over ${carrier} a page that is left and come back to attaches again, kept or not`,
      async (ground: Ground) => {
        const [stays, leaves] = await several(ground, 2, description);
        assert(stays !== undefined && leaves !== undefined);
        await allSee([stays, leaves], await publish(ground, 2));
        await leaves.goto(`${ground.origin}/blank`);
        await stays.until("records", (all) => all.some(({ kind }) => kind === "tab_detached"), {
          what: "the tab to detach",
        });
        const missed = await publish(ground, 3);
        await allSee([stays], missed);
        await leaves.back();
        const kept = await leaves.ask("begun");
        if (kept) {
          // What it missed was kept for it, too.
          await leaves.until("seen", (seen) => seen.at(-1) === missed.at(-1), { what: "the rest" });
          assertEquals(await leaves.ask("seen"), ["1", "2", ...missed]);
        } else await leaves.ask("begin", description);
        await settled(leaves, 1);
        await allSee([stays, leaves], await publish(ground, 2));
        await clients(ground, 1);
      },
    ],
    [
      `over ${carrier} a logout ends the stream for every tab, and a reconnection starts it`,
      async (ground: Ground) => {
        const tabs = await several(ground, 3, description);
        const [first, ...rest] = tabs;
        assert(first !== undefined);
        await first.ask("detach", "logout");
        await clients(ground, 0);
        for (const tab of rest) {
          await tab.until("state", (state) => state === "stopped", { what: "stopped" });
        }
        const runs = await revalidated(rest);
        await rest[0]?.ask("reconnect");
        for (const [i, tab] of rest.entries()) await settled(tab, (runs[i] ?? 0) + 1);
        await allSee(rest, await publish(ground, 2));
        await clients(ground, 1);
      },
    ],
  ]),
);

const workers: BrowserTests = {
  "a worker that was killed is started again, and nobody misses a frame": {
    needs: ["killsSharedWorker"],
    async run(ground) {
      const tabs = await several(ground, 3, WORKER);
      const before = await publish(ground, 2);
      await allSee(tabs, before);
      const runs = await revalidated(tabs);
      assertEquals(await ground.killSharedWorkers(), 1);
      const missed = await publish(ground, 3);
      await allSee(tabs, [...before, ...missed]);
      await allSee(tabs, await publish(ground, 2));
      await clients(ground, 1);
      for (const tab of tabs) {
        assertEquals(await tab.ask("mode"), "worker");
        assert((await kinds(tab)).includes("worker_dead"));
      }
      assertEquals(await revalidated(tabs), runs);
    },
  },

  async "the tab that started the worker is closed, and the others go on"(ground) {
    const [creator, ...rest] = await several(ground, 3, WORKER);
    const before = await publish(ground, 2);
    await allSee(rest, before);
    await creator?.close();
    await allSee(rest, [...before, ...await publish(ground, 3)]);
    await allSee(rest, await publish(ground, 2));
    await clients(ground, 1);
  },

  async "where the worker's script cannot be loaded each tab has a stream of its own"(ground) {
    const tabs = await several(ground, 2, { worker: "/script/none.js", beatMs: BEAT_MS });
    await allSee(tabs, await publish(ground, 2));
    assertEquals(await modes(tabs), ["own", "own"]);
    await clients(ground, 2);
    for (const tab of tabs) assert((await kinds(tab)).includes("worker_unavailable"));
  },

  "a tab that freezes is no burden, and goes on when it is thawed": {
    needs: ["freezable"],
    async run(ground) {
      const [frozen, shown] = await several(ground, 2, WORKER);
      assert(frozen !== undefined && shown !== undefined);
      await allSee([frozen, shown], await publish(ground, 2));
      await frozen.freeze();
      const missed = await publish(ground, 3);
      await allSee([shown], missed);
      await frozen.resume();
      await frozen.until("seen", (seen) => seen.at(-1) === "5", { what: "what it missed" });
      await allSee([frozen, shown], await publish(ground, 2));
    },
  },

  "a tab that freezes without a word expires, and is repaired when it is thawed": {
    needs: ["freezable"],
    async run(ground) {
      const frozen = await sharing(ground, { ...WORKER, deaf: true });
      const shown = await sharing(ground, WORKER);
      await allSee([frozen, shown], await publish(ground, 2));
      await frozen.freeze();
      await shown.until("records", (all) => all.some(({ kind }) => kind === "port_expired"), {
        what: "the tab to expire",
      });
      await allSee([shown], await publish(ground, 3));
      const [runs = 0] = await revalidated([frozen]);
      await frozen.resume();
      await settled(frozen, runs + 1);
      assertEquals((await frozen.ask("revalidations")).at(-1), true);
      await allSee([frozen, shown], await publish(ground, 2));
      assert((await kinds(shown)).includes("port_repaired"));
    },
  },
};

const leaders: BrowserTests = {
  async "the leader is closed, and the next tab leads without a frame lost"(ground) {
    const tabs = await several(ground, 4, LEADER);
    const before = await publish(ground, 2);
    await allSee(tabs, before);
    const leader = await leaderOf(tabs);
    const rest = others(tabs, leader);
    const runs = await revalidated(rest);
    await leader.close();
    await allSee(rest, [...before, ...await publish(ground, 3)]);
    await leaderOf(rest);
    await clients(ground, 1);
    assertEquals(await revalidated(rest), runs);
  },

  async "the leader goes into the back-forward cache, and the next tab leads"(ground) {
    const tabs = await several(ground, 3, LEADER);
    const before = await publish(ground, 2);
    await allSee(tabs, before);
    const leader = await leaderOf(tabs);
    const rest = others(tabs, leader);
    await leader.goto(`${ground.origin}/blank`);
    await allSee(rest, [...before, ...await publish(ground, 3)]);
    await leaderOf(rest);
    await leader.back();
    if (!await leader.ask("begun")) await leader.ask("begin", LEADER);
    await settled(leader, 1);
    assertEquals(await leader.ask("mode"), "follower");
    await allSee(tabs, await publish(ground, 2));
    await clients(ground, 1);
  },

  "the leader freezes, and lets go before": {
    needs: ["freezable"],
    async run(ground) {
      const tabs = await several(ground, 3, LEADER);
      const before = await publish(ground, 2);
      await allSee(tabs, before);
      const leader = await leaderOf(tabs);
      const rest = others(tabs, leader);
      await leader.freeze();
      await allSee(rest, [...before, ...await publish(ground, 3)]);
      await clients(ground, 1);
      await leader.resume();
      await allSee(tabs, [...before, "3", "4", "5", ...await publish(ground, 2)]);
      assertEquals(await leader.ask("mode"), "follower");
      await clients(ground, 1);
    },
  },

  async "a leader that is kept asleep with its lock is replaced all the same"(ground) {
    const leader = await sharing(ground, { ...LEADER, deaf: true });
    const rest = await several(ground, 2, LEADER);
    assertEquals(await leader.ask("mode"), "leader");
    const before = await publish(ground, 2);
    await allSee(rest, before);
    await leader.goto(`${ground.origin}/blank`);
    await allSee(rest, [...before, ...await publish(ground, 3)]);
    await leaderOf(rest);
    await clients(ground, 1);
  },

  async "a lock whose holder does not lead is stolen after three silent beats"(ground) {
    const tabs = await several(ground, 3, LEADER);
    const before = await publish(ground, 2);
    await allSee(tabs, before);
    const leader = await leaderOf(tabs);
    // As a frozen page would: it holds the lock, and is silent.
    const thief = await ground.open<TabsProbe>("tabs");
    await thief.run((name) => {
      navigator.locks.request(name, { steal: true }, () => new Promise(() => {})).catch(() => {});
    }, `tidemark:${ground.origin}/events`);
    await leader.until("mode", (mode) => mode === "follower", { what: "its abdication" });
    await clients(ground, 0);
    const missed = await publish(ground, 3);
    await allSee(tabs, [...before, ...missed]);
    const next = await leaderOf(tabs);
    assert((await kinds(next)).includes("worker_dead"));
    await clients(ground, 1);
    await allSee(tabs, await publish(ground, 2));
  },
};

for (const browser of BROWSERS) {
  browserGroup(browser, "shared tabs", { keepaliveMs: 1000 }, { ...both, ...workers, ...leaders });
}
