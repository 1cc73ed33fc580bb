/** What the pages look like, and whether they can be used without a mouse. */
import { assertEquals } from "@std/assert";
import type { Page } from "puppeteer-core";
import { CHROMIUM } from "../support/chromium.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { hasColour, isSharp } from "./pixels.ts";
import { press, withPage } from "./support.ts";

const SCREENS = new URL("../../.cache/screens/", import.meta.url);
const SIZES = [
  ["phone", 360, 740, 2],
  ["tablet", 820, 1100, 1],
  ["desktop", 1280, 900, 1],
] as const;

const browser = { needs: [CHROMIUM], timeoutMs: 90_000, foreignTimers: true };

/** Looks at a page in every size and both schemes, and keeps a picture of each. */
async function fits(page: Page, name: string, canvas: string): Promise<void> {
  await Deno.mkdir(SCREENS, { recursive: true });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([
      { name: "prefers-color-scheme", value: scheme },
      { name: "prefers-reduced-motion", value: "reduce" },
    ]);
    for (const [size, width, height, deviceScaleFactor] of SIZES) {
      await page.setViewport({ width, height, deviceScaleFactor });
      await eventually(() => page.$eval(`#${canvas}`, isSharp), { what: "a redrawn canvas" });
      await eventually(() => hasColour(page, canvas, "--accent"), { what: "a drawn canvas" });
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll("body *")]
          .filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5)
          .filter((node) => node.closest(".scroll, .unseen, thead") === null)
          .map((node) => node.outerHTML.slice(0, 80))
      );
      assertEquals(wide, [], `${name}, ${size}: nothing is wider than the screen`);
      assertEquals(await page.evaluate(() => document.documentElement.scrollWidth), width);
      const inner = await page.$$eval(
        ".scroll",
        (boxes) =>
          boxes.filter((box) => box.scrollWidth > box.clientWidth).map(({ outerHTML }) =>
            outerHTML.slice(0, 80)
          ),
      );
      assertEquals(inner, [], `${name}, ${size}: no table has to be scrolled sideways`);
      const path = new URL(`${name}-${size}-${scheme}.png`, SCREENS);
      await Deno.writeFile(path, await page.screenshot({ fullPage: true }));
    }
  }
}

/** The names of what the Tab key reaches, in order. */
async function reached(page: Page, count: number): Promise<readonly string[]> {
  const names: string[] = [];
  for (let i = 0; i < count; i++) {
    await page.keyboard.press("Tab");
    names.push(
      await page.evaluate(() => {
        const node = document.activeElement;
        const label = node?.getAttribute("aria-labelledby");
        const named = typeof label === "string" ? document.getElementById(label) : node;
        return named?.textContent ?? "";
      }),
    );
  }
  return names;
}

test(
  "the counters fit a phone and a desktop, in light and in dark",
  () =>
    withPage(async ({ page }) => {
      await press(page, "cut");
      await press(page, "restart");
      await press(page, "burst");
      await fits(page, "counters", "cpu-chart");
    }),
  browser,
);

test(
  "the lifecycle fits a phone and a desktop, in light and in dark",
  () =>
    withPage(async ({ open }) => {
      const life = await open("/lifecycle");
      await life.click("#cut");
      await eventually(() => hasColour(life, "strip", "--state-backoff"), { what: "a wait" });
      await life.waitForSelector('#state[data-state="open"]');
      await fits(life, "lifecycle", "strip");
    }),
  browser,
);

test(
  "every control can be reached by keyboard and has a name",
  () =>
    withPage(async ({ page, open }) => {
      assertEquals(await reached(page, 8), [
        "Counters",
        "Lifecycle",
        "Cut the connection",
        "Go offline for 10 s",
        "Publish a burst",
        "Add a slow reader",
        "Restart the hub",
        "Connections of this page",
      ]);
      const life = await open("/lifecycle");
      assertEquals(await reached(life, 5), [
        "Counters",
        "Lifecycle",
        "Cut the connection",
        "Go offline for 10 s",
        "Records",
      ]);
    }),
  browser,
);
