/**
 * Chromium, over its own protocol.
 *
 * @module
 */
import type { CDPSession, Page } from "puppeteer-core";
import { CHROMIUM_ARGS } from "../../support/chromium.ts";
import type { RunningBrowser } from "./driver.ts";
import { startPuppet } from "./puppet.ts";

/** Puppeteer asks for these; with them a hidden tab is treated like one in front. */
const AGAINST_LIFE = [
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
];

/**
 * Starts Chromium without a window.
 *
 * @param program Its path.
 * @returns The browser.
 */
export function startChromium(program: string): Promise<RunningBrowser> {
  return startPuppet({
    options: { executablePath: program, args: [...CHROMIUM_ARGS], ignoreDefaultArgs: AGAINST_LIFE },
    async extras(page) {
      const session = await page.createCDPSession();
      return {
        freeze: (on) =>
          session.send("Page.setWebLifecycleState", { state: on ? "frozen" : "active" }),
      };
    },
    killSharedWorkers,
  });
}

async function killSharedWorkers(pages: readonly Page[]): Promise<number> {
  const [page] = pages;
  if (page === undefined) return 0;
  const session: CDPSession = await page.browser().target().createCDPSession();
  try {
    const { browserContextId } = (await session.send("Target.getTargetInfo", {
      targetId: await targetOf(page),
    })).targetInfo;
    const { targetInfos } = await session.send("Target.getTargets", { filter: [{}] });
    const workers = targetInfos.filter((target) =>
      target.type === "shared_worker" && target.browserContextId === browserContextId
    );
    for (const { targetId } of workers) await session.send("Target.closeTarget", { targetId });
    return workers.length;
  } finally {
    await session.detach();
  }
}

async function targetOf(page: Page): Promise<string> {
  const session = await page.createCDPSession();
  try {
    return (await session.send("Target.getTargetInfo")).targetInfo.targetId;
  } finally {
    await session.detach();
  }
}
