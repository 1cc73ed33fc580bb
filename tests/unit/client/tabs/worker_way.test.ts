import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../../../support/test.ts";
import type { Page } from "./sim/page.ts";
import { World } from "./sim/world.ts";

/** The records of some kinds that a page saw. */
function seen(page: Page, ...kinds: string[]): string[] {
  return page.kinds().filter((kind) => kinds.includes(kind));
}

const data = (page: Page): string[] => page.frames.map(({ data }) => data);

async function worldOf(pages: number): Promise<World> {
  const world = new World();
  for (let i = 0; i < pages; i++) world.open();
  await world.advance(1000);
  return world;
}

test("all tabs of a profile live on one stream", async () => {
  const world = await worldOf(3);
  world.server.publish(3);
  await world.advance(100);
  assertEquals([world.server.open, world.server.connects], [1, 1]);
  for (const page of world.pages) {
    assertEquals(data(page), ["1", "2", "3"]);
    assertEquals([page.tab.mode(), page.tab.state()], ["worker", "open"]);
    assertEquals(page.tab.cursor(), world.server.cursor(3));
  }
  assertEquals(world.faults, []);
});

test("the state is the new one when its record comes", async () => {
  const world = new World();
  const states: string[] = [];
  const page: Page = world.open({
    onLifecycle(record) {
      if (record.kind === "state") states.push(`${record.to} ${page.tab.state()}`);
      if (record.kind === "tab_attached") states.push(`${record.state} ${page.tab.state()}`);
    },
  });
  assertEquals(page.tab.state(), "connecting");
  await world.advance(1000);
  for (const state of states) assertMatch(state, /^(\w+) \1$/);
  assertEquals(states.at(-1), "open open");
});

test("nothing is told within the call that attaches", async () => {
  for (const options of [{}, { workers: false }, { workers: false, elections: false }]) {
    const world = new World(options);
    let attached = false;
    world.open({ onLifecycle: () => assert(attached) });
    attached = true;
    await world.advance(1000);
    assertEquals(world.server.open, 1);
  }
});

test("a tab that is detached in the turn in which it attached never begins", async () => {
  const world = new World();
  const page = world.open();
  page.detach();
  await world.advance(60_000);
  assertEquals([page.records, world.server.connects, world.clock.waiting(page.owner)], [[], 0, 0]);
});

test("a tab that comes late revalidates alone and in full, and gets what follows", async () => {
  const world = await worldOf(1);
  world.server.publish(2);
  await world.advance(100);
  const late = world.open();
  late.runMs = 500;
  await world.advance(100);
  world.server.publish(1);
  await world.advance(100);
  assertEquals(data(late), []);
  await world.advance(1000);
  assertEquals(data(late), ["3"]);
  assertEquals(late.runs.map(({ cause, full }) => [cause, full]), [["hello", true]]);
  assertEquals(world.pages[0]?.runs.length, 1);
  assertEquals(world.faults, []);
});

test("a page that kept its state with a cursor goes on from there, and fetches nothing", async () => {
  const world = new World();
  world.server.publish(3);
  const page = world.open({ cursor: world.server.cursor(1) });
  page.knows(1);
  await world.advance(1000);
  assertEquals([data(page), page.runs.length], [["2", "3"], 0]);
  // Another that is too far behind fetches everything.
  world.server.publish(300);
  await world.advance(1000);
  const late = world.open({ cursor: world.server.cursor(1) });
  late.knows(1);
  await world.advance(1000);
  assertEquals([data(late), late.runs.length], [[], 1]);
  assertEquals(world.faults, []);
});

test("the page's own address and headers are what the worker presents", async () => {
  const world = new World();
  let tickets = 0;
  world.open({
    url: ({ attempt }) =>
      Promise.resolve(`http://sim/events?ticket=${++tickets}&attempt=${attempt}`),
    headers: { "X-Token": "t" },
    tag: "profile-1",
  });
  await world.advance(1000);
  const [stream] = world.server.streams;
  assertEquals(stream?.attempts, [{
    url: "http://sim/events?ticket=1&attempt=0",
    headers: { "X-Token": "t", "SSE-Client": "profile-1" },
    cursor: "",
  }]);
});

