/** The page in several tabs, in several browsers, and over a page load. */
import { assert, assertEquals, assertGreater, assertMatch } from "@std/assert";
import type { Page } from "puppeteer-core";
import { CHROMIUM } from "../support/chromium.ts";
import { test } from "../support/test.ts";
import { press, read, type Reading, readUntil, until, withPage } from "./support.ts";

const browser = { needs: [CHROMIUM], timeoutMs: 90_000, foreignTimers: true };

/** Waits until so many more events have come. */
async function receives(page: Page, more: number): Promise<Reading> {
  const { totals: { received } } = await read(page);
  return await until(
    page,
    `${more} more events`,
    ({ totals }) => totals.received >= received + more,
  );
}

test(
  "two tabs of one browser share one connection, and one goes on when the other is closed",
  () =>
    withPage(async ({ page, open }) => {
      const second = await open();
      const joined = await read(second);
      assertEquals(joined.connections[0]?.verdict, "joined");
      assertEquals(joined.tag, (await read(page)).tag);
      for (const tab of [page, second]) {
        await until(tab, "both tabs", ({ carrier }) => carrier === "a SharedWorker, for 2 tabs");
        await until(tab, "one stream", ({ hub }) => hub.startsWith("Streams open: 1."));
        const { totals } = await receives(tab, 6);
        assertEquals([totals.missed, totals.twice], [0, 0]);
      }
      // The one that brought the connection about.
      await page.close();
      await until(second, "one tab", ({ carrier }) => carrier === "a SharedWorker, for 1 tab");
      const { totals, connections, hub } = await receives(second, 12);
      assertEquals([totals.missed, totals.twice], [0, 0]);
      assertEquals(connections.length, 1, "on the same connection");
      assertMatch(hub, /^Streams open: 1\./);
    }),
  browser,
);

test(
  "a cut concerns both tabs of a browser: each of them gets what was replayed, once",
  () =>
    withPage(async ({ page, open }) => {
      const second = await open();
      await receives(second, 6);
      await press(second, "cut");
      for (const tab of [page, second]) {
        const { connections, totals } = await until(
          tab,
          "the second connection",
          ({ connections }) => connections[0]?.verdict === "resumed",
        );
        assertEquals(connections.length, 2);
        assertGreater(totals.replayed, 0);
        assertEquals([totals.missed, totals.twice], [0, 0]);
      }
    }),
  browser,
);

