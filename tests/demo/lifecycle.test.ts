/** The second page: what the client reports, as it happens. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Page } from "puppeteer-core";
import { CHROMIUM } from "../support/chromium.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { hasColour } from "./pixels.ts";
import { press, until, withPage } from "./support.ts";

const browser = { needs: [CHROMIUM], timeoutMs: 90_000, foreignTimers: true };

interface Row {
  readonly kind: string;
  readonly says: string;
  readonly isTrouble: boolean;
}

/** The records, oldest first. */
async function rows(page: Page): Promise<readonly Row[]> {
  const newestFirst = await page.$$eval("#records tr", (lines) =>
    lines.map((line) => ({
      kind: line.querySelector(".chip")?.textContent ?? "",
      says: [...line.querySelectorAll(".field")].map(({ textContent }) => textContent).join(" "),
      isTrouble: line.hasAttribute("data-trouble"),
    })));
  return newestFirst.reverse();
}

const current = (page: Page) =>
  page.$$eval(
    "#states [aria-current]",
    (items) => items.map((item) => item.getAttribute("data-state")),
  );

test(
  "a cut is seen as it happens, on the connection that the page shares with the demo",
  () =>
    withPage(async ({ page, open }) => {
      const life = await open("/lifecycle");
      await until(page, "one stream", ({ hub }) => hub.startsWith("Streams open: 1."));
      await until(page, "two tabs", ({ carrier }) => carrier === "a SharedWorker, for 2 tabs");
      assertEquals(
        await life.$eval("#carrier", (node) => node.textContent),
        "a SharedWorker, for 2 tabs",
      );
      await eventually(() => hasColour(life, "strip", "--accent"), { what: "the open state" });
      assertEquals(await hasColour(life, "strip", "--state-backoff"), false);
      assertEquals(await current(life), ["open"]);

      const before = (await rows(life)).length;
      await life.click("#cut");
      const since = await eventually(async () => {
        const all = (await rows(life)).slice(before);
        return all.some(({ kind }) => kind === "hello") ? all : null;
      }, { what: "the next hello" });
      const story = since.map(({ kind, says }) => `${kind} ${says}`);
      const order = [
        /^disconnected reason ended openMs \d+ generation 1$/,
        /^state from open to backoff generation 1 waitMs \d+$/,
        /^state from backoff to connecting generation 2$/,
        /^state from connecting to open generation 2$/,
        /^hello verdict resumed resumed true .* generation 2$/,
      ].map((line) => story.findIndex((text) => line.test(text)));
      assert(!order.includes(-1), story.join("\n"));
      assertEquals(order, order.toSorted((a, b) => a - b), story.join("\n"));
      assertEquals(since.filter(({ isTrouble }) => isTrouble).map(({ kind }) => kind), [
        "disconnected",
      ]);
      await eventually(() => hasColour(life, "strip", "--state-backoff"), {
        what: "the wait in the band",
      });
      await until(page, "the same one", ({ connections }) => connections[0]?.verdict === "resumed");
    }),
  browser,
);

test(
  "what is done in another tab is seen, too: the network that is gone, a restarted hub",
  () =>
    withPage(async ({ page, open }) => {
      const life = await open("/lifecycle");
      await page.bringToFront();
      await press(page, "restart");
      await page.click("#offline");
      await eventually(async () => (await current(life))[0] === "offline", { what: "offline" });
      await eventually(() => hasColour(life, "strip", "--warn"), { what: "its colour" });
      const label = await life.$eval("#strip", (node) => node.getAttribute("aria-label"));
      assertEquals(label, "The states of the last two minutes, now offline");
      const kinds = (await rows(life)).map(({ kind, says }) => `${kind} ${says}`).join("\n");
      assertStringIncludes(kinds, "reset reason shutdown");
      assertMatch(kinds, /reset reason shutdown[^]*hello verdict resumed resumed true/);
      assertStringIncludes(kinds, "state from open to offline");
      await eventually(async () => (await current(life))[0] === "open", {
        what: "the network that is back",
        timeoutMs: 15_000,
      });
    }),
  browser,
);

test("a page that is left open for a day does not grow", () =>
  withPage(async ({ page, open }) => {
    const life = await open("/lifecycle");
    // The pages' own modules: an import of what is loaded already is the same one.
    const shown = await life.evaluate(async () => {
      const url = "/records.js";
      const { Records } = await import(url);
      const [list, total] = [document.createElement("tbody"), document.createElement("p")];
      const records = new Records(list, total);
      for (let i = 0; i < 1000; i++) records.add({ kind: "state", generation: i });
      return [list.childElementCount, list.firstElementChild?.textContent, total.textContent];
    });
    assertEquals(shown[0], 300);
    assertStringIncludes(String(shown[1]), "generation 999");
    assertEquals(shown[2], "1,000 since this page was opened, the last 300 are shown");
    const lines = await page.evaluate(async () => {
      const url = "/view.js";
      const { outcome } = await import(url);
      for (let i = 0; i < 1000; i++) outcome(`Line ${i}.`);
      return ["log", "outcomes"].map((id) => document.getElementById(id)?.childElementCount);
    });
    assertEquals(lines, [200, 3]);
  }), browser);
