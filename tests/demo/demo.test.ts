import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type { Page } from "puppeteer-core";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { CHROMIUM, press, read, withPage } from "./support.ts";

const SCREENS = new URL("../../.cache/screens/", import.meta.url);
/** The browser's driver keeps timers for its calls, which may end in a later test. */
const browser = { needs: [CHROMIUM], timeoutMs: 90_000, foreignTimers: true };

test("the page says hello and draws what it receives", () =>
  withPage(async ({ page }) => {
    const first = await read(page);
    assertEquals(first.connections[0]?.verdict, "fresh");
    assertEquals(first.connections[0]?.resumed, "no");
    assertEquals(first.state, "open");
    await eventually(async () => (await read(page)).totals.received >= 15, { what: "15 events" });
    for (const chart of ["cpu", "memory", "delay", "rate"]) {
      await eventually(() => accentPixels(page, `${chart}-chart`), { what: `a line on ${chart}` });
      assertMatch(await page.$eval(`#${chart}-value`, (node) => node.textContent), /^\d/);
    }
    const { totals, cursor, here, tag } = await read(page);
    assertEquals([totals.missed, totals.twice, totals.replayed], [0, 0, 0]);
    assertMatch(cursor, /^[0-9a-f]{16}:\d+$/);
    assertStringIncludes(here, tag);
  }), browser);

