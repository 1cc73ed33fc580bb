/**
 * WebKitGTK, over W3C WebDriver, on a display of its own.
 *
 * Each tab is a window: the driver cannot choose between the tabs of one window, but to minimise a
 * window and to bring it back hides and shows its page as it would for a person. Each profile is a
 * browser of its own, with a driver of its own.
 *
 * @module
 */
import { within } from "../../suites/lib/within.ts";
import { eventually } from "../../support/poll.ts";
import { freePort } from "../../support/port.ts";
import { type Display, startDisplay } from "./display.ts";
import type { Profile, RunningBrowser } from "./driver.ts";
import { removeFolder } from "./folder.ts";
import { createTab, loadFirst, type TabDriver } from "./tab.ts";
import { tether } from "./tether.ts";
import { WebDriverSession } from "./webdriver.ts";

const CAPABILITIES = {
  "webkitgtk:browserOptions": { args: ["--automation"] },
};

/** A browser is there within a second, or, now and then, never. */
const START_MS = 8_000;
const ATTEMPTS = 3;
const STOP_MS = 3_000;

/**
 * Starts a display, and a browser to ask for its version.
 *
 * @param program The driver's path.
 * @returns The browser.
 */
export async function startWebKit(program: string): Promise<RunningBrowser> {
  const folder = await Deno.makeTempDir({ prefix: "browser-" });
  const display = await startDisplay();
  // Without its display a browser ends by itself.
  const tied = tether(folder, display.pid);
  const stop = async (): Promise<void> => {
    await display.close();
    await tied.release();
    await removeFolder(folder);
  };
  const start = (): Promise<Automated> => startAutomated(program, display, folder);
  try {
    const { version, end } = await start();
    await end();
    let closing: Promise<void> | undefined;
    return {
      version,
      newProfile: async () => newProfile(await start()),
      close: () => closing ??= stop(),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A browser under a driver of its own: one that hung would else take the next one with it. */
interface Automated {
  readonly session: WebDriverSession;
  readonly version: string;
  /** Ends both. */
  end(): Promise<void>;
}

async function startAutomated(
  program: string,
  display: Display,
  parent: string,
): Promise<Automated> {
  for (let attempt = 1;; attempt++) {
    const folder = await Deno.makeTempDir({ dir: parent });
    const port = await freePort();
    const child = new Deno.Command(program, {
      args: ["--host=127.0.0.1", `--port=${port}`],
      env: environment(display, folder),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const tied = tether(folder, child.pid);
    const kill = async (): Promise<void> => {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended by itself.
      }
      await child.status;
      await tied.release();
    };
    try {
      const started = await within(START_MS, () => start(`http://127.0.0.1:${port}`));
      const { session } = started;
      const end = (): Promise<void> =>
        within(STOP_MS, () => session.end()).catch(() => {}).finally(kill);
      return { ...started, end };
    } catch (error) {
      await kill();
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function start(driver: string): ReturnType<typeof WebDriverSession.start> {
  await eventually(async () => {
    const response = await fetch(`${driver}/status`);
    await response.body?.cancel();
    return response.ok;
  }, { what: "the driver of WebKit to answer" });
  return await WebDriverSession.start(driver, CAPABILITIES);
}

function environment(display: Display, folder: string): Record<string, string> {
  return {
    DISPLAY: display.name,
    GDK_BACKEND: "x11",
    NO_AT_BRIDGE: "1",
    HOME: folder,
    XDG_RUNTIME_DIR: folder,
    XDG_CACHE_HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
}

async function newProfile({ session, end }: Automated): Promise<Profile> {
  const windows = new Windows(session, await session.firstWindow());
  return {
    async open(url) {
      const tab = drive(session, await windows.take(), windows);
      await tab.bringToFront();
      await loadFirst(tab, url);
      return createTab(tab);
    },
    killSharedWorkers: () => Promise.reject(new Error("WebKit cannot kill a worker")),
    close: end,
  };
}

/** The windows of a profile, of which one is shown. */
class Windows {
  readonly #session: WebDriverSession;
  readonly #open = new Set<string>();
  /** One that shows no page of ours. With its last window a session would end. */
  #spare: string | null;
  #shown: string | null = null;
  #sizes = 0;

  constructor(session: WebDriverSession, first: string) {
    this.#session = session;
    this.#spare = first;
  }

  async take(): Promise<string> {
    const handle = this.#spare ?? await this.#session.newWindow();
    this.#spare = null;
    this.#open.add(handle);
    return handle;
  }

  async show(handle: string): Promise<void> {
    if (this.#shown === handle) return;
    if (this.#shown !== null) await this.#session.on(this.#shown, "POST", "/window/minimize");
    // The driver waits until the size has changed: for one that is the same, it waits in vain.
    const width = 700 + ++this.#sizes % 100;
    await this.#session.on(handle, "POST", "/window/rect", { x: 0, y: 0, width, height: 500 });
    this.#shown = handle;
  }

  async close(handle: string): Promise<void> {
    this.#open.delete(handle);
    if (this.#shown === handle) this.#shown = null;
    if (this.#open.size > 0) {
      await this.#session.on(handle, "DELETE", "/window");
    } else {
      this.#spare = handle;
      await this.#session.on(handle, "POST", "/url", { url: "about:blank" });
    }
  }
}

function drive(session: WebDriverSession, handle: string, windows: Windows): TabDriver {
  const on = session.on.bind(session, handle);
  return {
    async evaluate(expression) {
      const script = `const done = arguments[0]; (${expression}).then(done);`;
      return await on("POST", "/execute/async", { script, args: [] }) as string;
    },
    load: (url) => on("POST", "/url", { url }),
    bringToFront: () => windows.show(handle),
    async screenshot() {
      const base64 = await on("GET", "/screenshot") as string;
      return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    },
    close: () => windows.close(handle),
  };
}
