// @ts-check
/**
 * A small reader of a hub's stream: fetch, getReader(), and nothing else. It stands in for the
 * library's own client, which will replace this file. What it keeps to:
 *
 * - the cursor goes out as `Last-Event-ID`, and moves only once a frame has been delivered;
 * - `SSE-Wire` and `SSE-Lag` say what it understands: it would rather be told of a hole than be reset;
 * - any byte feeds the watchdog; silence of three keepalives (15 s at least) ends the attempt;
 * - it waits what the hub asked for (`retry:`) and a random bit more, so that pages do not come back
 *   in lockstep.
 */

import { Parser } from "./parser.js";

const CONNECT_TIMEOUT_MS = 15_000;
const HELLO_TIMEOUT_MS = 10_000;
const WATCHDOG_FLOOR_MS = 15_000;
const WATCHDOG_BEATS = 3;
const BASE_MS = 500;
const CAP_MS = 30_000;
const STABLE_MS = 30_000;

/**
 * @typedef {"connecting" | "open" | "waiting" | "away" | "stopped"} State
 * @typedef {{ epoch: string, floor: string, head: string, resumed: boolean, verdict: string,
 *   keepalive_ms: number, keepalive_event: string, connection?: string }} Hello
 * @typedef {{ missed: number | null, from: string, to: string }} Lag
 * @typedef {{ name: string, data: string, id: string | null, replayed: boolean }} Frame
 * @typedef {{
 *   url: string,
 *   headers: Record<string, string>,
 *   onState: (state: State, ms: number) => void,
 *   onHello: (hello: Hello, presented: string) => void,
 *   onFrame: (frame: Frame) => void,
 *   onCursor: (cursor: string) => void,
 *   onKeepalive: () => void,
 *   onReset: (reason: string) => void,
 *   onLag: (lag: Lag) => void,
 *   onEnd: (why: string) => void,
 * }} StreamOptions
 */

