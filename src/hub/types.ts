/**
 * What a hub is to those who use it.
 *
 * @module
 */
import type { Hello, Verdict } from "../wire/hello.ts";
import type { DigestOptions, Resolver } from "./digest.ts";
import type { HubMetrics } from "./metrics.ts";
import type { PresenceSnapshot } from "./presence.ts";

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
   * The second argument that the runtime gave your handler: Bun's server (its idle timeout is turned
   * off for the stream) or Deno's info (shutdown waits until the goodbye was flushed). The request
   * must be the runtime's own then: for a copy of it Bun's server does nothing.
   */
  readonly host?: unknown;
}

/** A hub's replay window at one instant. */
export interface Position {
  /** The epoch of the sequence. */
  readonly epoch: string;
  /** The oldest offset that can be replayed; 0 when there is none. */
  readonly floor: number;
  /** The newest offset; 0 before the first event. */
  readonly head: number;
}

/** One event in the ring, as {@linkcode StreamHub.snapshot} copies it. */
export interface RingEvent {
  /** When it was published, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** The event; its data is text whose line ends are LF. */
  readonly event: { readonly topic: string; readonly name: string; readonly data: string };
  /** Its offset. */
  readonly offset: number;
}

/** What a connection is known by when the application chooses whom to disconnect. */
export interface ConnectionInfo {
  /** The unguessable id. */
  readonly connection: string;
  /** The application's tag; `""` when there is none. */
  readonly tag: string;
  /** Its topics; empty when it receives everything. */
  readonly topics: readonly string[];
}

/** Whom to disconnect: exactly one of the four. */
export type DisconnectTarget =
  | { readonly connection: string }
  | { readonly tag: string }
  | { readonly topic: string }
  | { readonly where: (info: ConnectionInfo) => boolean };

/** A broadcast hub for Server-Sent Events whose clients resume from an exact position. */
export interface Hub extends StreamHub {
  /**
   * Publishes an event to all who listen to it, without waiting for any of them.
   *
   * @param event What to publish.
   * @returns Its offset; 0 for an ephemeral event, and for any after shutdown, which is dropped.
   * @throws {TypeError} When the name is not one that an application may use.
   * @throws {TopicError} When the topic is outside the grammar.
   * @throws {InvalidUtf8Error} When the data is not valid Unicode.
   * @throws {FrameTooLargeError} When the encoded frame is above 1 MiB. A refused event consumes no
   * offset.
   */
  publish(event: PublishEvent): number;
}

/** What every hub does, whoever numbers its events: all but publishing. */
export interface StreamHub {
  /**
   * {@linkcode StreamHub.serve} without options, bound: `Deno.serve(hub.handler)`,
   * `export default { fetch: hub.handler }`. Of the second argument it reads only `timeout` (Bun's
   * server) and `completed` (Deno's info). A third argument with `waitUntil` is a Worker's module
   * scope, where a hub cannot live: 500 `streaming_unsupported`.
   */
  readonly handler: (request: Request, host?: unknown, context?: unknown) => Response;

  /**
   * Serves one stream.
   *
   * @param request A GET; a HEAD is answered with the head alone, anything else with 405.
   * @param options What the connection listens to, and its hooks.
   * @returns The stream; or 405 `sse_method`, 503 `sse_unavailable` (over the cap or after shutdown),
   * 400 `sse_topics`.
   * @throws {TypeError} When `history` holds anything but a whole number from 0.
   */
  serve(request: Request, options?: ServeOptions): Response;

  /** The replay window now, after what is too old has been evicted. */
  position(): Position;

  /** A copy of the ring, oldest first: for diagnosis. */
  snapshot(): RingEvent[];

  /** How many clients are connected and not evicted; after shutdown, those still draining. */
  readonly clientCount: number;

  /** How many frames wait, summed over the clients. */
  readonly queuedFrames: number;

  /**
   * Replaces the cap on clients. Lowering it evicts nobody.
   *
   * @param n The cap; 0 or less means none.
   */
  setMaxClients(n: number): void;

  /**
   * Ends connections: after a logout, say, or a ban. What refuses their return is the application.
   *
   * @param target Whom.
   * @returns How many there were.
   */
  disconnect(target: DisconnectTarget): number;

  /**
   * Lets a connection listen to one more topic. It is subscribed first, and what it said before is sent
   * then: nothing is missing in between, and nothing comes twice. Whether the client may listen is for
   * the application to know.
   *
   * @param connection The connection's id, which its hello says.
   * @param topic The topic.
   * @param options What is sent of the topic's past.
   * @returns The verdict and the head; `null` when there is no such connection.
   * @throws {TopicError} When the topic is outside the grammar, or the connection has 256.
   * @throws {TypeError} When `history` holds anything but a whole number from 0.
   * @throws {JournalError} When a journal was asked, and did not answer within 2 s. The topic is
   * subscribed all the same: ask again.
   */
  subscribe(
    connection: string,
    topic: string,
    options?: SubscribeOptions,
  ): Promise<Subscription | null>;

  /**
   * Lets a connection listen to a topic no longer. One that receives everything goes on to do so.
   *
   * @param connection The connection's id.
   * @param topic The topic.
   * @returns Whether it did listen to it.
   */
  unsubscribe(connection: string, topic: string): boolean;

  /** Who is connected. */
  presence(): PresenceSnapshot;

  /**
   * Answers acknowledgements: a POST whose `SSE-Client` header holds a tag marks it alive. 204; 400
   * `alive_invalid` without a valid tag; 405 `sse_method`.
   */
  readonly aliveHandler: (request: Request) => Response;

  /**
   * Replaces for how long an acknowledgement keeps a tag alive.
   *
   * @param ms The window in milliseconds; by default two keepalive intervals.
   */
  setAliveWindow(ms: number): void;

  /**
   * Makes a handler that tells a client which of the versions it holds are out of date. Mount it
   * behind your own authentication and time limit.
   *
   * @param resolve Answers one state for each subject that was asked.
   * @param options The bounds of a request.
   * @returns The handler.
   */
  digestHandler(
    resolve: Resolver,
    options?: DigestOptions,
  ): (request: Request) => Promise<Response>;

  /** Counters, gauges and a histogram; `openMetrics` writes them as text. */
  metrics(): HubMetrics;

  /**
   * Shuts down: refuses newcomers, tells each client `sse:reset`, and waits for the streams to end.
   * Each client's wait is bounded by a running hook and then the write timeout, at least 250 ms. A
   * second call joins the first.
   *
   * @param options `signal` ends the waiting early.
   * @returns Settles when the last stream has ended.
   * @throws The signal's reason, when it aborts first.
   */
  shutdown(options?: { readonly signal?: AbortSignal }): Promise<void>;
}
