/**
 * The roster: a hub's connections from their admission to the flush of their last byte, and what is
 * told of them meanwhile.
 *
 * @module
 */
import { keepaliveFrame } from "../wire/control.ts";
import { errorForLog } from "../wire/text.ts";
import { ALIVE_WINDOW_BEATS, RESET_WRITE_TIMEOUT_MS } from "../wire/timing.ts";
import type { Backlog } from "./backlog.ts";
import { Beats } from "./beats.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionHome, Departure } from "./connection_home.ts";
import { Drain } from "./drain.ts";
import { Expirations } from "./expirations.ts";
import { Fanout } from "./fanout.ts";
import { Joiner } from "./joiner.ts";
import type { JournalEntry } from "../journal/journal.ts";
import { EventLog } from "./log.ts";
import { Metrics } from "./metrics.ts";
import type { HubSettings } from "./options.ts";
import type { PresenceEvent } from "./presence.ts";
import { PresenceTable } from "./presence_table.ts";
import { spread } from "./spread.ts";
import { topicNames } from "./topics.ts";
import { Turn } from "./turn.ts";
import type { HubState, Position, PublishEvent, Siblings } from "./types.ts";

/** The connections of one hub. */
export class Roster implements ConnectionHome {
  readonly settings: HubSettings;
  readonly log: EventLog;
  readonly metrics: Metrics = new Metrics();
  readonly turn: Turn;
  readonly joiner: Joiner = new Joiner();
  readonly keepalive: Uint8Array;
  /** Those that receive. */
  readonly fanout: Fanout;
  /** Those that have not ended, the evicted that say goodbye included. */
  readonly drain: Drain = new Drain();
  /** The tags. */
  readonly tags: PresenceTable;
  /** The journal behind the ring; `null` where there is none. */
  backlog: Backlog | null = null;
  /** The most connections that receive at once. */
  maxClients: number;
  /** Whether it has been warned that the runtime may cut its streams. */
  warned = false;
  /** Who carries what is published here to other pods. */
  siblings: Siblings | null = null;
  /** When connections' authority ends. */
  readonly expirations: Expirations;
  readonly #ending = new AbortController();
  #state: HubState = "serving";
  readonly #beats: Beats;
  readonly #byId = new Map<string, Connection>();
  #stopping: Promise<void> | null = null;

  /** @param settings The hub's settings. */
  constructor(settings: HubSettings) {
    this.settings = settings;
    this.turn = new Turn(settings.clock);
    this.fanout = new Fanout(this.turn);
    this.log = new EventLog(settings);
    this.keepalive = keepaliveFrame(settings.keepaliveEvent);
    this.tags = new PresenceTable(ALIVE_WINDOW_BEATS * settings.keepaliveMs);
    this.maxClients = settings.maxClients;
    this.#beats = new Beats(settings.clock, settings.keepaliveMs);
    this.expirations = new Expirations(settings.clock);
  }

  /** Whether it has begun to shut down. */
  get stopping(): boolean {
    return this.#stopping !== null;
  }

  /** Whether it takes newcomers. */
  get state(): HubState {
    return this.#state;
  }

  /** Aborts when it begins to shut down. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Goes on to leave. It never goes back.
   *
   * @param state What it is from now on.
   */
  announce(state: "lame_duck" | "draining"): void {
    if (!this.stopping) this.#state = state;
  }

  /** Whether another connection would be one too many. */
  get full(): boolean {
    return this.fanout.size >= this.maxClients;
  }

  /**
   * Registers a connection: from this turn on it misses nothing.
   *
   * @param connection The connection.
   */
  admit(connection: Connection): void {
    this.#byId.set(connection.identity.id, connection);
    this.fanout.add(connection);
    this.drain.add(connection);
    this.#beats.add(connection);
  }

  /** The replay window, the journal's included. */
  position(): Position {
    const position = this.log.position();
    return { ...position, floor: this.backlog?.floor || position.floor };
  }

  /**
   * Offers an event to all who listen: to those here first, then to the siblings.
   *
   * @param event The event.
   * @param siblings Who else gets it.
   * @returns Its offset; 0 for an ephemeral event, and for one that is dropped after shutdown.
   * @throws What {@linkcode Hub.publish} and {@linkcode Siblings.check} throw; nobody has it then.
   */
  publish(event: PublishEvent, siblings: Siblings | null): number {
    const frame = this.log.prepare(event);
    if (this.stopping) return 0;
    const { topic } = frame;
    const outgoing = siblings && {
      ...{ topic, name: event.name ?? "", data: event.data, ephemeral: frame.offset === 0 },
    };
    if (outgoing) siblings?.check(outgoing);
    this.log.commit(frame);
    this.metrics.published();
    this.fanout.offer(frame);
    if (outgoing) siblings?.send(outgoing);
    return frame.offset;
  }

