/**
 * The contract of a client: what an application hands in, and what it gets.
 *
 * @module
 */
import type { Verdict } from "../wire/hello.ts";
import type { Lag } from "../wire/control.ts";
import type { LifecycleRecord } from "./records.ts";
import type { TimingConfig } from "./timing.ts";
import type { VersionMap } from "./versions.ts";

/**
 * Where a stream stands.
 *
 * - `stopped`: not started, stopped by the application, or refused for good.
 * - `connecting`: an attempt is on its way to a hello.
 * - `open`: a hello came.
 * - `backoff`: waiting before the next attempt.
 * - `offline`: the platform says that there is no network.
 * - `hidden_closed`: closed because nobody sees the page; reopens when somebody does.
 * - `exhausted`: `maxAttempts` are spent; a wake or the application starts anew.
 */
export type StreamState =
  | "stopped"
  | "connecting"
  | "open"
  | "backoff"
  | "offline"
  | "hidden_closed"
  | "exhausted";

/** One event. */
export interface Frame {
  /** The event's name; `message` when it has none. */
  readonly type: string;
  /** The data. */
  readonly data: string;
  /** The cursor it carries; `null` for frames that move none (hooks, repairs, histories). */
  readonly id: string | null;
}

/** A unit of application state: a kind, and an opaque reference within it. */
export interface Subject {
  /** 1 to 32 bytes, `[a-z][a-z0-9_]*`. */
  readonly kind: string;
  /** At most 512 bytes. */
  readonly ref: string;
}

/**
 * Why a revalidation runs.
 *
 * - `hello`: the hello did not resume, an earlier run failed, or `onFrame` threw.
 * - `restored`: the cursor came from a store, the application's state did not.
 * - `lag`: the server dropped frames for this connection.
 * - `topic_gap`: a topic subscribed on the live stream could not resume; `topics` names it.
 * - `visible`, `pageshow`, `online`: the platform woke the page up.
 */
export type RevalidateCause =
  | "hello"
  | "restored"
  | "lag"
  | "topic_gap"
  | "visible"
  | "pageshow"
  | "online";

/** What a revalidation is told. */
export interface RevalidateContext {
  /** Why it runs. */
  readonly cause: RevalidateCause;
  /** The epoch of the open connection. */
  readonly epoch: string;
  /** Which attempt the open connection was. */
  readonly generation: number;
  /** Whether everything must be fetched: the version map was cleared, so a digest cannot help. */
  readonly full: boolean;
  /** With `topic_gap`: the topics concerned; else `null`: everything is. */
  readonly topics: readonly string[] | null;
  /** Aborts when the connection ends or the time is up: pass it to every fetch. */
  readonly signal: AbortSignal;
}

/** What is known when a URL is asked for. */
export interface Attempt {
  /** How many attempts have failed since the last stable stream; 0 for the first. */
  readonly attempt: number;
  /** Aborts when the attempt is given up. */
  readonly signal: AbortSignal;
}

/** Where the stream is: an address, or who fetches one (with a ticket, say) for each attempt. */
export type StreamUrl =
  | string
  | URL
  | ((attempt: Attempt) => string | URL | Request | Promise<string | URL | Request>);

/** Request headers: an object read afresh for each request, or a function called for each. */
export type HeadersSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

/** A refusal that would end the stream, or a passing one. */
export interface Refusal {
  /** The response's status. */
  readonly status: number;
  /** Whether the stream stops unless told otherwise. */
  readonly final: boolean;
  /** Whether `url` is a function: a fresh address may then be accepted. */
  readonly ticketed: boolean;
}

/** What is kept over a page load. */
export interface SavedCursor {
  /** The cursor; `""` when there is none. */
  readonly cursor: string;
  /** Whether a revalidation is still owed for what the cursor passed over. */
  readonly unverified: boolean;
}

/** What {@linkcode Persistence.load} brings back. */
export interface LoadedCursor extends SavedCursor {
  /**
   * Whether the application's state was kept with the cursor, in the same store, so that both speak
   * of the same moment. Without it the first hello revalidates even if it resumed: after a reload the
   * page has forgotten what the cursor covers.
   */
  readonly stateKept?: boolean;
}

/** The application's own store for the cursor: the one in which it keeps its state. */
export interface Persistence {
  /** Brings back what was saved; `null` when nothing was. */
  load(): LoadedCursor | null | Promise<LoadedCursor | null>;
  /** Keeps it. Called whenever it has changed; one call at a time, the newest wins. */
  save(saved: SavedCursor): void | Promise<void>;
}

/**
 * A signal about whether anybody sees the page. `pagehide` also means that it is frozen: it closes
 * the stream at once, and `pageshow` or `visible` opens it again.
 */
export type VisibilitySignal = "visible" | "hidden" | "pageshow" | "pagehide";

/** Who knows whether anybody sees the page. */
export interface VisibilitySource {
  /** Whether it is hidden now. */
  hidden(): boolean;
  /** Calls back on each change until the returned function is called. */
  subscribe(listener: (signal: VisibilitySignal) => void): () => void;
}

/** Who knows whether there is a network. */
export interface OnlineSource {
  /** Whether there is one now. */
  online(): boolean;
  /** Calls back on each change until the returned function is called. */
  subscribe(listener: (online: boolean) => void): () => void;
}

