/**
 * The hooks in the real React, in a real browser, against the fixture: what is shown, and how many
 * connections that takes. One browser is enough: what differs between them is below the hooks.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { BROWSERS } from "../support/runtimes.ts";
import type { ReactProbe, RoomDescription } from "./page/react.ts";
import { browserGroup, type BrowserTests, type Ground } from "./support/ground.ts";
import type { ProbedTab } from "./support/probe.ts";

type ReactTab = ProbedTab<ReactProbe>;

const tests: BrowserTests = {
  async "a component shows its frames as they come, and each of those below it shows the same"(
    ground,
  ) {
    const tab = await showing(ground, { topic: "a" });
    assertEquals([await tab.ask("lines"), await tab.ask("revalidations")], ["", 1]);
    await publish(ground, "a", "1", "2");
    await shows(tab, "1 2");
    await publish(ground, "b", "for others");
    await publish(ground, "a", "3");
    await shows(tab, "1 2 3");
    assertEquals(await tab.ask("echo"), "1 2 3");
    assertEquals((await ground.fixture.state()).clients, 1);
  },

  async "a frame renders the components that read it, and not the one that holds the stream"(
    ground,
  ) {
    const tab = await showing(ground, { topic: "a" });
    await publish(ground, "a", "1", "2", "3");
    await shows(tab, "1 2 3");
    assertEquals(await tab.ask("renders"), 1);
  },

  async "strict mode mounts twice, and asks for one connection"(ground) {
    const before = await connects(ground);
    const tab = await showing(ground, { topic: "a", strict: true });
    await publish(ground, "a", "1");
    await shows(tab, "1");
    assertEquals(await connects(ground) - before, 1);
    assertEquals((await ground.fixture.state()).clients, 1);
    await tab.ask("unmount");
    await clients(ground, 0);
  },

  async "a component that goes away closes its stream"(ground) {
    const tab = await showing(ground, { topic: "a" });
    await tab.ask("unmount");
    await clients(ground, 0);
    assertEquals(await tab.ask("lines"), null);
  },

  async "another address is another stream with a state of its own, and the first one is closed"(
    ground,
  ) {
    const before = await connects(ground);
    const tab = await showing(ground, { topic: "a", strict: true });
    await publish(ground, "a", "1");
    await shows(tab, "1");
    await tab.ask("show", { topic: "b", strict: true });
    await shows(tab, "");
    await opens(tab);
    await clients(ground, 1);
    await publish(ground, "a", "for others");
    await publish(ground, "b", "2");
    await shows(tab, "2");
    assertEquals(await connects(ground) - before, 2);
  },

  async "rendered anew it keeps its stream, and uses the functions of the newest render"(ground) {
    const before = await connects(ground);
    const tab = await showing(ground, { topic: "a" });
    await publish(ground, "a", "1");
    await shows(tab, "1");
    for (const prefix of ["x", "y", "z"]) await tab.ask("show", { topic: "a", prefix });
    await tab.until("renders", (renders) => renders === 4, { what: "four renders" });
    await publish(ground, "a", "2");
    await shows(tab, "1 z2");
    assertEquals(await connects(ground) - before, 1);
  },

  async "what a server rendered is taken over without a complaint"(ground) {
    const tab = await ground.open<ReactProbe>("react");
    await tab.ask("hydrate", { topic: "a", strict: true });
    await opens(tab);
    await publish(ground, "a", "1");
    await shows(tab, "1");
    assertEquals(await ground.complaints(), []);
  },
};

for (const browser of BROWSERS.filter(({ name }) => name === "chromium")) {
  browserGroup(browser, "the hooks for React", {}, tests);
}

/** Opens a page with the component, and waits until its stream is open. */
async function showing(ground: Ground, description: RoomDescription): Promise<ReactTab> {
  const tab = await ground.open<ReactProbe>("react");
  await tab.ask("show", description);
  await opens(tab);
  return tab;
}

async function opens(tab: ReactTab): Promise<void> {
  await tab.until("state", (state) => state === "open", { what: "open" });
}

async function shows(tab: ReactTab, lines: string): Promise<void> {
  await tab.until("lines", (shown) => shown === lines, { what: `the lines "${lines}"` });
}

async function publish(ground: Ground, topic: string, ...data: readonly string[]): Promise<void> {
  for (const each of data) await ground.publish({ topic, name: "line", data: each });
}

/** How many requests for a stream there have been. */
async function connects(ground: Ground): Promise<number> {
  return (await ground.fixture.state()).v3_connects;
}

async function clients(ground: Ground, count: number): Promise<void> {
  await eventually(async () => (await ground.fixture.state()).clients === count, {
    what: `${count} clients of the fixture`,
    everyMs: 50,
  });
}
