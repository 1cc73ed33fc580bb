/**
 * Our `EventSource` beside the browser's own: a program must not be able to tell which it has.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { BROWSERS } from "../support/runtimes.ts";
import type { SourcesProbe, Story } from "./page/event_source.ts";
import { browserGroup, type BrowserTests, type Ground } from "./support/ground.ts";
import type { ProbedTab } from "./support/probe.ts";

type SourcesTab = ProbedTab<SourcesProbe>;

const tests: BrowserTests = {
  async "both tell the same, in the same order, over a cut as well"(ground) {
    const tab = await listening(ground);
    await ground.publish({ topic: "a", data: "one\ntwo" });
    await ground.publish({ topic: "a", name: "news", data: "three" });
    await ground.publish({ topic: "b", data: "for others" });
    await ground.publish({ topic: "a", name: "news", data: "" });
    await tell(tab, 6);
    ground.proxy.cut();
    await ground.publish({ topic: "a", data: "missed" });
    // The loss, the return, the missed event, and what the fixture says to each connection.
    await tell(tab, 10);
    await ground.publish({ topic: "a", name: "news", data: "after" });
    await tell(tab, 11);
    await tab.ask("close");
    const [theirs, ours] = await alike(tab);
    assertEquals(ours, theirs);
    assertEquals(theirs.map(([type]) => type), [
      0,
      "open",
      "message",
      "message",
      "news",
      "news",
      "error",
      "open",
      "message",
      "message",
      "news",
      2,
    ]);
  },

  "a listener that throws is reported to the page, and stops neither": {
    throws: true,
    async run(ground) {
      const tab = await listening(ground);
      await ground.publish({ topic: "a", name: "news", data: "throw" });
      await ground.publish({ topic: "a", name: "news", data: "go on" });
      await tell(tab, 5);
      const [theirs, ours] = await alike(tab);
      assertEquals(ours, theirs);
      assertEquals(await tab.ask("errors"), 2);
    },
  },

  "both are closed for good by a refusal, and say so once": {
    // Firefox tells the page of its own source's refusal as it would of an exception.
    throws: true,
    async run(ground) {
      const tab = await ground.open<SourcesProbe>("event_source");
      await tab.ask("listen", "/page/none/at/all");
      await tell(tab, 2);
      const [theirs, ours] = await tab.ask("stories");
      assertEquals(theirs[1]?.slice(0, 2), ["error", 2]);
      assertEquals(ours, theirs);
    },
  },
};

for (const browser of BROWSERS) browserGroup(browser, "an EventSource", {}, tests);

/** Opens a page with both sources, and waits until each has heard the fixture's first words. */
async function listening(ground: Ground): Promise<SourcesTab> {
  const tab = await ground.open<SourcesProbe>("event_source");
  await tab.ask("listen", "/events?topic=a");
  await tell(tab, 3);
  return tab;
}

async function tell(tab: SourcesTab, count: number): Promise<void> {
  await tab.until("stories", (stories) => stories.every((story) => story.length >= count), {
    what: `${count} entries of both`,
  });
}

/**
 * Both stories, without the one thing in which they differ: before the first id the browser knows no
 * `lastEventId`, and ours has taken the head from the hello.
 */
async function alike(tab: SourcesTab): Promise<readonly [Story, Story]> {
  const [theirs, ours] = await tab.ask("stories");
  assertEquals(theirs[2]?.[3], "");
  assertMatch(String(ours[2]?.[3]), /^[0-9a-f]{16}:0$/);
  return [theirs, ours.with(2, (ours[2] ?? []).with(3, ""))];
}
