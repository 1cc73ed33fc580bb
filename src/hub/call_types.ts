/**
 * What an application hands to a hub.
 *
 * @module
 */
import type { Hello, Verdict } from "../wire/hello.ts";

/** An event to publish. */
export interface PublishEvent {
  /** Who receives it: `""` or none reaches everybody, a topic those that listen to it. */
  readonly topic?: string;
  /** The `event:` field; `""` or none is what a browser calls `message`. */
  readonly name?: string;
  /**
   * The payload: a string, or bytes of UTF-8 that are read at once. It is split on CRLF, CR and LF
   * into one `data:` line each. Too large? Publish a small event that tells the client to fetch.
   */
  readonly data: string | Uint8Array;
  /**
   * Whether nobody will miss it later: it gets no offset and no id, stands in no ring, and is the
   * first to be dropped when a client is behind.
   */
  readonly ephemeral?: boolean;
}

/** Writes frames to one connection, from its connect hook or its repair. They carry no id. */
export interface Writer {
  /**
   * Writes one frame.
   *
   * @param name The event's name, with the checks of {@linkcode Hub.publish}.
   * @param data The event's data, with the checks of {@linkcode Hub.publish}.
   * @returns Settles when the runtime has taken the frame.
   * @throws {ConnectionGoneError} When the connection ended, as when the peer stopped reading.
   */
  event(name: string, data: string | Uint8Array): Promise<void>;
}

/** How much of a topic's past is wanted: all that is kept, the last so many, or so long. */
export type HistoryRequest =
  | true
  | { readonly last: number }
  | { readonly sinceMs: number };

/** An event that an application recalls from a log of its own. */
export interface RecalledEvent {
  /** The event's name, with the checks of {@linkcode Hub.publish}. */
  readonly name?: string;
  /** The event's data, with the checks of {@linkcode Hub.publish}. */
  readonly data: string | Uint8Array;
}

/** Options of {@linkcode StreamHub.subscribe}. */
export interface SubscribeOptions {
  /**
   * What the topic said before, from a log of the application's own: called once the topic is
   * subscribed, instead of `history` and `after`. What is published while it is recalled may stand in
   * that log already, and the log's offsets are not the hub's; so the newest 512 recalled events are
   * remembered by their content, and one that comes live with the same name and data is taken for one
   * of them, once. Events that could be equal need something that tells them apart: an id, a time. A
   * throw ends the connection, which comes back.
   */
  readonly recall?: () => AsyncIterable<RecalledEvent>;
  /**
   * What the topic said before: frames without an id, between `sse:history` begin and end, before
   * anything that is published from now on.
   */
  readonly history?: HistoryRequest;
  /**
   * A cursor after which the topic may have been missed. If it can be resumed, what followed it is sent
   * like a history.
   */
  readonly after?: string;
}

/** How a topic was subscribed on a live connection. */
export interface Subscription {
  /** How the cursor `after` was judged, for this topic alone; `fresh` without one. */
  readonly verdict: Verdict;
  /** The offset after which the topic is received live. */
  readonly head: number;
}

/** Options of {@linkcode StreamHub.serve}. */
export interface ServeOptions {
  /**
   * What the connection listens to: broadcasts, and events of these topics. None, an empty list or
   * only `""` means **everything**: so do not pass a missing query value through unless everybody
   * may see everything.
   */
  readonly topics?: readonly string[];
  /**
   * Called after hello and replay were handed to the stream, before live frames. What is published
   * meanwhile waits. A throw ends the connection with the cause `hook_failed`.
   */
  onConnect?(writer: Writer, hello: Hello): void | Promise<void>;
  /**
   * The application's key for the client, `[A-Za-z0-9_-]{1,64}`. `null` and `""` mean none, so a
   * request header may be passed through; anything else is treated as absent, with one warning.
   */
  readonly clientTag?: string | null;
  /**
   * Called after any verdict but `fresh` and `resumed`: writes the current state of the topics, so
   * that the client is repaired in place. The frames stand between `sse:snapshot` begin and end.
   */
  repair?(topics: readonly string[], hello: Hello, writer: Writer): void | Promise<void>;
  /**
   * What the topics said before, after any verdict but `resumed`, and after the connect hook: frames
   * without an id, between `sse:history` begin and end for each topic. Without topics it does nothing.
   */
  readonly history?: HistoryRequest;
  /**
   * Whose connection it is: the user's id, as your authentication or a ticket's claims have it. Commands
   * that reach the connection by its id (a subscription, say) are obeyed for this user alone. `""`, the
   * default, is nobody.
   */
  readonly user?: string;
  /**
   * When its authority ends, in milliseconds since the Unix epoch; never by default. A minute before, or
   * at once when less is left, the client is told (`sse:expiring`); then the stream ends, unless
   * {@linkcode StreamHub.extend} has put it off.
   */
  readonly expiresAt?: number;
  /**
   * The second argument that the runtime gave your handler: Bun's server (its idle timeout is turned
   * off for the stream) or Deno's info (shutdown waits until the goodbye was flushed). The request
   * must be the runtime's own then: for a copy of it Bun's server does nothing.
   */
  readonly host?: unknown;
}

/** What a connection is known by when the application chooses whom to disconnect. */
export interface ConnectionInfo {
  /** The unguessable id. */
  readonly connection: string;
  /** The application's tag; `""` when there is none. */
  readonly tag: string;
  /** Its topics; empty when it receives everything. */
  readonly topics: readonly string[];
  /** Whose it is; `""` for nobody. */
  readonly user: string;
}

/** Whom to disconnect: exactly one of the four. */
export type DisconnectTarget =
  | { readonly connection: string }
  | { readonly tag: string }
  | { readonly topic: string }
  | { readonly where: (info: ConnectionInfo) => boolean };

/** How a hub leaves without a hurry, as {@linkcode StreamHub.drain} takes it. */
export interface DrainOptions {
  /**
   * For how long the hub still serves everybody while {@linkcode StreamHub.state} says `lame_duck`, so
   * that a balancer which asks for its readiness can look elsewhere, in milliseconds; 5000; from 0.
   */
  readonly lameDuckMs?: number;
  /**
   * Over how many milliseconds its clients are sent away then, so that they do not come back in the same
   * second; 3000; from 0.
   */
  readonly spreadMs?: number;
  /** Ends the waiting early: whoever is still there is told at once. */
  readonly signal?: AbortSignal;
}

/** An event on its way to the siblings of a hub: checked, and accepted. */
export interface OutgoingEvent {
  /** Who receives it; `""` for a broadcast. */
  readonly topic: string;
  /** The `event:` field; `""` for none. */
  readonly name: string;
  /** The payload, well-formed Unicode. */
  readonly data: string | Uint8Array;
  /** Whether nobody will miss it later. */
  readonly ephemeral: boolean;
}

/** Who carries a hub's events to its siblings on other pods. `joinRelay` makes one. */
export interface Siblings {
  /**
   * Called before an event reaches anybody here: what cannot be carried must not reach one pod only. It
   * must not publish.
   *
   * @param event The event, its data not checked yet.
   * @throws When it cannot be carried; then nobody receives it.
   */
  check(event: OutgoingEvent): void;
  /**
   * Called after the clients here were offered it, in the same turn. Must not throw.
   *
   * @param event The event.
   */
  send(event: OutgoingEvent): void;
}
