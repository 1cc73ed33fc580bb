/**
 * Firefox, over WebDriver BiDi. It cannot freeze a tab, nor kill a shared worker.
 *
 * @module
 */
import type { RunningBrowser } from "./driver.ts";
import { startPuppet } from "./puppet.ts";

/**
 * Starts Firefox without a window.
 *
 * @param program Its path.
 * @returns The browser.
 */
export function startFirefox(program: string): Promise<RunningBrowser> {
  return startPuppet({ options: { browser: "firefox", executablePath: program } });
}
