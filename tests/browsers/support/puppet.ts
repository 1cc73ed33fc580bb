/**
 * What Chromium and Firefox have in common: puppeteer starts both and finds their tabs.
 *
 * @module
 */
import puppeteer, { type Browser, type LaunchOptions, type Page } from "puppeteer-core";
import { within } from "../../suites/lib/within.ts";
import type { Complaint, Profile, RunningBrowser } from "./driver.ts";
import { removeFolder } from "./folder.ts";
import { createTab, loadFirst, type TabDriver } from "./tab.ts";
import { tether } from "./tether.ts";

const START_MS = 30_000;
const STOP_MS = 5_000;

/** What differs between the two. */
export interface Kind {
  /** How it is started. */
  readonly options: LaunchOptions;
  /** What a tab of it can do beside what both do. */
  readonly extras?: (page: Page) => Promise<Pick<TabDriver, "freeze">>;
  /** Kills the shared workers of a profile's pages. */
  readonly killSharedWorkers?: (pages: readonly Page[]) => Promise<number>;
}

/**
 * Starts a browser, in folders of its own.
 *
 * @param kind What is special about it.
 * @returns The browser.
 */
export async function startPuppet(kind: Kind): Promise<RunningBrowser> {
  const folder = await Deno.makeTempDir({ prefix: "browser-" });
  await Deno.mkdir(`${folder}/tmp`);
  let browser: Browser;
  try {
    browser = await puppeteer.launch({
      ...kind.options,
      headless: true,
      timeout: START_MS,
      protocolTimeout: START_MS,
      userDataDir: `${folder}/profile`,
      // It writes next to its profile and nowhere else, whosever home this is.
      env: { ...Deno.env.toObject(), HOME: folder, TMPDIR: `${folder}/tmp` },
    });
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
  // Puppeteer makes it the leader of a group of its own.
  const pid = browser.process()?.pid;
  const tied = pid === undefined ? undefined : tether(folder, -pid);
  let closing: Promise<void> | undefined;
  return {
    version: await browser.version(),
    newProfile: () => newProfile(browser, kind),
    close: () => closing ??= close(browser, folder).finally(() => tied?.release()),
  };
}

async function newProfile(browser: Browser, kind: Kind): Promise<Profile> {
  const context = await within(START_MS, () => browser.createBrowserContext());
  const pages: Page[] = [];
  return {
    async open(url) {
      const page = await within(START_MS, () => context.newPage());
      pages.push(page);
      const driver = await drive(page, kind);
      await loadFirst(driver, url);
      return createTab(driver);
    },
    async killSharedWorkers() {
      if (kind.killSharedWorkers === undefined) {
        throw new Error("This browser cannot kill a worker");
      }
      return await kind.killSharedWorkers(pages);
    },
    close: () => within(STOP_MS, () => context.close()),
  };
}

async function drive(page: Page, kind: Kind): Promise<TabDriver> {
  const complaints = listen(page);
  return {
    evaluate: (expression) => page.evaluate(expression) as Promise<string>,
    load: (url) => page.goto(url, { waitUntil: "load" }),
    bringToFront: () => page.bringToFront(),
    setOffline: (on) => page.setOfflineMode(on),
    screenshot: () => page.screenshot(),
    complaints: () => complaints,
    close: () => page.close(),
    ...await kind.extras?.(page),
  };
}

function listen(page: Page): Complaint[] {
  const complaints: Complaint[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push({ kind: "console", text: message.text() });
  });
  page.on("pageerror", (error) => complaints.push({ kind: "exception", text: String(error) }));
  return complaints;
}

async function close(browser: Browser, folder: string): Promise<void> {
  const child = browser.process();
  // A browser that hangs is not asked twice.
  await within(STOP_MS, () => browser.close()).catch(() => child?.kill("SIGKILL"));
  await removeFolder(folder);
}
