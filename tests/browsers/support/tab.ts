/**
 * A tab over the few things that each browser does in its own way.
 *
 * @module
 */
import { within } from "../../suites/lib/within.ts";
import { eventually } from "../../support/poll.ts";
import type { Complaint, Tab } from "./driver.ts";

/** What a browser's own driver does for a tab. None of it needs to be bounded in time. */
export interface TabDriver {
  /**
   * Evaluates an expression whose value is a promise of a string.
   *
   * @param expression The expression.
   * @returns The string.
   */
  evaluate(expression: string): Promise<string>;
  /** Loads the tab's first page. */
  load(url: string): Promise<unknown>;
  /** Shows the tab, and hides the others of its profile. */
  bringToFront(): Promise<unknown>;
  /** Freezes or thaws it; missing where the browser cannot. */
  freeze?(on: boolean): Promise<unknown>;
  /** Takes its network away, or gives it back; missing where the browser cannot. */
  setOffline?(on: boolean): Promise<unknown>;
  /** A picture, as PNG. */
  screenshot(): Promise<Uint8Array>;
  /** What was complained of; missing where only the pages themselves know. */
  complaints?(): readonly Complaint[];
  /** Closes the tab. */
  close(): Promise<unknown>;
}

/** How long one call may take. */
const CALL_MS = 10_000;
/** How long a page may take to load. */
const LOAD_MS = 10_000;

/**
 * Makes a tab.
 *
 * @param driver What the browser does for it.
 * @returns The tab.
 */
export function createTab(driver: TabDriver): Tab {
  const bounded = (what: string, work: () => Promise<unknown>): Promise<void> =>
    within(CALL_MS, async () => {
      await work();
    }).catch((error) => {
      throw new Error(`Cannot ${what} the tab: ${String(error)}`, { cause: error });
    });

  const run: Tab["run"] = async (work, ...args) => {
    const call = `(${work.toString()})(...${JSON.stringify(args)})`;
    const expression = `(async () => {
      try {
        return JSON.stringify({ value: (await ${call}) ?? null });
      } catch (error) {
        return JSON.stringify({ error: String(error?.stack ?? "") || String(error), text: String(error) });
      }
    })()`;
    const answer = JSON.parse(await within(CALL_MS, () => driver.evaluate(expression)));
    if ("error" in answer) throw new Error(`In the page: ${answer.text}\n${answer.error}`);
    return answer.value;
  };

  /** Leaves the page in some way, and waits for the next one. */
  const leave = async (what: string, go: (url: string) => void, url = ""): Promise<void> => {
    const mark = await run(() => {
      const page = globalThis as unknown as { leaving?: string };
      return page.leaving = String(Math.random());
    });
    // The page may be gone before it can answer.
    run(go, url).catch(() => {});
    await eventually(() =>
      run((old) => {
        const page = globalThis as unknown as { leaving?: string };
        // Between two pages there may be an empty one for a moment.
        return page.leaving !== old && document.readyState === "complete" &&
          document.URL !== "about:blank";
      }, mark), { what: `the page after ${what}`, timeoutMs: LOAD_MS, everyMs: 20 });
  };

  return {
    run,
    goto: (url) => leave(`going to ${url}`, (to) => void (location.href = to), url),
    reload: () => leave("reloading", () => location.reload()),
    back: () => leave("going back", () => history.back()),
    bringToFront: () => bounded("show", () => driver.bringToFront()),
    freeze: () => bounded("freeze", () => need(driver.freeze, "freeze")(true)),
    resume: () => bounded("thaw", () => need(driver.freeze, "thaw")(false)),
    setOffline: (on) => bounded("unplug", () => need(driver.setOffline, "unplug")(on)),
    screenshot: () => within(CALL_MS, () => driver.screenshot()),
    async complaints() {
      return driver.complaints?.() ?? await run(() => {
        return (globalThis as unknown as { complaints?: Complaint[] }).complaints ?? [];
      });
    },
    close: () => bounded("close", () => driver.close()),
  };
}

/** Loads a tab's first page within a bound. */
export async function loadFirst(driver: TabDriver, url: string): Promise<void> {
  await within(LOAD_MS, async () => {
    await driver.load(url);
  });
}

function need<A extends readonly unknown[], T>(
  method: ((...args: A) => T) | undefined,
  what: string,
): (...args: A) => T {
  if (method === undefined) throw new Error(`This browser cannot ${what}: the table says so`);
  return method;
}
