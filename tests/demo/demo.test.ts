/** The page with the counters, in one tab. */
import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { CHROMIUM } from "../support/chromium.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { hasColour } from "./pixels.ts";
import { press, read, until, withDemo, withPage } from "./support.ts";

/** The browser's driver keeps timers for its calls, which may end in a later test. */
const browser = { needs: [CHROMIUM], timeoutMs: 90_000, foreignTimers: true };

test("the page says hello and draws what it receives", () =>
  withPage(async ({ page }) => {
    const first = await read(page);
    assertEquals(first.connections[0]?.verdict, "fresh");
    assertEquals(first.connections[0]?.resumed, "no");
    assertEquals(first.state, "open");
    await until(page, "15 events", ({ totals }) => totals.received >= 15);
    for (
      const [chart, label] of [
        ["cpu", "Processor use in percent"],
        ["memory", "Memory in use in GiB"],
        ["delay", "Event loop delay in milliseconds"],
        ["rate", "Events received in each second"],
      ] as const
    ) {
      await eventually(() => hasColour(page, `${chart}-chart`, "--accent"), {
        what: `a line on ${chart}`,
      });
      const said = await page.$eval(`#${chart}-chart`, (node) => node.getAttribute("aria-label"));
      assertMatch(said ?? "", new RegExp(`^${label}, now \\d`));
    }
    const { totals, cursor, here, tag, carrier } = await read(page);
    assertEquals([totals.missed, totals.twice, totals.replayed], [0, 0, 0]);
    assertMatch(cursor, /^[0-9a-f]{16}:\d+$/);
    assertStringIncludes(here, tag);
    assertEquals(carrier, "a SharedWorker, for 1 tab");
  }), browser);