  /**
   * Says that events from elsewhere are missing, to each connection in the way it understands.
   *
   * @param spreadMs Over how many milliseconds those are sent away who do not understand it.
   * @returns The offset of the gap; 0 after shutdown.
   */
  gap(spreadMs: number): number {
    if (this.stopping) return 0;
    const frame = this.log.gap();
    this.metrics.gapped();
    const undeclared = [...this.fanout].filter(({ identity }) => !identity.declaresLag);
    for (const connection of undeclared) connection.feed.withhold(frame.offset - 1);
    this.fanout.offer(frame);
    const { clock } = this.settings;
    void spread(clock, spreadMs, undeclared, (one) => one.shutdown(), this.ending);
    return frame.offset;
  }

  /**
   * Takes an entry of the journal, and offers it to all who listen.
   *
   * @param entry The entry; one that is known does no harm.
   */
  ingest(entry: JournalEntry): void {
    const frame = this.log.ingest(entry);
    if (frame === null) return;
    this.metrics.published();
    this.fanout.offer(frame);
  }

  /**
   * Goes over to another sequence of the journal: what each connection was owed is no longer known, so
   * all are sent away, and judged anew when they come back.
   *
   * @param epoch The epoch.
   * @param head The offset after which it goes on.
   */
  begin(epoch: string, head: number): void {
    this.log.begin(epoch, head);
    for (const connection of this.fanout) connection.turnAway();
  }

  /**
   * Finds a connection that has not ended.
   *
   * @param id Its id.
   */
  find(id: string): Connection | undefined {
    return this.#byId.get(id);
  }

  wake(connection: Connection): void {
    this.fanout.wake(connection);
  }

  arrived(connection: Connection): void {
    const { id, tag, topics } = connection.identity;
    this.tags.connected(tag, id, topics, this.settings.clock.monotonic());
    const verdict = connection.judgement?.verdict;
    this.#tell(connection, { kind: "connected", ...(verdict && { verdict }) });
  }

  left(connection: Connection): void {
    this.fanout.delete(connection);
  }

  departed(connection: Connection, departure: Departure): void {
    const { cause, write, greeted, abandoned, flushed, drop } = departure;
    this.#beats.delete(connection);
    this.expirations.delete(connection);
    this.#byId.delete(connection.identity.id);
    this.metrics.departed(cause);
    if (abandoned) this.metrics.abandoned();
    if (greeted) {
      this.tags.disconnected(connection.identity.tag, connection.identity.id);
      this.#tell(connection, { kind: "disconnected", cause, ...(write && { write }) });
    }
    this.drain.delete(connection, flushed && this.#bounded(flushed, drop));
  }

  /**
   * Ends every connection with a goodbye. A second call joins the first.
   *
   * @returns Settles when the last stream has ended.
   */
  stop(): Promise<void> {
    if (this.#stopping === null) {
      // Set first, so that nobody is admitted while the others are told.
      this.#stopping = Promise.resolve().then(() => this.drain.empty());
      this.#state = "stopped";
      for (const connection of this.fanout) connection.shutdown();
      this.#ending.abort();
    }
    return this.#stopping;
  }

  /** A peer that does not take its last bytes holds neither a shutdown nor its socket for ever. */
  #bounded(flushed: Promise<unknown>, drop: () => void): Promise<unknown> {
    const { clock, writeTimeoutMs } = this.settings;
    return new Promise((resolve) => {
      const timer = clock.after(
        Math.max(writeTimeoutMs, RESET_WRITE_TIMEOUT_MS),
        () => {
          drop();
          resolve(null);
        },
      );
      const settle = (): void => {
        timer.cancel();
        resolve(null);
      };
      flushed.then(settle, settle);
    });
  }

  /** In a later microtask: never inside `publish`, the fan-out or a shutdown. */
  #tell(
    connection: Connection,
    what: Pick<PresenceEvent, "kind" | "verdict" | "cause" | "write">,
  ): void {
    const { onPresence, clock, logger } = this.settings;
    if (onPresence === null) return;
    const { id, tag, topics } = connection.identity;
    const event: PresenceEvent = {
      at: clock.now(),
      topics: topicNames(topics),
      epoch: this.log.epoch,
      tag,
      connection: id,
      ...what,
    };
    Promise.resolve().then(() => onPresence(event)).catch((error: unknown) => {
      logger.error(`The presence hook failed: ${errorForLog(error)}`);
    });
  }
}
