/**
 * A group of tests in one browser. They share its process and one fixture; each has a profile, a
 * proxy and a site of its own, and so an origin that no other test knows, and starts on a new hub.
 *
 * The way from a page to the hub: browser → proxy → site → fixture.
 *
 * @module
 */
import type { FixtureOptions } from "../../../src/testing/fixture/options.ts";
import { within } from "../../suites/lib/within.ts";
import { type PublishBody, type RunningFixture, startFixture } from "../../support/fixture.ts";
import { missing, REQUIRE_ALL } from "../../support/require.ts";
import {
  type BrowserCapabilities,
  type BrowserUnderTest,
  type Runtime,
  RUNTIMES,
} from "../../support/runtimes.ts";
import { type Profile, type RunningBrowser, startBrowser, type Tab } from "./driver.ts";
import { type ProbedTab, probedTab } from "./probe.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import { type Site, startSite } from "./site.ts";

/** A test. */
export interface BrowserTest {
  /** What the browser must be able to do; elsewhere the test is skipped, and says so. */
  readonly needs?: readonly (keyof BrowserCapabilities)[];
  /** Whether its pages throw on purpose; else an exception that nobody caught fails the test. */
  readonly throws?: boolean;
  /** What it does. */
  run(ground: Ground): Promise<void>;
}

/** Tests by their names: sentences of behaviour. */
export type BrowserTests = Readonly<Record<string, BrowserTest | BrowserTest["run"]>>;

const TEST_MS = 30_000;

/** What a test stands on. */
export class Ground {
  readonly browser: BrowserUnderTest;
  readonly proxy: Proxy;
  readonly #site: Site;
  readonly #host: FixtureHost;
  readonly #profile: Profile;
  readonly #tabs: Tab[] = [];

  /** @param parts What the group made for this test. */
  constructor(
    parts: {
      readonly browser: BrowserUnderTest;
      readonly proxy: Proxy;
      readonly site: Site;
      readonly host: FixtureHost;
      readonly profile: Profile;
    },
  ) {
    this.browser = parts.browser;
    this.proxy = parts.proxy;
    this.#site = parts.site;
    this.#host = parts.host;
    this.#profile = parts.profile;
  }

  /** What the browser can do. */
  get can(): BrowserCapabilities {
    return this.browser.can;
  }

  /** The fixture. */
  get fixture(): RunningFixture {
    return this.#host.fixture;
  }

  /** The origin that the browser sees: the proxy. */
  get origin(): string {
    return `http://127.0.0.1:${this.proxy.port}`;
  }

  /**
   * Opens a page in a new tab, in front of the others.
   *
   * @param page Its name in `tests/browsers/page/`.
   * @returns The tab, once its probe is there.
   */
  async open<P>(page: string): Promise<ProbedTab<P>> {
    const tab = await this.#profile.open(`${this.origin}/page/${page}`);
    this.#tabs.push(tab);
    await tab.run(() => {
      if (!("probe" in globalThis)) throw new Error("The page has no probe");
    });
    return probedTab(tab);
  }

  /** Kills the profile's shared workers; returns how many there were. */
  killSharedWorkers(): Promise<number> {
    return this.#profile.killSharedWorkers();
  }

  /**
   * Tells a tab that it has no network, or has one again: by the browser's own switch where there is
   * one, else by the event that it would fire. Neither touches an open stream.
   */
  async tellOnline(tab: Tab, online: boolean): Promise<void> {
    if (this.can.emulatesOffline) return await tab.setOffline(!online);
    await tab.run((type) => void dispatchEvent(new Event(type)), online ? "online" : "offline");
  }

  /** Takes a tab's network away, and tells it so. */
  async unplug(tab: Tab): Promise<void> {
    this.proxy.refuse(true);
    await this.tellOnline(tab, false);
    this.proxy.cut();
  }

  /** Gives it back, and tells it so. */
  async plugIn(tab: Tab): Promise<void> {
    this.proxy.refuse(false);
    await this.tellOnline(tab, true);
  }

  /**
   * Publishes.
   *
   * @param body What.
   * @returns The offsets.
   */
  async publish(body: PublishBody): Promise<number[]> {
    const { offsets } = await this.fixture.publish(body);
    return offsets.map(Number);
  }

  /** Replaces the fixture's process by another; the site stays where it is. */
  async replaceFixture(): Promise<void> {
    await this.#host.replace();
    this.#site.setTarget(this.fixture.url);
  }

