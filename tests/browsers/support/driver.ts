/**
 * A browser as the tests see it: profiles, and tabs in them. What differs between browsers stays in
 * their own files; what one cannot do at all stands in the table of browsers.
 *
 * @module
 */
import type { BrowserUnderTest } from "../../support/runtimes.ts";
import { startChromium } from "./chromium.ts";
import { startFirefox } from "./firefox.ts";
import { startWebKit } from "./webkit.ts";

/** Something that a page complained of. */
export interface Complaint {
  /** An error on the console, or an exception that nobody caught. */
  readonly kind: "console" | "exception";
  /** What it said. */
  readonly text: string;
}

/** A tab. Each call is bounded in time, and fails when its bound is over. */
export interface Tab {
  /**
   * Goes to a page as a link would: the page that is left may be kept for a way back.
   *
   * @param url Where to. Settles when the page has loaded.
   */
  goto(url: string): Promise<void>;
  /**
   * Runs a function in the page. It crosses as text: it sees nothing of where it was written.
   *
   * @param work The function; it may be async. What it returns crosses as JSON, `undefined` as `null`.
   * @param args Its arguments; they cross as JSON.
   * @returns What it returned.
   * @throws {Error} What it threw, as text.
   */
  run<A extends readonly unknown[], T>(work: (...args: A) => T, ...args: A): Promise<Awaited<T>>;
  /** Loads the page again. Settles when it has loaded. */
  reload(): Promise<void>;
  /** Goes back in the tab's history. Settles when the page is there, kept or loaded again. */
  back(): Promise<void>;
  /** Shows this tab, and so hides the one that was shown. */
  bringToFront(): Promise<void>;
  /** Freezes a hidden tab, as a browser does to save memory and power. */
  freeze(): Promise<void>;
  /** Thaws it. */
  resume(): Promise<void>;
  /** Tells the tab that there is no network, or that there is one again. Open streams flow on. */
  setOffline(on: boolean): Promise<void>;
  /** A picture of the page, as PNG. */
  screenshot(): Promise<Uint8Array>;
  /** What its pages complained of so far. */
  complaints(): Promise<readonly Complaint[]>;
  /** Closes it. */
  close(): Promise<void>;
}

/** A profile: its tabs share storage, workers and connections with each other, and with no other. */
export interface Profile {
  /**
   * Opens a tab, in front of the others.
   *
   * @param url Where to.
   * @returns The tab, once the page has loaded.
   */
  open(url: string): Promise<Tab>;
  /** Kills the profile's shared workers; returns how many there were. */
  killSharedWorkers(): Promise<number>;
  /** Closes it with all its tabs. */
  close(): Promise<void>;
}

/** A running browser. */
export interface RunningBrowser {
  /** Name and version, as it tells them. */
  readonly version: string;
  /** Makes a profile in which nothing has happened yet. */
  newProfile(): Promise<Profile>;
  /** Ends it by its process id, whatever it does, and removes what it wrote. A second call joins. */
  close(): Promise<void>;
}

/**
 * Starts a browser.
 *
 * @param browser Which.
 * @returns The browser, once it can be driven.
 */
export function startBrowser(browser: BrowserUnderTest): Promise<RunningBrowser> {
  const [program] = browser.programs;
  switch (browser.name) {
    case "chromium":
      return startChromium(program);
    case "firefox":
      return startFirefox(program);
    case "webkit":
      return startWebKit(program);
  }
}
