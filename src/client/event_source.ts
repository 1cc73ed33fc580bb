/**
 * An `EventSource` that resumes: the interface of the HTML standard (section 9.2) over a stream of
 * this library.
 *
 * @module
 */
import type {
  EventSourceOptions,
  ResumingEventSourceEventMap,
  VerdictDetail,
} from "./event_source_types.ts";
import type { LifecycleRecord } from "./records.ts";
import { createStream } from "./stream.ts";
import type { Frame, Stream, StreamState } from "./types.ts";

export type {
  EventSourceOptions,
  ResumingEventSourceEventMap,
  VerdictDetail,
} from "./event_source_types.ts";

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 2;

/** The events of which a source has a handler besides listeners: `onopen`, `onmessage`, `onerror`. */
type Handled = "open" | "message" | "error";

/** What of a page, or of a worker, is looked at: an address may be relative to it. */
interface Surroundings {
  readonly document?: { readonly baseURI?: string };
  readonly location?: { readonly href: string; readonly origin: string };
}

/** The typed ways to listen; at run time they are those of `EventTarget`. */
export interface ResumingEventSource {
  /** Listens to one of the source's own events. */
  addEventListener<K extends keyof ResumingEventSourceEventMap>(
    type: K,
    listener: (event: ResumingEventSourceEventMap[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  /** Listens to the server's events of a name. */
  addEventListener(
    type: string,
    listener: (event: MessageEvent<string>) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  /** Listens as to any `EventTarget`. */
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  /** Ends what `addEventListener` began. */
  removeEventListener<K extends keyof ResumingEventSourceEventMap>(
    type: K,
    listener: (event: ResumingEventSourceEventMap[K]) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  /** Ends what `addEventListener` began. */
  removeEventListener(
    type: string,
    listener: (event: MessageEvent<string>) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  /** Ends what `addEventListener` began. */
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
}

/**
 * What {@linkcode createEventSource} makes. Hand the class itself to a library that takes one like
 * `EventSource`.
 */
export class ResumingEventSource extends EventTarget {
  /** There is no connection, and one is on its way. */
  static readonly CONNECTING: 0 = CONNECTING;
  /** There is a connection. */
  static readonly OPEN: 1 = OPEN;
  /** There is no connection, and none will come. */
  static readonly CLOSED: 2 = CLOSED;
  /** There is no connection, and one is on its way. */
  readonly CONNECTING: 0 = CONNECTING;
  /** There is a connection. */
  readonly OPEN: 1 = OPEN;
  /** There is no connection, and none will come. */
  readonly CLOSED: 2 = CLOSED;
  /** The address, in full. */
  readonly url: string;
  /** Whether cookies go to other origins too. */
  readonly withCredentials: boolean;

  readonly #options: EventSourceOptions;
  readonly #stream: Stream;
  readonly #handlers: { [type in Handled]?: ((event: Event) => void) | null } = {};
  /** Added twice, an object is still one listener, in its first place: so a handler keeps its own. */
  readonly #slots: Readonly<Record<Handled, EventListenerObject>> = {
    open: { handleEvent: (event) => this.#handlers.open?.call(this, event) },
    message: { handleEvent: (event) => this.#handlers.message?.call(this, event) },
    error: { handleEvent: (event) => this.#handlers.error?.call(this, event) },
  };
  #readyState: 0 | 1 | 2 = CONNECTING;
  #origin: string;

  /**
   * Connects, as soon as the code that is running has come to its end.
   *
   * @param url Where to; relative to the page's or the worker's address, where there is one.
   * @param options How.
   * @throws {DOMException} `SyntaxError`, when the address is none.
   * @throws {ConfigError} When an option is out of bounds.
   */
  constructor(url: string | URL, options: EventSourceOptions = {}) {
    super();
    const { withCredentials = false, timing, presentCursor, ...rest } = options;
    const { document, location } = globalThis as Surroundings;
    const address = parse(url, document?.baseURI ?? location?.href);
    const foreign = location !== undefined && location.origin !== address.origin;
    this.url = address.href;
    this.withCredentials = withCredentials;
    this.#origin = address.origin;
    this.#options = options;
    this.#stream = createStream({
      ...rest,
      presentCursor: presentCursor ?? (foreign ? "query" : "header"),
      url: this.url,
      credentials: withCredentials ? "include" : "same-origin",
      timing: { hiddenCloseAfterMs: 0, ...timing },
      fetch: (input, init) => this.#fetch(input, init),
      onFrame: (frame) => this.#onFrame(frame),
      onLifecycle: (record) => this.#onRecord(record),
      onLag: (lag) => {
        this.dispatchEvent(new CustomEvent("lag", { detail: lag }));
        options.onLag?.(lag);
      },
    });
    // Whoever made it has no listener yet.
    queueMicrotask(() => {
      if (this.#readyState !== CLOSED) this.#stream.start();
    });
  }

  /** `CONNECTING`, `OPEN` or `CLOSED`. */
  get readyState(): 0 | 1 | 2 {
    return this.#readyState;
  }

  /** The cursor that would be presented now; `""` when there is none. */
  get lastEventId(): string {
    return this.#stream.cursor();
  }

  /** Called when a connection opens. */
  get onopen(): ((event: Event) => void) | null {
    return this.#handlers.open ?? null;
  }
  set onopen(handler: ((event: Event) => void) | null) {
    this.#handle("open", handler);
  }

  /** Called at each event without a name. */
  get onmessage(): ((event: MessageEvent<string>) => void) | null {
    return this.#handlers.message ?? null;
  }
  set onmessage(handler: ((event: MessageEvent<string>) => void) | null) {
    // What comes under this name is a `MessageEvent`.
    this.#handle("message", handler as ((event: Event) => void) | null);
  }

  /** Called when a connection is lost or cannot be made. */
  get onerror(): ((event: Event) => void) | null {
    return this.#handlers.error ?? null;
  }
  set onerror(handler: ((event: Event) => void) | null) {
    this.#handle("error", handler);
  }

  /** Ends the connection for good. No event tells of it. */
  close(): void {
    this.#readyState = CLOSED;
    this.#stream.stop();
  }

  #handle(type: Handled, handler: ((event: Event) => void) | null): void {
    // The standard's handlers take anything, and what cannot be called is none.
    const valid = typeof handler === "function";
    this.#handlers[type] = valid ? handler : null;
    if (valid) this.addEventListener(type, this.#slots[type]);
    else this.removeEventListener(type, this.#slots[type]);
  }

  /** Notes where the answer came from: a redirect leads to another origin. */
  async #fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const response = await (this.#options.fetch ?? fetch)(input, init);
    // An acknowledgement is no stream; and a response that a program made has no address.
    if (response.url !== "" && (init?.method ?? "GET") === "GET") {
      this.#origin = new URL(response.url).origin;
    }
    return response;
  }

  #onFrame({ type, data, id }: Frame): void {
    const lastEventId = id ?? this.lastEventId;
    this.dispatchEvent(new MessageEvent(type, { data, lastEventId, origin: this.#origin }));
  }

  #onRecord(record: LifecycleRecord): void {
    try {
      this.#options.onLifecycle?.(record);
    } finally {
      // Last, for it may stop the stream, which makes a record of its own.
      if (record.kind === "state") this.#onState(record.from, record.to);
      if (record.kind === "hello") {
        const { verdict, resumed, repair, epoch, floor, head } = record;
        const detail: VerdictDetail = { verdict, resumed, repair, epoch, floor, head };
        this.dispatchEvent(new CustomEvent("verdict", { detail }));
      }
    }
  }

  #onState(from: StreamState, to: StreamState): void {
    if (this.#readyState === CLOSED) return;
    if (to === "stopped" || to === "exhausted") {
      // What is exhausted would start anew when somebody looks; but the standard's CLOSED is for good.
      this.close();
      this.dispatchEvent(new Event("error"));
      return;
    }
    this.#readyState = to === "open" ? OPEN : CONNECTING;
    if (to === "open") this.dispatchEvent(new Event("open"));
    else if (from === "connecting" || from === "open") this.dispatchEvent(new Event("error"));
  }
}

/**
 * Makes an `EventSource` that resumes from an exact cursor, and says what became of it.
 *
 * It has the interface and the manners of the platform's, and runs where there is none. What is more:
 *
 * - a `verdict` event after each `open`, whose `detail.resumed` says whether every missed event
 *   follows. After one that did not resume something is missing: fetch what your page shows anew;
 * - a `lag` event where the server dropped events for this connection;
 * - headers, timeouts, a watchdog, a backoff with jitter, and `lastEventId`, the cursor.
 *
 * A server's own events called `verdict` or `lag` are `MessageEvent`s, these are `CustomEvent`s. An
 * event without an id has the cursor for its `lastEventId`: after a hello that did not resume that is
 * the server's head, where the platform's would be empty or old. A source whose `maxAttempts` are
 * spent is closed. Unlike a stream it stays open while the page is hidden, unless
 * `timing.hiddenCloseAfterMs` says otherwise.
 *
 * A listener that throws is the platform's to report, as with every `EventTarget`. A browser tells
 * `window.onerror` and goes on, and Bun prints the error. **Node and Deno end the process**, unless it
 * handles `uncaughtException` (Node) or the `error` events of `globalThis` (Deno): then the other
 * listeners and the stream go on there, too.
 *
 * @param url Where to; relative to the page's or the worker's address, where there is one.
 * @param options How.
 * @returns The source, which connects as soon as the code that is running has come to its end.
 * @throws {DOMException} `SyntaxError`, when the address is none.
 * @throws {ConfigError} When an option is out of bounds.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { createEventSource } from "@tidemark/sse/client";
 *
 * const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
 * // Only in this example: without it the network is asked.
 * const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
 *   Promise.resolve(hub.serve(new Request(input, init)));
 *
 * const source = createEventSource("http://localhost/events", { fetch });
 * source.addEventListener("verdict", (event) => {
 *   assertEquals(event.detail.verdict, "fresh");
 *   hub.publish({ name: "tick", data: "1" });
 * });
 * const tick = await new Promise<MessageEvent<string>>((resolve) => {
 *   source.addEventListener("tick", resolve);
 * });
 * assertEquals([tick.data, tick.lastEventId], ["1", `${hub.position().epoch}:1`]);
 *
 * source.close();
 * await hub.shutdown();
 * ```
 */
export function createEventSource(
  url: string | URL,
  options: EventSourceOptions = {},
): ResumingEventSource {
  return new ResumingEventSource(url, options);
}

/** The standard says so to everybody who hands it an address that is none. */
function parse(url: string | URL, base: string | undefined): URL {
  try {
    return new URL(url, base);
  } catch {
    throw new DOMException("Cannot open the event source: the URL is invalid", "SyntaxError");
  }
}