  /** What the test's pages complained of. */
  async complaints(): Promise<readonly string[]> {
    const all = await Promise.all(this.#tabs.map((tab) => tab.complaints().catch(() => [])));
    return all.flat().map(({ kind, text }) => `${kind}: ${text}`);
  }

  /** Closes what the test opened. */
  async close(): Promise<void> {
    try {
      await this.#profile.close();
    } finally {
      await this.proxy.close();
      await this.#site.close();
    }
  }
}

/**
 * Registers a group of tests.
 *
 * @param browser Where they run.
 * @param idea What the group is about.
 * @param flags The fixture's settings.
 * @param tests The tests.
 */
export function browserGroup(
  browser: BrowserUnderTest,
  idea: string,
  flags: FixtureOptions,
  tests: BrowserTests,
): void {
  const absent = missing(browser.programs);
  const ignore = absent.length > 0 && !REQUIRE_ALL;
  Deno.test({
    name: `${browser.name}: ${idea}${ignore ? ` [skipped: no ${absent.join(", ")}]` : ""}`,
    ignore,
    // A browser's driver keeps timers and sockets for its calls, which may end in a later test.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(context) {
      if (absent.length > 0) throw new Error(`Cannot run: ${absent.join(", ")} is not installed`);
      await runGroup(context, browser, flags, tests);
    },
  });
}

async function runGroup(
  context: Deno.TestContext,
  browser: BrowserUnderTest,
  flags: FixtureOptions,
  tests: BrowserTests,
): Promise<void> {
  const host = await FixtureHost.start(flags);
  let running: RunningBrowser | undefined;
  try {
    const started = running = await startBrowser(browser);
    for (const [name, test] of Object.entries(tests)) {
      const whole: BrowserTest = typeof test === "function" ? { run: test } : test;
      const lacks = (whole.needs ?? []).filter((need) => !browser.can[need]);
      const ignore = lacks.length > 0;
      await context.step({
        name: ignore ? `${name} [skipped: ${browser.name} has no ${lacks.join(", ")}]` : name,
        ignore,
        fn: () => runTest(browser, started, host, whole),
      });
    }
  } finally {
    await running?.close();
    await host.fixture.stop();
  }
}

async function runTest(
  browser: BrowserUnderTest,
  running: RunningBrowser,
  host: FixtureHost,
  test: BrowserTest,
): Promise<void> {
  await host.reset();
  const site = startSite(host.fixture.url);
  const proxy = startProxy(site.port);
  const profile = await running.newProfile();
  const ground = new Ground({ browser, proxy, site, host, profile });
  try {
    await within(TEST_MS, () => test.run(ground));
    if (test.throws !== true) {
      const thrown = (await ground.complaints()).filter((text) => text.startsWith("exception:"));
      if (thrown.length > 0) throw new Error(`A page threw:\n${thrown.join("\n")}`);
    }
  } catch (error) {
    const complaints = await ground.complaints();
    const log = host.fixture.log();
    if (error instanceof Error) {
      if (complaints.length > 0) error.message += `\n[the pages]\n${complaints.join("\n")}`;
      if (log !== "") error.message += `\n[the fixture]\n${log}`;
    }
    throw error;
  } finally {
    await ground.close();
  }
}

/** The fixture of a group, which a test may replace. */
class FixtureHost {
  readonly #flags: FixtureOptions;
  #fixture: RunningFixture;

  private constructor(flags: FixtureOptions, fixture: RunningFixture) {
    this.#flags = flags;
    this.#fixture = fixture;
  }

  static async start(flags: FixtureOptions): Promise<FixtureHost> {
    return new FixtureHost(flags, await startFixture(runtime(), flags));
  }

  get fixture(): RunningFixture {
    return this.#fixture;
  }

  async replace(): Promise<void> {
    await this.#fixture.stop();
    this.#fixture = await startFixture(runtime(), this.#flags);
  }

  /** A new hub without faults. */
  async reset(): Promise<void> {
    await this.#fixture.control("stall", { on: false });
    for (const fault of ["close-after", "delay-hello", "hook-sleep"]) {
      await this.#fixture.control(fault);
    }
    await this.#fixture.control("restart");
  }
}

function runtime(): Runtime {
  const [deno] = RUNTIMES;
  if (deno === undefined) throw new Error("The table of runtimes is empty");
  return deno;
}