test("a tab that sleeps without a word expires, and is repaired by a full revalidation when it wakes", async () => {
  const world = await worldOf(2);
  const [sleeper, other] = world.pages;
  assert(sleeper !== undefined && other !== undefined);
  sleeper.freeze(false);
  await world.advance(20_000);
  assertEquals(seen(other, "port_expired", "tab_detached"), ["port_expired", "tab_detached"]);
  world.server.publish(2);
  await world.advance(1000);
  sleeper.resume();
  await world.advance(10_000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals(data(sleeper), ["3"]);
  assertEquals(data(other), ["1", "2", "3"]);
  assertEquals(sleeper.runs.at(-1)?.full, true);
  assertEquals(sleeper.runs.length, 2);
  assertEquals(seen(other, "port_repaired"), ["port_repaired"]);
  assertEquals(world.faults, []);
});

test("a hidden tab whose timers run once a minute neither expires nor gives its worker up", async () => {
  const world = await worldOf(2);
  const [hidden, other] = world.pages;
  assert(hidden !== undefined && other !== undefined);
  hidden.see(false);
  hidden.owner.throttled = true;
  await world.advance(600_000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals(data(hidden), ["1"]);
  assertEquals(seen(other, "port_expired"), []);
  assertEquals(seen(hidden, "worker_dead"), []);
});

test("a worker that died is started once more, from the cursor of the tabs, and nobody misses a frame", async () => {
  const world = await worldOf(2);
  world.server.publish(2);
  await world.advance(1000);
  world.killWorker();
  world.server.publish(2);
  await world.advance(21_000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals(world.server.open, 1);
  for (const page of world.pages) {
    assertEquals(seen(page, "worker_spawned", "worker_dead", "worker_unavailable"), [
      ...["worker_spawned", "worker_dead", "worker_spawned"],
    ]);
    assertEquals([page.tab.mode(), page.current], ["worker", true]);
  }
  for (const page of world.pages) {
    assertEquals([data(page), page.runs.length], [["1", "2", "3", "4", "5"], 1]);
  }
  assertEquals(world.faults, []);
});

test("a worker may be lost again and again", async () => {
  const world = await worldOf(1);
  for (let life = 0; life < 3; life++) {
    world.killWorker();
    await world.advance(25_000);
  }
  assertEquals(world.pages[0]?.tab.mode(), "worker");
  assertEquals(world.server.open, 1);
});

test("a worker that is silent twice is given up for a stream of the tab's own, from the same cursor", async () => {
  const world = await worldOf(1);
  const [page] = world.pages;
  assert(page !== undefined && world.worker !== null);
  world.server.publish(2);
  await world.advance(1000);
  world.worker.owner.asleep = true;
  await world.advance(45_000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals([page.tab.mode(), page.tab.state()], ["own", "open"]);
  const dead = page.records.filter(({ kind }) => kind === "worker_dead");
  assertEquals(dead.map((record) => record.kind === "worker_dead" && record.sinceLastMessageMs), [
    ...[15_000, 15_000],
  ]);
  assertEquals(page.records.filter(({ kind }) => kind === "worker_unavailable"), [
    { kind: "worker_unavailable", cause: "silent" },
  ]);
  assertEquals(data(page), ["1", "2", "3"]);
  assertEquals(page.runs.length, 1);
});

test("a worker that answers again is taken back once in each visible period, without a frame lost or twice", async () => {
  const world = await worldOf(1);
  const [page] = world.pages;
  assert(page !== undefined && world.worker !== null);
  const { owner } = world.worker;
  owner.asleep = true;
  await world.advance(45_000);
  const connects = (): number => world.spawns;
  const before = connects();
  page.see(false);
  page.see(true);
  await world.advance(1000);
  page.signal("visible");
  await world.advance(60_000);
  // One try, which came to nothing.
  assertEquals([connects() - before, page.tab.mode()], [1, "own"]);
  world.server.publish(3);
  await world.advance(1000);
  owner.asleep = false;
  await world.advance(20_000);
  assertEquals(page.tab.mode(), "own");
  page.see(false);
  page.see(true);
  for (let i = 0; i < 20; i++) {
    world.server.publish(1);
    await world.advance(3);
  }
  await world.advance(5000);
  assertEquals([connects() - before, page.tab.mode()], [2, "worker"]);
  assertEquals(seen(page, "worker_recovered"), ["worker_recovered"]);
  assertEquals(world.server.open, 1);
  assertEquals(data(page).length, 23);
  assertEquals(world.faults, []);
});

test("a tab on its own that is far behind the worker revalidates when it changes over", async () => {
  const world = await worldOf(2);
  const [page, other] = world.pages;
  assert(page !== undefined && other !== undefined && world.worker !== null);
  const { owner } = world.worker;
  owner.asleep = true;
  await world.advance(45_000);
  owner.asleep = false;
  other.see(false);
  other.see(true);
  await world.advance(1000);
  assertEquals([page.tab.mode(), other.tab.mode()], ["own", "worker"]);
  // Its own stream is connected, and nothing comes.
  for (const stream of world.server.streams) {
    if (stream.owner === page.owner) Object.assign(stream, { push: () => {} });
  }
  world.server.publish(300);
  await world.advance(1000);
  page.see(false);
  page.see(true);
  await world.advance(1000);
  assertEquals([page.tab.mode(), page.current, page.frames.length], ["worker", true, 0]);
  assertEquals(world.faults, []);
});

test("a worker's script that cannot be loaded is not waited for", async () => {
  const world = new World();
  world.scripts = false;
  const page = world.open();
  await world.advance(500);
  assertEquals(page.records.filter(({ kind }) => kind === "worker_unavailable"), [
    { kind: "worker_unavailable", cause: "error" },
  ]);
  assertEquals([page.tab.mode(), page.tab.state()], ["own", "open"]);
});

test("an error of a worker that has answered is not the end of it", async () => {
  const world = await worldOf(1);
  world.scriptError();
  await world.advance(1000);
  assertEquals(world.pages[0]?.tab.mode(), "worker");
});

test("a page that is left detaches, and attaches again when it is shown, whatever kept it", async () => {
  const world = await worldOf(2);
  const [page, other] = world.pages;
  assert(page !== undefined && other !== undefined);
  page.hide();
  await world.advance(1000);
  assertEquals(other.records.at(-1), { kind: "tab_detached", tabs: 1, cause: "pagehide" });
  world.server.publish(1);
  await world.advance(600_000);
  // A message to a sleeping page would have thrown it out of the cache.
  assertEquals(world.clock.waiting(page.owner), 0);
  page.show();
  await world.advance(1000);
  world.server.publish(1);
  await world.advance(1000);
  // The worker has kept what it missed.
  assertEquals([data(page), page.runs.length], [["1", "2"], 1]);
  assertEquals(data(other), ["1", "2"]);
  assertEquals(world.faults, []);
});

test("a page that was away for longer than the worker keeps frames revalidates in full", async () => {
  const world = await worldOf(2);
  const [page] = world.pages;
  assert(page !== undefined);
  page.hide();
  await world.advance(1000);
  world.server.publish(257);
  await world.advance(1000);
  page.show();
  await world.advance(1000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals([data(page), page.runs.length], [["258"], 2]);
  assertEquals(world.faults, []);
});

test("a page that was away while nothing happened goes on without a revalidation", async () => {
  const world = await worldOf(2);
  const [page] = world.pages;
  assert(page !== undefined);
  world.server.publish(1);
  await world.advance(6000);
  page.hide();
  page.show();
  await world.advance(1000);
  world.server.publish(1);
  await world.advance(1000);
  assertEquals(data(page), ["1", "2"]);
  assertEquals(page.runs.length, 1);
});

test("a worker that the browser restarted behind the same ports is noticed within a beat", async () => {
  const world = await worldOf(2);
  world.server.publish(1);
  await world.advance(1000);
  world.restartWorker();
  world.server.publish(1);
  await world.advance(6000);
  world.server.publish(1);
  await world.advance(1000);
  for (const page of world.pages) {
    assertEquals(seen(page, "worker_dead"), []);
    assertEquals([page.tab.mode(), page.current], ["worker", true]);
  }
  for (const page of world.pages) assertEquals(data(page), ["1", "2", "3"]);
  assertEquals([world.server.open, world.faults], [1, []]);
});

test("after a change of hosts the stream's next revalidation is a full one for the tab", async () => {
  const world = await worldOf(1);
  const [page] = world.pages;
  assert(page !== undefined);
  world.restartWorker();
  await world.advance(6000);
  assertEquals(page.runs.length, 1);
  page.see(false);
  await world.advance(11_000);
  page.see(true);
  await world.advance(1000);
  assertEquals(page.runs.map(({ cause, full }) => [cause, full]), [
    ...[["hello", true], ["visible", true]],
  ]);
});

test("a hole that nobody had revalidated when the worker died is covered by each tab itself", async () => {
  const world = await worldOf(2);
  for (const page of world.pages) page.failures = 1;
  for (const stream of world.server.streams) stream.lag();
  world.server.publish(1);
  await world.advance(1000);
  assertEquals(world.pages.map(({ current }) => current), [false, false]);
  world.killWorker();
  await world.advance(25_000);
  assertEquals(world.pages.map(({ current }) => current), [true, true]);
});

test("a logout ends the stream for all tabs, and a page that comes back does not start it", async () => {
  const world = await worldOf(3);
  const [page, other, away] = world.pages;
  assert(page !== undefined && other !== undefined && away !== undefined);
  page.detach("logout");
  await world.advance(1000);
  assertEquals([world.server.open, other.tab.state(), page.tab.state()], [0, "stopped", "stopped"]);
  assertEquals(other.tab.cursor(), "");
  away.hide();
  away.show();
  await world.advance(60_000);
  assertEquals(world.server.open, 0);
  other.tab.reconnect();
  await world.advance(1000);
  assertEquals([world.server.open, other.tab.state()], [1, "open"]);
});

test("the attachment's commands reach the profile's stream", async () => {
  const world = await worldOf(1);
  const [page] = world.pages;
  const [stream] = world.server.streams;
  assert(page !== undefined && stream !== undefined);
  page.tab.setTag("b");
  await world.advance(100);
  page.tab.setTag("");
  page.tab.setTag("b");
  await world.advance(100);
  page.tab.reconnect();
  await world.advance(100);
  page.tab.reconnect({ resetCursor: true });
  await world.advance(100);
  // An open stream is not disturbed.
  page.tab.credentialsChanged();
  await world.advance(100);
  assertEquals(
    stream.attempts.map(({ headers, cursor }) => [headers["SSE-Client"], cursor !== ""]),
    [
      ...[[undefined, false], ["b", true], ["b", true], ["b", false]],
    ],
  );
});

test("a detached tab is silent, keeps no timer, and leaves the others alone", async () => {
  const world = await worldOf(2);
  const [page, other] = world.pages;
  assert(page !== undefined && other !== undefined);
  page.detach();
  page.tab.detach();
  page.tab.reconnect();
  page.see(false);
  page.signal("pageshow");
  await world.advance(1000);
  assertEquals(other.records.at(-1), { kind: "tab_detached", tabs: 1, cause: "detached" });
  assertEquals(world.clock.waiting(page.owner), 0);
  assertEquals(page.tab.state(), "stopped");
});

test("a report of the page goes to the worker at once", async () => {
  const world = await worldOf(1);
  const [page] = world.pages;
  assert(page !== undefined);
  page.connect(false);
  await world.advance(200);
  assertEquals(page.tab.state(), "offline");
  page.connect(true);
  await world.advance(200);
  assertEquals(page.tab.state(), "open");
});