test(
  "where there is no SharedWorker one tab carries the connection, and the other takes over",
  () =>
    withPage(async ({ browser, open }) => {
      const profile = await browser.createBrowserContext();
      const bare = (page: Page) =>
        page.evaluateOnNewDocument(() => void Reflect.deleteProperty(globalThis, "SharedWorker"));
      const leader = await open("/", profile, bare);
      assertEquals((await read(leader)).carrier, "this tab, for 1 tab");
      const follower = await open("/", profile, bare);
      await until(leader, "both tabs", ({ carrier }) => carrier === "this tab, for 2 tabs");
      await until(follower, "both tabs", ({ carrier }) => carrier === "another tab, for 2 tabs");
      // The other one is that of the first page, whose profile is another.
      await until(follower, "its stream", ({ hub }) => hub.startsWith("Streams open: 2."));
      await receives(follower, 6);
      await leader.close();
      await until(follower, "the lead", ({ carrier }) => carrier === "this tab, for 1 tab");
      const { connections, totals } = await receives(follower, 6);
      assertEquals(connections.map(({ verdict }) => verdict), ["resumed", "joined"]);
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "what one tab says of the network holds for all of them, for as long as it was meant",
  () =>
    withPage(async ({ page, open }) => {
      const second = await open();
      await receives(second, 6);
      // The other tab beats every 5 s, and must not call the stream back.
      const { outcomes } = await press(second, "offline");
      assertMatch(outcomes[0] ?? "", /^Away for 1\d\.\d s: resumed\. \d+ replayed, 0 missed\.$/);
      await until(page, "the same", ({ connections }) => connections[1]?.ended === "offline");
    }),
  browser,
);

test(
  "two browsers see each other, and a restart concerns both",
  () =>
    withPage(async ({ page, browser, open }) => {
      const profile = await browser.createBrowserContext();
      const other = await open("/", profile);
      const { tag } = await read(other);
      await until(page, "the other browser", ({ here }) => here.includes(tag));
      await until(page, "two streams", ({ hub }) => hub.startsWith("Streams open: 2."));
      await until(page, "the arrival", ({ log }) => log.includes(`${tag} is here.`));
      assertEquals((await read(page)).carrier, "a SharedWorker, for 1 tab");
      await page.bringToFront();
      await press(page, "restart");
      await until(
        other,
        "the other browser, resumed",
        ({ connections }) => connections.length === 2 && connections[0]?.verdict === "resumed",
      );
      await profile.close();
      await until(page, "the departure", ({ log }) => log.includes(`${tag} has left.`));
    }),
  browser,
);

test(
  "a reload goes on where the page was left: resumed, nothing missed, nothing twice",
  () =>
    withPage(async ({ page }) => {
      for (const _ of [1, 2, 3]) {
        const before = await receives(page, 6);
        await page.reload({ waitUntil: "load" });
        const { connections, totals } = await until(
          page,
          "the connection after the reload",
          ({ connections, totals }) =>
            connections.length === 1 && totals.received > before.totals.received,
        );
        const [now] = connections;
        assertEquals([now?.verdict, now?.resumed], ["resumed", "yes"]);
        const at = (cursor = "") => Number(cursor.split(":")[1]);
        assert(at(now?.presented) >= at(before.cursor), `it presented ${now?.presented}`);
        assertEquals(totals.published, totals.received);
        assertEquals([totals.missed, totals.twice], [0, 0]);
      }
    }),
  browser,
);

test(
  "a page that comes back to a connection that went on without it misses nothing",
  () =>
    withPage(async ({ page, demo, open }) => {
      const other = await open();
      // Once with the other tab in sight, once with none: then the whole stream wakes up, too.
      for (const inSight of [other, page]) {
        await inSight.bringToFront();
        const before = await receives(page, 6);
        await page.goto(`${demo.url}/icon.svg`);
        await receives(other, 12);
        await page.goto(demo.url, { waitUntil: "load" });
        const { connections, totals } = await until(
          page,
          "what went by without it",
          ({ totals: { published, received, missed } }) =>
            received >= before.totals.received + 12 && published === received + missed,
        );
        assertEquals(connections[0]?.verdict, "joined");
        assertEquals([totals.missed, totals.twice], [0, 0]);
      }
    }),
  browser,
);

test(
  "a page that comes back from the back-forward cache goes on where it was left",
  () =>
    withPage(async ({ page, demo }) => {
      const before = await receives(page, 6);
      await page.evaluate(() => document.body.dataset["mark"] = "kept");
      await page.goto(`${demo.url}/icon.svg`);
      await readUntil(await fetch(`${demo.url}/events?topic=cpu`), /(?:event: cpu\n[^]*){3}/);
      await page.goBack();
      const { connections, totals } = await until(
        page,
        "events after it is back",
        ({ state, connections, totals: { published, received, missed } }) =>
          state === "open" && connections.length === 2 &&
          received >= before.totals.received + 9 && published === received + missed,
      );
      assertEquals(await page.evaluate(() => document.body.dataset["mark"]), "kept");
      // Whether the worker was kept with the page, with its stream open, is up to the browser.
      assert(
        ["joined", "resumed"].includes(connections[0]?.verdict ?? ""),
        connections[0]?.verdict,
      );
      assertEquals([totals.missed, totals.twice], [0, 0]);
    }),
  browser,
);

test(
  "what a tab lacks of a shared stream the hub replays: exactly that, or it says that it cannot",
  () =>
    withPage(async ({ page }) => {
      const { cursor: from } = await receives(page, 3);
      const { cursor: to } = await receives(page, 9);
      const caughtUp = (from: string, to: string) =>
        page.evaluate(
          async (from, to) => {
            const url = "/catch_up.js";
            const { catchUp } = await import(url);
            const ids: (string | null)[] = [];
            const { signal } = new AbortController();
            const whole = await catchUp(from, to, signal, (frame: { id: string | null }) => {
              ids.push(frame.id);
            });
            return { whole, ids };
          },
          from,
          to,
        );
      const [epoch, first] = from.split(":");
      const last = Number(to.split(":")[1]);
      const ids = Array.from(
        { length: last - Number(first) },
        (_, i) => `${epoch}:${Number(first) + i + 1}`,
      );
      assertEquals(await caughtUp(from, to), { whole: true, ids });
      // What one hub gave is replayed by the next one.
      await press(page, "restart");
      assertEquals(await caughtUp(from, to), { whole: true, ids });
      const other = `${"0".repeat(16)}:1`;
      assertEquals(await caughtUp(from, other), { whole: false, ids: [] });
      // Ten times what is kept.
      await press(page, "stall", 40_000);
      const { cursor: far } = await read(page);
      assertEquals(await caughtUp(from, far), { whole: false, ids: [] });
    }),
  browser,
);
