/**
 * What a hub is to those who use it.
 *
 * @module
 */
import type {
  DisconnectTarget,
  DrainOptions,
  PublishEvent,
  ServeOptions,
  Siblings,
  SubscribeOptions,
  Subscription,
} from "./call_types.ts";
import type { DigestOptions, Resolver } from "./digest.ts";
import type { HubMetrics } from "./metrics.ts";
import type { PresenceSnapshot } from "./presence.ts";

export type {
  ConnectionInfo,
  DisconnectTarget,
  DrainOptions,
  HistoryRequest,
  OutgoingEvent,
  PublishEvent,
  RecalledEvent,
  ServeOptions,
  Siblings,
  SubscribeOptions,
  Subscription,
  Writer,
} from "./call_types.ts";

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

/**
 * Whether a hub takes newcomers.
 *
 * - `serving`: yes.
 * - `lame_duck`: still, but it is about to leave: its readiness has failed.
 * - `draining`: no; those who are there are being sent away.
 * - `stopped`: no; it shuts down, or has.
 */
export type HubState = "serving" | "lame_duck" | "draining" | "stopped";

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

  /**
   * Says that events from other pods were lost on their way here. It consumes one offset, and no cursor
   * from before it is `resumed` any more. Whoever is connected is told: by `sse:lag` with `missed: null`
   * at exactly this place, if they declared it; the others get on without ids and are sent away within
   * `spreadMs`, so that they come back with the cursor from before it and are told `gap_floor`.
   *
   * `joinRelay` calls it; a relay of your own does so where it knows of a loss.
   *
   * @param options `spreadMs`: over how many milliseconds those are sent away who must be; 0.
   * @returns The offset; 0 after shutdown.
   * @throws {ConfigError} When `spreadMs` is not a whole number from 0; nothing has changed then.
   */
  gap(options?: { readonly spreadMs?: number }): number;
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
   * 400 `sse_topics`; 403 `sse_expired` when its authority has ended already.
   * @throws {TypeError} When `history` holds anything but a whole number from 0, or `expiresAt` is no
   * time.
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

  /**
   * Says whose a live connection is.
   *
   * @param connection The connection's id.
   * @returns The user of {@linkcode ServeOptions.user}; `""` for nobody; `null` when there is no such
   * connection.
   */
  ownerOf(connection: string): string | null;

  /**
   * Puts off, or forward, when a connection's authority ends.
   *
   * @param connection The connection's id.
   * @param expiresAt In milliseconds since the Unix epoch; `Infinity` for never.
   * @returns Whether there is such a connection.
   * @throws {TypeError} When it is no time.
   */
  extend(connection: string, expiresAt: number): boolean;

  /**
   * Takes an event that another pod published: it is delivered here like one of this hub's own, and not
   * handed to the siblings again.
   *
   * @param event The event. A hub over a journal takes ephemeral ones only: the others reach it by the
   * journal.
   * @returns Its offset here; 0 for an ephemeral event, and for any after shutdown.
   * @throws What {@linkcode Hub.publish} throws; and a {@linkcode TypeError} for an event that must come
   * by the journal.
   */
  ingest(event: PublishEvent): number;

  /**
   * Hands the events that are published here to siblings on other pods: a plain hub's all, those of a
   * hub over a journal when they are ephemeral. One at a time.
   *
   * @param siblings Who carries them; `joinRelay` passes its own.
   * @returns Ends it.
   * @throws {TypeError} When the hub has siblings already.
   */
  relayTo(siblings: Siblings): () => void;

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

  /** Whether it takes newcomers: what a readiness probe asks (`serving`: ready). */
  readonly state: HubState;

  /**
   * Leaves without a hurry, as a rolling deploy wants it: fails its readiness, goes on serving for a
   * while, then refuses newcomers (503 with `Retry-After: 1`), sends its clients away one by one
   * (`retry: 1000`, `sse:reset` `shutdown`), and shuts down. A second call joins the first; a shutdown
   * meanwhile ends it at once.
   *
   * @param options How long each part may take.
   * @returns Settles when the last stream has ended.
   * @throws {ConfigError} When a number is out of bounds.
   */
  drain(options?: DrainOptions): Promise<void>;

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
