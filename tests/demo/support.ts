/**
 * Starts the demo in a process of its own, and a browser that opens it.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import puppeteer, { type Browser, type BrowserContext, type Page } from "puppeteer-core";
import { CHROMIUM, CHROMIUM_ARGS } from "../support/chromium.ts";
import { eventually } from "../support/poll.ts";

const ROOT = new URL("../../", import.meta.url);
const CACHE = new URL(".cache/", ROOT);
/** Where the demo looks for the library's bundles. */
const BUNDLES = new URL("browser/", CACHE);
const BUNDLE = 'import { bundleForBrowsers } from "./scripts/lib/bundle.mjs";';
const START_MS = 30_000;
const STOP_MS = 8_000;

/** No more than the demo needs: what else it tried would fail here. */
const permissions = (folder: string): string[] => [
  "--no-prompt",
  "--allow-net",
  `--allow-read=examples/demo/page,.cache/browser,${folder}`,
  `--allow-write=${folder}`,
  "--allow-sys=cpus,loadavg,systemMemoryInfo",
];

await bundleLibrary();

/**
 * Bundles the library, as the launcher does before it starts the demo. Another run of tests may read
 * the files meanwhile: each one is replaced as a whole.
 */
async function bundleLibrary(): Promise<void> {
  await Deno.mkdir(BUNDLES, { recursive: true });
  const fresh = await Deno.makeTempDir({ dir: fileURLToPath(CACHE), prefix: "bundles_" });
  try {
    // In a process of its own: the bundler leaves one behind, which would end during some test.
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", `${BUNDLE} await bundleForBrowsers(Deno.args[0]);`, fresh],
      cwd: ROOT,
    }).output();
    if (!success) throw new Error(`Cannot bundle:\n${new TextDecoder().decode(stderr)}`);
    for await (const { name } of Deno.readDir(fresh)) {
      await Deno.rename(`${fresh}/${name}`, new URL(name, BUNDLES));
    }
  } finally {
    await Deno.remove(fresh, { recursive: true });
  }
}

/** The demo's process, while or after it runs. */
export interface RunningDemo {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Where it makes its temporary files. It must have removed them when it ends. */
  readonly folder: string;
  /** What it has printed so far, on both outputs. */
  output(): string;
  /** Ends it by a signal. A second call joins the first. */
  stop(signal?: Deno.Signal): Promise<{ readonly code: number; readonly afterMs: number }>;
}

/**
 * Runs the demo's program to its end: for arguments that it refuses.
 *
 * @param args Its arguments.
 * @returns Its exit code and what it printed.
 */
export async function runDemo(args: readonly string[]): Promise<{ code: number; text: string }> {
  return await inFolder(async (folder) => {
    const { code, stdout, stderr } = await command(args, folder).output();
    const decoder = new TextDecoder();
    return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
  });
}

/** Gives the demo a folder for its temporary files, where none may be left behind. */
async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    const result = await work(folder);
    const left = [...Deno.readDirSync(folder)].map(({ name }) => name);
    if (left.length > 0) throw new Error(`The demo has left behind: ${left.join(", ")}`);
    return result;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Starts the demo, and stops it after the work. It must leave nothing behind.
 *
 * @param work What to do with it.
 * @param args Its arguments; any free port by default.
 */
export function withDemo(
  work: (demo: RunningDemo) => Promise<void>,
  args: readonly string[] = ["--port", "0"],
): Promise<void> {
  return inFolder((folder) => withDemoIn(folder, work, args));
}

/**
 * Starts the demo in a folder that outlasts it, and stops it after the work.
 *
 * @param folder Where it may write.
 * @param work What to do with it.
 * @param args Its arguments.
 */
