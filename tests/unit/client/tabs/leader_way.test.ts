import { assert, assertEquals } from "@std/assert";
import { test } from "../../../support/test.ts";
import type { Page } from "./sim/page.ts";
import { World } from "./sim/world.ts";

const data = (page: Page): string[] => page.frames.map(({ data }) => data);
const modes = (world: World): string[] => world.pages.map(({ tab }) => tab.mode());

async function worldOf(pages: number, seed = 1): Promise<World> {
  const world = new World({ workers: false, seed });
  for (let i = 0; i < pages; i++) world.open();
  await world.advance(1000);
  return world;
}

/** Publishes, and sees that everybody who is there gets it. */
async function flows(world: World): Promise<void> {
  const counts = world.present.map(({ frames }) => frames.length);
  world.server.publish(2);
  await world.advance(1000);
  assertEquals(world.present.map(({ frames }) => frames.length), counts.map((count) => count + 2));
  assertEquals(world.faults, []);
}

test("without a worker one tab leads, and all live on its stream", async () => {
  const world = await worldOf(4);
  assertEquals(modes(world), ["leader", "follower", "follower", "follower"]);
  assertEquals(world.server.connects, 1);
  await flows(world);
  const spawned = world.pages.map((page) =>
    page.records.filter(({ kind }) => kind === "worker_spawned")
  );
  assertEquals(spawned, [[{ kind: "worker_spawned", via: "leader" }], [], [], []]);
});

test("when the leader leaves or dies the next tab leads, from its own cursor", async () => {
  for (const end of ["detach", "crash"] as const) {
    const world = await worldOf(3);
    await flows(world);
    world.pages[0]?.[end]();
    world.server.publish(1);
    await world.advance(1000);
    assertEquals(modes(world).slice(1), ["leader", "follower"]);
    await flows(world);
    assertEquals(world.pages.slice(1).map((page) => data(page).length), [5, 5]);
    assertEquals(world.pages.slice(1).map(({ runs }) => runs.length), [1, 1]);
  }
});

test("a leader that goes into the back-forward cache, or is told that it freezes, lets go", async () => {
  for (const leave of ["hide", "freeze"] as const) {
    const world = await worldOf(3);
    const [leader] = world.pages;
    assert(leader !== undefined);
    if (leave === "hide") leader.hide();
    else leader.freeze(true);
    await world.advance(1000);
    assertEquals(modes(world).slice(1), ["leader", "follower"]);
    assertEquals(world.server.open, 1);
    world.server.publish(1);
    await world.advance(60_000);
    if (leave === "hide") leader.show();
    else leader.resume();
    await world.advance(1000);
    assertEquals(modes(world), ["follower", "leader", "follower"]);
    await flows(world);
    assertEquals(world.server.open, 1);
  }
});

test("a leader that froze without a word keeps its lock; a follower steals it after three silent beats", async () => {
  const world = await worldOf(3);
  const [leader, ...others] = world.pages;
  assert(leader !== undefined);
  await flows(world);
  leader.freeze(false);
  world.server.publish(1);
  await world.advance(14_000);
  assertEquals(modes(world), ["leader", "follower", "follower"]);
  // Three beats, and the wait that keeps the followers apart.
  await world.advance(7000);
  assertEquals(modes(world).filter((mode) => mode === "leader").length, 2);
  assertEquals(others.map((page) => data(page).length), [3, 3]);
  // The old one wakes, and its stream goes.
  leader.resume();
  await world.advance(100);
  assertEquals(leader.tab.mode(), "follower");
  assertEquals(world.server.open, 1);
  await flows(world);
  assertEquals(world.pages.map((page) => data(page).length), [5, 5, 5]);
});

test("a deposed leader that hears of a newer term closes its stream, though its lock said nothing", async () => {
  const world = await worldOf(2);
  const [leader] = world.pages;
  assert(leader !== undefined);
  world.locks.mute = true;
  leader.freeze(false);
  await world.advance(22_000);
  leader.resume();
  await world.advance(6000);
  assertEquals(leader.tab.mode(), "follower");
  assertEquals(world.server.open, 1);
  await flows(world);
});

test("a deposed leader whose lock was stolen closes its stream, though it has heard of no term", async () => {
  const world = await worldOf(2);
  const [leader, other] = world.pages;
  assert(leader !== undefined && other !== undefined);
  world.locks.steal();
  for (const channel of leader.channels) channel.deaf = true;
  await world.advance(20);
  assertEquals(leader.tab.mode(), "follower");
});