export class Stream {
  /** @param {StreamOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {State} */
    this.state = "stopped";
    this.cursor = "";
    this.retryMs = 1500;
    /** When the last byte came, on the clock of `performance.now()`. */
    this.lastByteAt = 0;
    /** @type {Hello | null} The hello of the open connection. */
    this.hello = null;
    this.failures = 0;
    this.awayMs = 0;
    /** Why the hub has reset the connection; "" when it has not. */
    this.reset = "";
    /** Counts the calls of `start`: a loop that wakes up in a later life has nothing left to do. */
    this.life = 0;
    this.stalledUntil = 0;
    /** @type {AbortController | null} */
    this.controller = null;
    /** @type {() => void} */
    this.wake = () => {};
  }

  /** Connects, and connects again and again until `stop`. */
  async start() {
    if (this.state !== "stopped") return;
    const life = ++this.life;
    const isOver = () => this.life !== life || this.state === "stopped";
    this.setState("connecting", 0);
    while (!isOver()) {
      const { why, stable, retryAfterMs, refused } = await this.attempt();
      if (this.life !== life) return;
      this.hello = null;
      this.options.onEnd(why);
      if (isOver()) return;
      if (refused) return this.setState("stopped", 0);
      this.failures = stable ? 0 : this.failures + 1;
      const away = this.awayMs;
      this.awayMs = 0;
      const backoff = Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(this.failures, 10));
      const ms = away || Math.max(backoff, retryAfterMs, stable ? 0 : this.retryMs);
      this.setState(away ? "away" : "waiting", ms);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.wake = () => resolve(clearTimeout(timer));
      });
    }
  }

  /** Drops the stream for good. The cursor stays: `start` resumes from it. */
  stop() {
    this.setState("stopped", 0);
    this.controller?.abort(new Error("stopped by the page"));
    this.wake();
  }

  /** Ends a wait between two attempts: the network is back, say. */
  retryNow() {
    if (this.state === "waiting") this.wake();
  }

  /**
   * Drops the stream and stays away for a while. The cursor stays.
   * @param {number} ms
   * @param {string} why
   */
  cut(ms, why) {
    this.awayMs = ms;
    this.controller?.abort(new Error(why));
  }

  /**
   * Reads nothing for a while; the connection stays open.
   * @param {number} ms
   */
  stall(ms) {
    this.stalledUntil = performance.now() + ms;
  }

  /** Whether it reads nothing now, because it was told to. */
  get isStalled() {
    return performance.now() < this.stalledUntil;
  }

  /**
   * One connection, from the request to its end. It never throws.
   * @returns {Promise<{ why: string, stable: boolean, retryAfterMs: number, refused: boolean }>}
   */
  async attempt() {
    const controller = this.controller = new AbortController();
    const presented = this.cursor;
    const startedAt = performance.now();
    let openedAt = Infinity;
    let limitMs = CONNECT_TIMEOUT_MS;
    this.reset = "";
    this.lastByteAt = startedAt;
    // It compares clocks rather than counts ticks: a hidden tab's timers come once a minute.
    const watchdog = setInterval(() => {
      if (this.hello !== null) limitMs = watchdogMs(this.hello);
      const silence = performance.now() - Math.max(this.lastByteAt, this.stalledUntil);
      if (silence > limitMs) controller.abort(new Error(`silent for ${limitMs / 1000} s`));
    }, 500);
    const end = (/** @type {string} */ why, retryAfterMs = 0, refused = false) => ({
      why,
      stable: this.reset === "" && performance.now() - openedAt > STABLE_MS,
      retryAfterMs,
      refused,
    });
    this.setState("connecting", 0);
    try {
      const headers = new Headers({ ...this.options.headers, "SSE-Wire": "1", "SSE-Lag": "1" });
      if (presented !== "") headers.set("Last-Event-ID", presented);
      const response = await fetch(this.options.url, { headers, signal: controller.signal });
      const refusal = refusalOf(response);
      if (refusal !== null) {
        controller.abort();
        return end(refusal.why, refusal.retryAfterMs, refusal.final);
      }
      limitMs = HELLO_TIMEOUT_MS;
      this.lastByteAt = performance.now();
      const parser = new Parser({
        onEvent: (event) => {
          this.receive(event, presented);
          if (openedAt === Infinity) openedAt = performance.now();
        },
        onId: (id) => this.moveCursor(id),
        onRetry: (ms) => this.retryMs = Math.min(Math.max(ms, 1), CAP_MS),
      });
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      while (true) {
        while (this.isStalled && !controller.signal.aborted) await sleep(50);
        const { done, value } = await reader.read();
        if (done) return end(this.reset === "" ? "the hub" : `reset: ${this.reset}`);
        this.lastByteAt = performance.now();
        parser.feed(value);
      }
    } catch (error) {
      const cause = controller.signal.aborted ? controller.signal.reason : error;
      controller.abort();
      return end(cause instanceof Error ? cause.message : String(cause));
    } finally {
      clearInterval(watchdog);
    }
  }

  /**
   * @param {import("./parser.js").ParsedEvent} event
   * @param {string} presented
   */
  receive(event, presented) {
    const hello = this.hello;
    if (hello === null) {
      if (event.name !== "sse:hello") throw new Error("the first event is not a hello");
      return this.greet(JSON.parse(event.data), presented);
    }
    if (event.name === hello.keepalive_event) return this.options.onKeepalive();
    if (event.name === "sse:reset") {
      this.reset = JSON.parse(event.data).reason;
      return this.options.onReset(this.reset);
    }
    if (event.name === "sse:lag") {
      const lag = /** @type {Lag} */ (JSON.parse(event.data));
      this.options.onLag(lag);
      return this.moveCursor(lag.to);
    }
    if (event.name.startsWith("sse:")) return;
    const replayed = hello.resumed && event.id !== null && offsetOf(event.id) <= Number(hello.head);
    this.options.onFrame({ ...event, name: event.name || "message", replayed });
    if (event.id !== null) this.moveCursor(event.id);
  }

  /**
   * @param {Hello} hello
   * @param {string} presented
   */
  greet(hello, presented) {
    this.hello = hello;
    this.setState("open", 0);
    this.options.onHello(hello, presented);
    // An application would fetch its state anew here. This page has none to fetch: it goes on at once.
    if (!hello.resumed) this.moveCursor(`${hello.epoch}:${hello.head}`, true);
  }

  /**
   * Forward only, within an epoch.
   * @param {string} cursor
   * @param {boolean} [adopt]
   */
  moveCursor(cursor, adopt = false) {
    const sameEpoch = cursor.slice(0, 16) === this.cursor.slice(0, 16);
    if (!adopt && sameEpoch && offsetOf(cursor) <= offsetOf(this.cursor)) return;
    this.cursor = cursor;
    this.options.onCursor(cursor);
  }

  /**
   * @param {State} state
   * @param {number} ms
   */
  setState(state, ms) {
    this.state = state;
    this.options.onState(state, ms);
  }
}

/**
 * The offset of a cursor; −1 when there is none.
 * @param {string} cursor
 */
export function offsetOf(cursor) {
  return cursor === "" ? -1 : Number(cursor.slice(17));
}

/** @param {Hello} hello */
function watchdogMs(hello) {
  return Math.max(WATCHDOG_BEATS * hello.keepalive_ms, WATCHDOG_FLOOR_MS);
}

/** @param {number} ms */
function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Why a response is no stream, or null when it is one. Most 4xx are final: asking again is no use.
 * @param {Response} response
 */
function refusalOf(response) {
  const { status, headers } = response;
  if (status !== 200) {
    const passing = status >= 500 || [408, 425, 429].includes(status);
    const retryAfterMs = 1000 * (Number(headers.get("Retry-After")) || 0);
    return { why: `refused with ${status}`, retryAfterMs, final: !passing };
  }
  const type = (headers.get("Content-Type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type === "text/event-stream" && response.body !== null) return null;
  return { why: `not a stream but ${type}`, retryAfterMs: 0, final: false };
}