export async function withDemoIn(
  folder: string,
  work: (demo: RunningDemo) => Promise<void>,
  args: readonly string[],
): Promise<void> {
  const child = command(args, folder).spawn();
  let output = "";
  const pump = async (stream: Deno.ChildProcess["stdout"]): Promise<void> => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  const pumps = Promise.all([pump(child.stdout), pump(child.stderr)]);
  let stopping: ReturnType<RunningDemo["stop"]> | undefined;
  const stop = (signal: Deno.Signal = "SIGTERM") => stopping ??= end(child, signal, pumps);
  try {
    const url = await eventually(() => /Tidemark demo: (http\S+)\/\s/.exec(output)?.[1], {
      what: "the demo's address",
      timeoutMs: START_MS,
    });
    await work({ url, folder, output: () => output, stop });
  } catch (error) {
    if (error instanceof Error) error.message += `\n[the demo printed]\n${output}`;
    throw error;
  } finally {
    await stop();
  }
}

/**
 * Reads a stream until it has said something, and lets it go.
 *
 * @param response The stream.
 * @param pattern What it says.
 * @returns All that it has said.
 */
export async function readUntil(response: Response | undefined, pattern: RegExp): Promise<string> {
  let text = "";
  // Leaving the loop cancels the stream.
  for await (const piece of response?.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (pattern.test(text)) return text;
  }
  throw new Error(`The stream has ended without ${pattern}:\n${text}`);
}

function command(args: readonly string[], folder: string): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", ...permissions(folder), "examples/demo/main.ts", ...args],
    cwd: ROOT,
    env: { TMPDIR: folder },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function end(
  child: Deno.ChildProcess,
  signal: Deno.Signal,
  pumps: Promise<unknown>,
): Promise<{ readonly code: number; readonly afterMs: number }> {
  const asked = performance.now();
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself.
  }
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  const { code } = await child.status;
  clearTimeout(timer);
  await pumps;
  return { code, afterMs: performance.now() - asked };
}

/** A browser with the demo's page open. */
export interface OpenPage {
  readonly browser: Browser;
  readonly page: Page;
  readonly demo: RunningDemo;
  /**
   * Opens another tab with a page of the demo.
   *
   * @param path Which page; the one with the counters.
   * @param profile Whose; that of the first page.
   * @param prepare Changes the tab before it loads anything.
   * @returns The page, once it has connected.
   */
  open(
    path?: string,
    profile?: BrowserContext,
    prepare?: (page: Page) => Promise<unknown>,
  ): Promise<Page>;
}

/**
 * Starts the demo and a browser, opens the page, and waits until it has said hello.
 *
 * @param work What to do with it. Afterwards the browser must not have complained of anything.
 */
export async function withPage(work: (open: OpenPage) => Promise<void>): Promise<void> {
  await withDemo(async (demo) => {
    const browser = await puppeteer.launch({
      executablePath: CHROMIUM,
      headless: true,
      args: [...CHROMIUM_ARGS],
    });
    const complaints: string[] = [];
    const open: OpenPage["open"] = async (
      path = "/",
      profile = browser.defaultBrowserContext(),
      prepare,
    ) => {
      const page = await profile.newPage();
      await page.setViewport({ width: 1280, height: 900 });
      listen(page, complaints);
      await prepare?.(page);
      await page.goto(demo.url + path, { waitUntil: "load" });
      const connected = path === "/"
        ? async () => (await read(page)).connections.length === 1
        : async () => await page.$eval("#state", (node) => node.textContent) === "open";
      await eventually(connected, { what: `a connection for ${path}` });
      return page;
    };
    try {
      await work({ browser, page: await open(), demo, open });
      if (complaints.length > 0) {
        throw new Error(`The browser complained:\n${complaints.join("\n")}`);
      }
    } finally {
      await browser.close();
    }
  });
}

/** Collects errors on the console, exceptions, and answers that failed. */
function listen(page: Page, complaints: string[]): void {
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
}