test(
  "a cut connection resumes from its cursor, and nothing is missed",
  () =>
    withPage(async ({ page }) => {
      await eventually(async () => (await read(page)).totals.received >= 6, {
        what: "some events",
      });
      const { outcomes, connections, totals } = await press(page, "cut");
      assertMatch(outcomes[0] ?? "", /resumed\. \d+ replayed, 0 missed/);
      const [now, before] = connections;
      assertEquals([now?.verdict, now?.resumed, now?.missed], ["resumed", "yes", 0]);
      assertMatch(now?.presented ?? "", /^[0-9a-f]{16}:\d+$/);
      assertEquals(before?.ended, "the button: cut");
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
      await eventually(async () => (await read(page)).totals.received >= 6, {
        what: "some events",
      });
      const { outcomes, totals } = await press(page, "offline");
      assertMatch(outcomes[0] ?? "", /^Away for 1\d\.\d s: resumed\. \d+ replayed, 0 missed\.$/);
      assertGreater(totals.replayed, 40);
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "a burst while offline is more than one reply carries, and every lost event is counted",
  () =>
    withPage(async ({ page }) => {
      await eventually(async () => (await read(page)).totals.received >= 6, {
        what: "some events",
      });
      await page.click("#offline");
      await eventually(async () => (await read(page)).state.startsWith("away"), { what: "away" });
      const { topics, connections, outcomes } = await press(page, "burst");
      assertEquals(topics["burst"], { published: 500, received: 0, missed: 500 });
      assertEquals(connections[0]?.verdict, "gap_budget");
      assertEquals(connections[0]?.resumed, "no");
      assertGreater(connections[0]?.missed ?? 0, 500);
      assert(outcomes.includes("Burst: 500 published, 0 received, 500 missed."), outcomes.join());
      // The hole is seen on the charts, too.
      await eventually(() => warnPixels(page, "cpu-chart"), { what: "a hatched hole" });
    }),
  browser,
);

test(
  "a stalled reader is told exactly as many as its counters say it missed",
  () =>
    withPage(async ({ page }) => {
      const { outcomes, totals, connections, lags } = await press(page, "stall", 40_000);
      const told =
        /^Stalled for 8 s: ([\d,]+) received late, ([\d,]+) missed; the hub told of ([\d,]+)/
          .exec(outcomes[0] ?? "");
      assert(told !== null, outcomes[0]);
      assertEquals(told[2], told[3]);
      // 40 MB are more than all buffers on the way hold, so something was lost, and was told.
      assertGreater(totals.missed, 0);
      assertMatch(lags, /^[\d,]+ events in \d+ holes?$/);
      assertEquals(connections.length, 1, "the stream was not reset");
      assertEquals(totals.twice, 0);
    }),
  browser,
);

test(
  "a restarted hub changes the epoch, and what went by meanwhile is counted as missed",
  () =>
    withPage(async ({ page }) => {
      await eventually(async () => (await read(page)).totals.received >= 6, {
        what: "some events",
      });
      const before = await read(page);
      const { outcomes, connections, resets, totals, cursor } = await press(page, "restart");
      assertMatch(
        outcomes[0] ?? "",
        /^New hub: epoch_changed\. .* \d+ missed before we were back\.$/,
      );
      const [now, old] = connections;
      assertEquals([now?.verdict, now?.resumed], ["epoch_changed", "no"]);
      assertEquals(now?.missed, totals.missed);
      assertEquals(old?.ended, "reset: shutdown");
      assertEquals(resets, "1 shutdown, 0 slow");
      assert(cursor.slice(0, 16) !== before.cursor.slice(0, 16), "the epoch is another");
      assertEquals(totals.twice, 0);
    }),
  browser,
);

test(
  "two tabs see each other, and a restart concerns both",
  () =>
    withPage(async ({ page, browser, demo }) => {
      const second = await browser.newPage();
      await second.goto(demo.url, { waitUntil: "load" });
      const { tag } = await eventually(async () => {
        const reading = await read(second);
        return reading.connections.length > 0 ? reading : null;
      }, { what: "the second hello" });
      await eventually(async () => (await read(page)).here.includes(tag), {
        what: "the other tab",
      });
      await eventually(async () => (await read(page)).log.includes(`${tag} is here.`), {
        what: "the arrival in the log",
      });
      await page.bringToFront();
      await press(page, "restart");
      await eventually(
        async () => (await read(second)).connections[0]?.verdict === "epoch_changed",
        {
          what: "the other tab's new epoch",
        },
      );
      await second.close();
      await eventually(async () => (await read(page)).log.includes(`${tag} has left.`), {
        what: "the departure in the log",
      });
    }),
  browser,
);

test(
  "a page that comes back from the back-forward cache resumes",
  () =>
    withPage(async ({ page, demo }) => {
      await eventually(async () => (await read(page)).totals.received >= 6, {
        what: "some events",
      });
      await page.evaluate(() => document.body.dataset["mark"] = "kept");
      await page.goto(`${demo.url}/icon.svg`);
      await page.goBack();
      const { connections, totals } = await eventually(async () => {
        const reading = await read(page);
        return reading.state === "open" && reading.connections.length === 2 ? reading : null;
      }, { what: "the second connection" });
      assertEquals(await page.evaluate(() => document.body.dataset["mark"]), "kept");
      assertEquals(connections[0]?.verdict, "resumed");
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "when the server stops, the page is told goodbye and waits for it",
  () =>
    withPage(async ({ page, demo, complaints }) => {
      const { code } = await demo.stop();
      assertEquals(code, 0);
      const { connections } = await eventually(async () => {
        const reading = await read(page);
        return reading.state.startsWith("back in") ? reading : null;
      }, { what: "a page that waits" });
      assertEquals(connections[0]?.ended, "reset: shutdown");
      // What it tries meanwhile fails, as it must; nothing else may.
      const refused = (text: string) => text.includes("net::ERR_CONNECTION_REFUSED");
      assertEquals(complaints.filter((text) => !refused(text)), []);
      (complaints as string[]).length = 0;
    }),
  browser,
);

test(
  "the page fits a phone and a desktop, in light and in dark",
  () =>
    withPage(async ({ page }) => {
      await Deno.mkdir(SCREENS, { recursive: true });
      await press(page, "cut");
      await press(page, "restart");
      await press(page, "burst");
      const sizes = [["phone", 360, 740, 2], ["tablet", 820, 1100, 1], [
        "desktop",
        1280,
        900,
        1,
      ]] as const;
      for (const scheme of ["light", "dark"]) {
        await page.emulateMediaFeatures([
          { name: "prefers-color-scheme", value: scheme },
          { name: "prefers-reduced-motion", value: "reduce" },
        ]);
        for (const [name, width, height, deviceScaleFactor] of sizes) {
          await page.setViewport({ width, height, deviceScaleFactor });
          await eventually(() => page.$eval("#cpu-chart", isSharp), { what: "a redrawn chart" });
          await eventually(() => accentPixels(page, "cpu-chart"), { what: "a drawn chart" });
          const wide = await page.evaluate(() =>
            [...document.querySelectorAll("body *")]
              .filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5)
              .filter((node) => node.closest(".scroll, .unseen, thead") === null)
              .map((node) => node.outerHTML.slice(0, 80))
          );
          assertEquals(wide, [], `${name}: nothing is wider than the screen`);
          assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
          const path = new URL(`${name}-${scheme}.png`, SCREENS);
          await Deno.writeFile(path, await page.screenshot({ fullPage: true }));
        }
      }
    }),
  browser,
);

test("every control can be reached by keyboard and has a name", () =>
  withPage(async ({ page }) => {
    const names: string[] = [];
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press("Tab");
      const snapshot = await page.evaluate(() => {
        const node = document.activeElement;
        const label = node?.getAttribute("aria-labelledby") ?? "";
        return document.getElementById(label)?.textContent ?? "";
      });
      names.push(snapshot);
    }
    assertEquals(names, [
      "Cut the connection",
      "Go offline for 10 s",
      "Publish a burst",
      "Stall the reader",
      "Restart the hub",
    ]);
  }), browser);

/** Whether a canvas has been drawn for the size at which it is shown. */
const isSharp = (node: Element): boolean =>
  node instanceof HTMLCanvasElement &&
  node.width === Math.round(node.getBoundingClientRect().width * devicePixelRatio);

const accentPixels = (page: Page, id: string) => pixels(page, id, "--accent");
const warnPixels = (page: Page, id: string) => pixels(page, id, "--warn");

/** Whether a canvas holds a good many pixels that are nearly of the theme's colour. */
function pixels(page: Page, id: string, colour: string): Promise<boolean> {
  return page.evaluate(
    (id, colour) => {
      const canvas = document.getElementById(id) as HTMLCanvasElement;
      const hex = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
      const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
      const { width, height } = canvas;
      // From a copy: reading the page's own canvas back would slow it down, and be warned of.
      const copy = new OffscreenCanvas(width, height).getContext("2d", {
        willReadFrequently: true,
      });
      copy?.drawImage(canvas, 0, 0);
      const image = copy?.getImageData(0, 0, width, height).data ?? [];
      let found = 0;
      for (let i = 0; i < image.length; i += 4) {
        if ((image[i + 3] ?? 0) < 100) continue;
        if (wanted.every((value, at) => Math.abs((image[i + at] ?? 0) - value) < 24)) found++;
      }
      return found > 20;
    },
    id,
    colour,
  );
}
