/**
 * The demo's server: the page, what its buttons do, and the service behind both.
 *
 * @module
 */
import { Feed } from "./feed.ts";
import { isLoopback, isSameOrigin, PAGE_HEADERS } from "./guard.ts";
import { cpuMeter, delayMeter, readMemory } from "./machine.ts";
import { DemoService } from "./service.ts";
import type { Store } from "./store.ts";

const SAMPLE_MS = 500;
const STATUS_MS = 1000;

/** A burst goes out in batches: 2.5 MiB each 100 ms at most, which a page that reads can follow. */
const BATCH = 250;
const BATCH_GAP_MS = 100;
const MAX_BURST_EVENTS = 4000;
const MAX_BURST_EVENT_BYTES = 10_240;
const MAX_BODY_BYTES = 256;

const SCRIPT = "text/javascript; charset=utf-8";
const SCRIPTS =
  "catch_up chart charts cursor experiments ledger lifecycle network page post records " +
  "slow_reader stream strip tag view worker";
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/lifecycle": ["lifecycle.html", "text/html; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
  "/favicon.ico": ["icon.svg", "image/svg+xml"],
  ...Object.fromEntries(
    SCRIPTS.split(" ").map((name) => [`/${name}.js`, [`${name}.js`, SCRIPT] as const]),
  ),
};

/** The library's own files for pages without a build, as the launcher bundles them. */
const LIBRARY = new URL("../../.cache/browser/", import.meta.url);
const LIBRARY_FILE = /^\/lib\/((?:client|tabs|worker)\.js(?:\.map)?)$/;

/** The demo: measuring and publishing from the moment it is made, until `shutdown`. */
export class Demo {
  readonly #feed: Feed;
  readonly #service: DemoService;
  readonly #stopping = new AbortController();
  readonly #hostname: string;
  #bursting = false;

  private constructor(hostname: string, feed: Feed, key: string | undefined) {
    this.#hostname = hostname;
    this.#feed = feed;
    this.#service = new DemoService(feed, key);
    this.#measure();
  }

  /**
   * Opens the store, and begins to measure.
   *
   * @param hostname The name it is bound to; on a loopback one only loopback names are answered.
   * @param store Where the events are kept; `shutdown` closes it.
   * @param key With which events may be published, and the counters read; nobody may without one.
   * @returns The demo.
   * @throws What the store says when it cannot be opened, and the service of a key that cannot be used.
   */
  static async open(hostname: string, store: Store, key?: string): Promise<Demo> {
    return new Demo(hostname, await Feed.open(store), key);
  }

  /**
   * Stops measuring, says goodbye to every page, and closes the store.
   *
   * @param options `signal` ends the waiting early.
   * @returns Settles when the last stream has ended.
   */
  shutdown(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#stopping.abort();
    return this.#feed.shutdown(options);
  }

