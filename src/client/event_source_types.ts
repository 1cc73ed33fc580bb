/**
 * What an `EventSource` that resumes takes, and what it tells.
 *
 * @module
 */
import type { Lag } from "../wire/control.ts";
import type { Verdict } from "../wire/hello.ts";
import type { StreamOptions } from "./types.ts";

/** Options of `createEventSource`: the standard's one, and most of a stream's. */
export interface EventSourceOptions extends
  Omit<
    StreamOptions,
    "url" | "onFrame" | "credentials" | "subscribeUrl" | "unsubscribeUrl"
  > {
  /** Whether cookies go to other origins too (`include`, not `same-origin`); false. */
  readonly withCredentials?: boolean;
  /**
   * Where the cursor goes. `header`, and `query` for a page that reads from another origin: an
   * `EventSource` needs no preflight, and so this one does not either.
   */
  readonly presentCursor?: "header" | "query";
}

/** What a `verdict` event tells: how the server judged the cursor when the connection opened. */
export interface VerdictDetail {
  /** Why. */
  readonly verdict: Verdict;
  /** Whether every missed frame follows. The only field to branch on. */
  readonly resumed: boolean;
  /** Whether frames follow that make up for what is missing. */
  readonly repair: boolean;
  /** The epoch of the server's sequence. */
  readonly epoch: string;
  /** The oldest offset that the server can replay, in decimal; `"0"` when it holds nothing. */
  readonly floor: string;
  /** The newest offset, in decimal. */
  readonly head: string;
}

/** The events that are not the server's, and `message`. */
export interface ResumingEventSourceEventMap {
  /** A connection opened. */
  readonly open: Event;
  /** A connection was lost, or could not be made; `readyState` says whether for good. */
  readonly error: Event;
  /** An event without a name. */
  readonly message: MessageEvent<string>;
  /** After each `open`. */
  readonly verdict: CustomEvent<VerdictDetail>;
  /** The server dropped events for this connection, because it was read too slowly. */
  readonly lag: CustomEvent<Lag>;
}