test("what an old leader still says is not heard by those who know a newer one", async () => {
  const world = await worldOf(3);
  const [leader, ...others] = world.pages;
  assert(leader !== undefined);
  await flows(world);
  leader.freeze(false);
  await world.advance(22_000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals(others.map((page) => data(page).length), [3, 3]);
  // What its own stream brought while it slept is what it deals with first.
  leader.resume();
  await world.advance(10);
  assertEquals(others.map((page) => data(page).length), [3, 3]);
  await world.advance(1000);
  assertEquals(world.pages.map((page) => data(page).length), [3, 3, 3]);
  // Nor did it confuse them: they would have attached anew.
  assertEquals(others.map(({ runs }) => runs.length), [1, 1]);
  assertEquals(
    others.flatMap((page) => page.kinds()).filter((kind) => kind === "port_repaired"),
    [],
  );
  await flows(world);
});

test("followers that miss their leader do not all steal the lock", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = await worldOf(5, seed);
    world.pages[0]?.freeze(false);
    await world.advance(30_000);
    assertEquals(modes(world).slice(1).filter((mode) => mode === "leader").length, 1);
    assertEquals(world.server.connects, 2, `seed ${seed}`);
  }
});

test("a hidden leader whose timers run once a minute is not deposed, and expires nobody", async () => {
  const world = await worldOf(3);
  const [leader, other] = world.pages;
  assert(leader !== undefined && other !== undefined);
  leader.see(false);
  leader.owner.throttled = true;
  other.see(false);
  other.owner.throttled = true;
  await world.advance(600_000);
  assertEquals(modes(world), ["leader", "follower", "follower"]);
  assertEquals(
    world.pages.flatMap((page) => page.kinds()).filter((kind) => kind === "port_expired"),
    [],
  );
  await flows(world);
});

test("a leader that logs out ends the stream for all, and nobody who takes its place starts it", async () => {
  const world = await worldOf(3);
  world.pages[0]?.detach("logout");
  await world.advance(5000);
  assertEquals(world.server.open, 0);
  assertEquals(modes(world).slice(1), ["leader", "follower"]);
  assertEquals(world.present.map(({ tab }) => tab.state()), ["stopped", "stopped"]);
  world.open();
  await world.advance(1000);
  assertEquals(world.present.map(({ tab }) => tab.state()), ["open", "open", "open"]);
});

test("a logout is the last word, though the next leader leads before it has heard of it", async () => {
  for (const page of [0, 1]) {
    const world = await worldOf(3);
    world.channelMs = 50;
    world.pages[page]?.detach("logout");
    world.pages[0]?.detach();
    await world.advance(5000);
    assertEquals(world.server.open, 0);
    assertEquals(world.present.map(({ tab }) => tab.state()), world.present.map(() => "stopped"));
  }
});

test("a follower that logs out ends the stream for all", async () => {
  const world = await worldOf(3);
  world.pages[2]?.detach("logout");
  await world.advance(1000);
  assertEquals(world.server.open, 0);
  assertEquals(world.present.map(({ tab }) => tab.state()), ["stopped", "stopped"]);
});

test("tabs of another name are another profile", async () => {
  const world = new World({ workers: false });
  const pages = [world.open({ name: "a" }), world.open({ name: "b" }), world.open({ name: "a" })];
  await world.advance(1000);
  assertEquals(pages.map(({ tab }) => tab.mode()), ["leader", "leader", "follower"]);
});

test("a stream that has neither a name nor a fixed address is not taken for another one", async () => {
  const world = new World({ workers: false });
  const url = (): string => "http://sim/events";
  const pages = [world.open({ url }), world.open({ url }), world.open({ url, name: "a" })];
  await world.advance(1000);
  assertEquals(pages.map(({ tab }) => tab.mode()), ["own", "own", "leader"]);
});

test("where there are no locks or no channels, or they fail, each tab is on its own", async () => {
  const none = new World({ workers: false, elections: false });
  const locks = new World({ workers: false });
  locks.locks.broken = true;
  const channels = new World({ workers: false });
  channels.channels = false;
  for (const world of [none, locks, channels]) {
    world.open();
    world.open();
    await world.advance(1000);
    assertEquals(modes(world), ["own", "own"]);
    for (const page of world.pages) {
      assertEquals(page.records.filter(({ kind }) => kind === "worker_unavailable"), [
        { kind: "worker_unavailable", cause: "missing" },
      ]);
    }
    await flows(world);
    assertEquals(world.server.open, 2);
  }
});

test("a factory that throws is one where there is no SharedWorker", async () => {
  const world = new World();
  const page = world.open({
    worker() {
      throw new TypeError("SharedWorker is not defined");
    },
  });
  await world.advance(1000);
  assertEquals(page.tab.mode(), "leader");
});

test("a follower's own reports count: the profile is visible while any tab is", async () => {
  const world = await worldOf(2);
  const [leader, follower] = world.pages;
  assert(leader !== undefined && follower !== undefined);
  leader.see(false);
  await world.advance(120_000);
  assertEquals(leader.tab.state(), "open");
  follower.see(false);
  await world.advance(75_000);
  assertEquals(leader.tab.state(), "hidden_closed");
  follower.see(true);
  await world.advance(1000);
  assertEquals(follower.tab.state(), "open");
});