test(
  "a cut connection resumes from its cursor, and nothing is missed",
  () =>
    withPage(async ({ page }) => {
      await until(page, "some events", ({ totals }) => totals.received >= 6);
      const { outcomes, connections, totals } = await press(page, "cut");
      assertMatch(outcomes[0] ?? "", /^Away for \d+\.\d s: resumed\. \d+ replayed, 0 missed\.$/);
      const [now, before] = connections;
      assertEquals([now?.verdict, now?.resumed, now?.missed], ["resumed", "yes", 0]);
      assertMatch(now?.presented ?? "", /^[0-9a-f]{16}:\d+$/);
      assertEquals(before?.ended, "cut off");
      assertGreater(totals.replayed, 0);
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test("a burst is received whole", () =>
  withPage(async ({ page }) => {
    const { outcomes, topics, totals } = await press(page, "burst");
    assertEquals(outcomes[0], "Burst: 500 published, 500 received, 0 missed.");
    assertEquals(topics["burst"], { published: 500, received: 500, missed: 0 });
    assertEquals(totals.missed, 0);
  }), browser);

test(
  "what a page misses while offline is replayed when one reply carries it",
  () =>
    withPage(async ({ page }) => {
      await until(page, "some events", ({ totals }) => totals.received >= 6);
      const { outcomes, totals, connections } = await press(page, "offline");
      assertMatch(outcomes[0] ?? "", /^Away for 1\d\.\d s: resumed\. \d+ replayed, 0 missed\.$/);
      assertGreater(totals.replayed, 40);
      assertEquals([totals.missed, totals.twice], [0, 0]);
      assertEquals(connections[1]?.ended, "offline");
    }),
  browser,
);

test(
  "a burst while offline is stored, and replayed to the last event",
  () =>
    withPage(async ({ page }) => {
      await until(page, "some events", ({ totals }) => totals.received >= 6);
      await page.click("#offline");
      await until(page, "offline", ({ state }) => state === "offline");
      const { topics, connections, totals } = await press(page, "burst");
      assertEquals(topics["burst"], { published: 500, received: 500, missed: 0 });
      assertEquals([connections[0]?.verdict, connections[0]?.resumed], ["resumed", "yes"]);
      assertGreater(connections[0]?.replayed ?? 0, 500);
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "a flood while offline is more than is kept, and every lost event is counted",
  () =>
    withPage(async ({ page, demo }) => {
      await until(page, "some events", ({ totals }) => totals.received >= 6);
      await page.click("#offline");
      await until(page, "offline", ({ state }) => state === "offline");
      const flood = await fetch(`${demo.url}/burst`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Origin: demo.url },
        body: '{"count":1000,"size":10240}',
      });
      assertEquals(await flood.json(), { count: 1000, n: 1000 });
      const { topics, connections } = await until(
        page,
        "the flood in the books",
        ({ topics }) => topics["burst"]?.published === 1000,
        20_000,
      );
      assertEquals(topics["burst"], { published: 1000, received: 0, missed: 1000 });
      assertEquals([connections[0]?.verdict, connections[0]?.resumed], ["gap_floor", "no"]);
      // The hole is seen on the charts, too.
      await eventually(() => hasColour(page, "cpu-chart", "--warn"), { what: "a hatched hole" });
    }),
  browser,
);

test(
  "a slow reader is told exactly as many as its counters say it missed",
  () =>
    withPage(async ({ page }) => {
      const { outcomes, totals, connections } = await press(page, "stall", 40_000);
      const told =
        /^A slow reader, silent for 8 s: ([\d,]+) received late, ([\d,]+) missed; the hub told of ([\d,]+)\.$/
          .exec(outcomes[0] ?? "");
      assert(told !== null, outcomes[0]);
      assertEquals(told[2], told[3]);
      // 40 MB are more than all buffers on the way hold, so something was lost, and was told.
      assertNotEquals(told[2], "0");
      assertEquals(connections.length, 1, "the page's own stream is another one");
      assertEquals(totals.twice, 0);
    }),
  browser,
);

test(
  "a restarted hub keeps its epoch: the page is resumed, and nothing is missed",
  () =>
    withPage(async ({ page }) => {
      const before = await until(page, "some events", ({ totals }) => totals.received >= 6);
      const { outcomes, connections, resets, totals, cursor } = await press(page, "restart");
      const epoch = before.cursor.slice(0, 6);
      assertMatch(
        outcomes[0] ?? "",
        new RegExp(`^Restarted: resumed, the epoch is still ${epoch}… \\d+ replayed, 0 missed\\.$`),
      );
      const [now, old] = connections;
      assertEquals([now?.verdict, now?.resumed, now?.missed], ["resumed", "yes", 0]);
      assertEquals(old?.ended, "reset: shutdown");
      assertEquals(resets, "1 shutdown, 0 slow");
      assertEquals(cursor.slice(0, 16), before.cursor.slice(0, 16), "the epoch is the same");
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "a burst during the restart is received whole",
  () =>
    withPage(async ({ page }) => {
      await until(page, "some events", ({ totals }) => totals.received >= 6);
      await page.evaluate(() => {
        for (const id of ["restart", "burst"]) document.getElementById(id)?.click();
      });
      const { totals, connections } = await until(
        page,
        "both outcomes",
        ({ outcomes }) =>
          outcomes.includes("Burst: 500 published, 500 received, 0 missed.") &&
          outcomes.some((line) => line.startsWith("Restarted: resumed, the epoch is still ")),
        20_000,
      );
      assertEquals(connections[0]?.verdict, "resumed");
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "the page waits for a server that has stopped, and goes on by itself with the next one",
  () =>
    withPage(async ({ page, demo }) => {
      await until(page, "some events", ({ totals }) => totals.received >= 6);
      assertEquals((await demo.stop()).code, 0);
      const before = await until(page, "waiting", ({ state }) => state.startsWith("back in"));
      assertEquals(before.connections[0]?.ended, "reset: shutdown");
      await withDemo(async (next) => {
        assertEquals(next.url, demo.url);
        const { connections, totals } = await until(
          page,
          "the next server's events",
          ({ connections, totals: { published, received, missed } }) =>
            connections.length === 2 && received > before.totals.received &&
            published === received + missed,
          40_000,
        );
        assertEquals(connections[0]?.verdict, "epoch_changed");
        assertEquals(connections[0]?.presented, before.cursor);
        // Its counters have begun again: what it published before the page was back is missed.
        assertEquals(totals.missed, connections[0]?.missed);
        assertEquals(totals.twice, 0);
      }, ["--port", new URL(demo.url).port]);
    }),
  browser,
);