  /**
   * Answers a request.
   *
   * @param request The request.
   * @param info What Deno says about it; the hub uses it to know when a goodbye has been sent.
   * @returns The answer.
   */
  async fetch(request: Request, info?: unknown): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    // A name that somebody else's DNS points at this machine would make their page our own.
    if (isLoopback(this.#hostname) && !isLoopback(hostname)) return refuse(403, "host");
    const file = FILES[pathname];
    if (file !== undefined && request.method === "GET") return await sendFile(...file);
    const library = LIBRARY_FILE.exec(pathname)?.[1];
    if (library !== undefined && request.method === "GET") return await sendLibrary(library);
    if (request.method !== "POST") return await this.#serve(request, info);
    // Who has a key is no page of another site.
    if (pathname === "/publish") return await this.#service.fetch(request, info);
    if (!isSameOrigin(request)) return refuse(403, "same_origin");
    switch (pathname) {
      case "/burst":
        return await this.#burst(request);
      case "/cut":
        return await this.#cut(request);
      case "/restart":
        return Response.json(await this.#feed.restart());
      default:
        return await this.#service.fetch(request, info);
    }
  }

  async #serve(request: Request, info: unknown): Promise<Response> {
    const response = await this.#service.fetch(request, info);
    // Without "no-store" Chromium takes in some 64 MB that the page has not read (with it, about 9),
    // so that a stalled reader would look to the hub like one that reads.
    response.headers.set("Cache-Control", "no-store, no-transform");
    return response;
  }

  /** Ends the connections of one browser, as a lost network would, without a word. */
  async #cut(request: Request): Promise<Response> {
    const { tag } = await readJson(request) ?? {};
    if (typeof tag !== "string" || tag === "") return refuse(400, "cut");
    return Response.json({ cut: this.#feed.hub.disconnect({ tag }) });
  }

  #measure(): void {
    const cpu = cpuMeter();
    const delay = delayMeter();
    const samples = setInterval(() => {
      // Nobody waits until they are stored.
      void this.#feed.publish("cpu", cpu());
      void this.#feed.publish("memory", readMemory());
      void this.#feed.publish("delay", delay.read());
    }, SAMPLE_MS);
    const status = setInterval(() => this.#feed.publishStatus(), STATUS_MS);
    this.#stopping.signal.addEventListener("abort", () => {
      clearInterval(samples);
      clearInterval(status);
      delay.stop();
    });
  }

  /** Publishes `count` events of about `size` bytes; one burst at a time. */
  async #burst(request: Request): Promise<Response> {
    const asked = await readBurst(request);
    if (asked === null) return refuse(400, "burst");
    if (this.#bursting) return refuse(409, "burst_running");
    this.#bursting = true;
    try {
      const pad = "~".repeat(asked.size);
      let stored = Promise.resolve();
      for (let i = 1; i <= asked.count && !this.#stopping.signal.aborted; i++) {
        stored = this.#feed.publish("burst", { i, of: asked.count, pad });
        if (i % BATCH !== 0) continue;
        // The next batch does not pile up before the store; during a restart it waits.
        await stored;
        await new Promise((resolve) => setTimeout(resolve, BATCH_GAP_MS));
      }
      await stored;
    } finally {
      this.#bursting = false;
    }
    return Response.json({ count: asked.count, n: this.#feed.published("burst") });
  }
}

/** A small body of JSON; `null` when it is anything else. */
async function readJson(request: Request): Promise<Record<string, unknown> | null> {
  if (request.headers.get("Content-Type") !== "application/json") return null;
  const length = request.headers.get("Content-Length");
  if (length === null || Number(length) > MAX_BODY_BYTES) return null;
  const body: unknown = await request.json().catch(() => null);
  return typeof body === "object" && body !== null ? body as Record<string, unknown> : null;
}

async function readBurst(request: Request): Promise<{ count: number; size: number } | null> {
  const { count, size = 0 } = await readJson(request) ?? {};
  const inBounds = (value: unknown, least: number, most: number): value is number =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  if (!inBounds(count, 1, MAX_BURST_EVENTS) || !inBounds(size, 0, MAX_BURST_EVENT_BYTES)) {
    return null;
  }
  return { count, size };
}

async function sendLibrary(file: string): Promise<Response> {
  const type = file.endsWith(".map") ? "application/json" : SCRIPT;
  try {
    const body = await Deno.readFile(new URL(file, LIBRARY));
    return new Response(body, { headers: { ...PAGE_HEADERS, "Content-Type": type } });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return refuse(404, "not_bundled: start the demo by npm run demo, or deno task demo");
  }
}

async function sendFile(file: string, type: string): Promise<Response> {
  const body = await Deno.readFile(new URL(`./page/${file}`, import.meta.url));
  return new Response(body, { headers: { ...PAGE_HEADERS, "Content-Type": type } });
}

function refuse(status: number, code: string): Response {
  return Response.json({ error: `Cannot answer: ${code}`, code }, {
    status,
    headers: { "X-Content-Type-Options": "nosniff" },
  });
}