/** What a person reads on the page. */
export interface Reading {
  readonly state: string;
  readonly tag: string;
  readonly cursor: string;
  readonly here: string;
  readonly hub: string;
  readonly carrier: string;
  readonly lags: string;
  readonly resets: string;
  readonly log: string;
  /** Newest first. */
  readonly outcomes: readonly string[];
  readonly totals: Readonly<Record<Total, number>>;
  readonly topics: Readonly<
    Record<string, Readonly<Record<"published" | "received" | "missed", number>>>
  >;
  /** Newest first. */
  readonly connections: readonly {
    readonly verdict: string;
    readonly resumed: string;
    readonly presented: string;
    readonly replayed: number;
    readonly missed: number;
    readonly ended: string;
  }[];
}

/** The big numbers. */
export type Total = "published" | "received" | "missed" | "replayed" | "twice";

/**
 * Reads the page.
 *
 * @param page The page.
 * @returns What it says.
 */
export function read(page: Page): Promise<Reading> {
  return page.evaluate(() => {
    const text = (node: Element | null | undefined) => node?.textContent?.trim() ?? "";
    const id = (name: string) => text(document.getElementById(name));
    const number = (written: string) => Number(written.replaceAll(",", ""));
    const all = (selector: string) => [...document.querySelectorAll(selector)];
    const cell = (row: Element, label: string) =>
      text(row.querySelector(`[data-label="${label}"]`));
    return {
      state: id("state"),
      tag: id("tag"),
      cursor: id("cursor"),
      here: id("here"),
      hub: id("hub-note"),
      carrier: id("carrier"),
      lags: id("lags"),
      resets: id("resets"),
      log: id("log"),
      outcomes: all("#outcomes li span").map(text),
      totals: {
        published: number(id("total-published")),
        received: number(id("total-received")),
        missed: number(id("total-missed")),
        replayed: number(id("total-replayed")),
        twice: number(id("total-twice")),
      },
      topics: Object.fromEntries(
        all("#topics tr").map((row) => {
          const [name = "", published = "", received = "", missed = ""] = [...row.children].map(
            text,
          );
          return [name, {
            published: number(published),
            received: number(received),
            missed: number(missed),
          }];
        }),
      ),
      connections: all("#hellos tr").map((row) => ({
        verdict: text(row.querySelector(".chip")),
        resumed: cell(row, "Resumed"),
        presented: row.querySelector<HTMLElement>('[data-label="Presented"]')?.title ?? "",
        replayed: number(cell(row, "Replayed")),
        missed: number(cell(row, "Missed")),
        ended: cell(row, "End"),
      })),
    };
  });
}

/**
 * Waits until the page says something.
 *
 * @param page The page.
 * @param what What is waited for, for the error.
 * @param check Judges what the page says.
 * @param timeoutMs How long to wait.
 * @returns What it says then.
 */
export function until(
  page: Page,
  what: string,
  check: (reading: Reading) => boolean,
  timeoutMs = 10_000,
): Promise<Reading> {
  return eventually(async () => {
    const reading = await read(page);
    return check(reading) ? reading : null;
  }, { what, timeoutMs });
}

/**
 * Presses a button, and waits for what comes of it.
 *
 * @param page The page.
 * @param button The button's id.
 * @param timeoutMs How long to wait.
 * @returns What the page then says; its first outcome is the button's.
 */
export async function press(page: Page, button: string, timeoutMs = 20_000): Promise<Reading> {
  await page.click(`#${button}`);
  // Busy at once: so the outcome that follows is this press's.
  await page.waitForSelector(`#${button}[aria-disabled="true"]`, { timeout: 2000 });
  await page.waitForSelector(`#${button}:not([aria-disabled])`, { timeout: timeoutMs });
  // The numbers are written in the same turn as the outcome, or in the next.
  return await eventually(async () => {
    const reading = await read(page);
    const { published, received, missed } = reading.totals;
    return published === received + missed ? reading : null;
  }, { what: "the sum of the page's totals" });
}