/** Time and chance, so that a test can hand in its own. */
export interface ClientClock {
  /** Milliseconds on a clock that never goes back and does not stop while the page sleeps. */
  now(): number;
  /** A number from 0 to below 1. */
  random(): number;
  /** Calls back once, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void;
}

/** What a fetch is: the platform's, or one handed in. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** How often keepalives are acknowledged, and where. */
export interface AliveOptions {
  /** Where the acknowledgement is posted, with the stream's headers. */
  readonly url: string | URL;
  /** How many keepalives one acknowledgement stands for; 1. */
  readonly everyBeats?: number;
}

/** How much of a topic's past a late joiner wants. */
export type HistoryRequest = true | { readonly last: number } | { readonly sinceMs: number };

/** The answer to a subscription on a live stream. */
export interface Subscribed {
  /** How the topic's own cursor was judged; `fresh` when none was presented. */
  readonly verdict: Verdict;
  /** The head when the subscription began, in decimal. */
  readonly head: string;
}

/** Options of {@linkcode createStream}. */
export interface StreamOptions {
  /** Where the stream is. A function is called once for each attempt. */
  readonly url: StreamUrl;
  /** More request headers, read afresh for each request; none. */
  readonly headers?: HeadersSource;
  /** The fetch's credentials mode; the platform's default, `same-origin`. */
  readonly credentials?: RequestCredentials;
  /**
   * Where the cursor goes: the header `Last-Event-ID`, or the query parameter `last_event_id`. With
   * `query` no header of the library's own is sent, so that another origin needs no preflight;
   * `header`.
   */
  readonly presentCursor?: "header" | "query";
  /** The versions of what the application holds; bound to each hello's epoch. */
  readonly versions?: VersionMap;
  /** Called for each frame, in order, exactly once. Synchronous: what it returns is not awaited. */
  onFrame(frame: Frame): void;
  /**
   * Brings the application's state up to date. Called after a hello that did not resume and after a
   * wake, never twice at once; frames are held meanwhile.
   */
  revalidate?(context: RevalidateContext): void | Promise<void>;
  /** Called for each {@linkcode LifecycleRecord}. What it throws is reported to the platform. */
  onLifecycle?(record: LifecycleRecord): void;
  /** Called when the server says that frames were lost for this connection. */
  onLag?(lag: Lag): void;
  /** Asked at each status that is not 200: `"retry"`, `"stop"`, or nothing for the default. */
  onRefused?(refusal: Refusal): "retry" | "stop" | undefined;
  /** Acknowledge keepalives; not by default. */
  readonly alive?: AliveOptions;
  /** Keep the cursor over a page load; not by default. */
  readonly persist?: Persistence;
  /** Where {@linkcode Stream.subscribe} posts. */
  readonly subscribeUrl?: string | URL;
  /** Where {@linkcode Stream.unsubscribe} posts. */
  readonly unsubscribeUrl?: string | URL;
  /** Times and bounds; those of `timing.json`. */
  readonly timing?: Partial<TimingConfig>;
  /** After how many failed attempts in a row the stream is `exhausted`; never. */
  readonly maxAttempts?: number;
  /** The oldest revision of the wire that is accepted; 1. */
  readonly minWire?: number;
  /** The newest revision of the wire that is accepted; 1. */
  readonly maxWire?: number;
  /** The fetch to use; the platform's. */
  readonly fetch?: Fetch;
  /** Whether anybody sees the page; the document's, and "always" where there is none. */
  readonly visibility?: VisibilitySource;
  /** Whether there is a network; the platform's, and "always" where it does not say. */
  readonly online?: OnlineSource;
  /** Time and chance; the platform's. */
  readonly clock?: ClientClock;
}

/** A stream that resumes. */
export interface Stream {
  /** Connects, and stays connected. Does nothing unless stopped. */
  start(): void;
  /** Ends the connection. The cursor stays: {@linkcode start} resumes from it. */
  stop(): void;
  /** Drops the connection, if there is one, and connects at once, from any state but `stopped`. */
  reconnect(): void;
  /**
   * Says that credentials were renewed: connects at once from any state but `open` and `stopped`. A
   * stream that is open is never disturbed.
   */
  credentialsChanged(): void;
  /** Where it stands. */
  state(): StreamState;
  /** What it would present now; `""` when nothing. */
  cursor(): string;
  /** Forgets the cursor and, unless stopped, connects anew: the next hello is `fresh`. */
  resetCursor(): void;
  /**
   * Subscribes one more topic on the live stream, and again after each reconnection.
   *
   * @param topic The topic.
   * @param options `history`: how much of its past is wanted first; none.
   * @returns The server's first answer.
   * @throws {SubscribeError} When the server refuses it; the topic is then forgotten.
   */
  subscribe(topic: string, options?: { readonly history?: HistoryRequest }): Promise<Subscribed>;
  /**
   * Unsubscribes a topic that {@linkcode subscribe} added.
   *
   * @param topic The topic.
   * @throws {SubscribeError} When the server refuses it; it is forgotten all the same.
   */
  unsubscribe(topic: string): Promise<void>;
}
