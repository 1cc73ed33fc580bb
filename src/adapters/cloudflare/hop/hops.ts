/**
 * The hop's connections in their object: those that its memory knows, and those it finds again when it
 * wakes.
 *
 * @module
 */
import type { HubSettings } from "../../../hub/options.ts";
import type { DepartureCause, PresenceEvent } from "../../../hub/presence.ts";
import { topicNames } from "../../../hub/topics.ts";
import type { Journal } from "../../../journal/journal.ts";
import { errorForLog } from "../../../wire/text.ts";
import { ALIVE_WINDOW_BEATS } from "../../../wire/timing.ts";
import { HopConnection } from "./connection.ts";
import { HopFeed } from "./feed.ts";
import { acceptHop, type HopSocket, type HopState, portOf, savedOf } from "./socket.ts";
import { type HopRow, HopTable } from "./table.ts";
import type { HopSaved } from "./types.ts";
import { CLOSE, HOP_TAG, PING, PONG, readAck } from "./wire.ts";

/** What an object's hop is made of. */
export interface HopParts {
  /** The object's state. */
  readonly state: HopState;
  /** Its journal, which nobody else writes to. */
  readonly journal: Journal;
  /** Its hub's settings. */
  readonly settings: HubSettings;
}

/** The hop of one object. */
export class Hops {
  readonly journal: Journal;
  readonly settings: HubSettings;
  readonly table: HopTable;
  readonly feed: HopFeed;
  /** Those that have not ended. */
  readonly connections: Iterable<HopConnection>;
  /** The most clients at once, of the hub's and of these together. */
  maxClients: number;
  /** For how many milliseconds a tag counts as alive without an acknowledgement. */
  aliveMs: number;
  readonly #state: HopState;
  readonly #bySocket = new Map<HopSocket, HopConnection>();
  readonly #byId = new Map<string, HopConnection>();

  /**
   * Finds again what stands in the tables and in the sockets' attachments.
   *
   * @param parts What it is made of.
   * @param from Where the journal stands.
   */
  constructor(
    { state, journal, settings }: HopParts,
    from: { readonly epoch: string; readonly head: number },
  ) {
    this.#state = state;
    this.journal = journal;
    this.settings = settings;
    this.maxClients = settings.maxClients;
    this.aliveMs = ALIVE_WINDOW_BEATS * settings.keepaliveMs;
    this.table = new HopTable(state.storage);
    this.connections = { [Symbol.iterator]: () => this.#byId.values() };
    this.feed = new HopFeed(journal, from, this.connections, settings);
    const rows = new Map(this.table.all().map((row) => [row.connection, row]));
    for (const socket of state.getWebSockets(HOP_TAG)) {
      const saved = savedOf(socket);
      const row = saved === null ? undefined : rows.get(saved.connection);
      // Its Worker asks for it again, and is told that it is not known.
      if (saved === null || row === undefined) portOf(socket, () => {}).close(false, "dead");
      else this.#add(socket, row, saved);
    }
    const now = settings.clock.now();
    for (const id of rows.keys()) if (!this.#byId.has(id)) this.table.lose(id, now);
    this.feed.follow();
    for (const connection of this.connections) connection.pump();
  }

  /** How many have not ended. */
  get size(): number {
    return this.#byId.size;
  }

  /** @param id A connection's id. */
  find(id: string): HopConnection | undefined {
    return this.#byId.get(id);
  }

  /**
   * Takes a socket for a connection.
   *
   * @param socket The object's end.
   * @param row Who it is.
   * @param saved Where it stands.
   * @returns The connection.
   */
  accept(socket: HopSocket, row: HopRow, saved: HopSaved): HopConnection {
    // Its Worker has given the other socket up, whether or not that is known here.
    this.#byId.get(row.connection)?.leave(true);
    const gone = this.table.sweep(this.settings.clock.now());
    for (const one of gone) this.tell({ row: one }, { kind: "disconnected", cause: "dead" });
    acceptHop(this.#state, socket);
    socket.serializeAttachment(saved);
    this.feed.follow();
    return this.#add(socket, row, saved);
  }

  /**
   * Hears a Worker.
   *
   * @param socket Which.
   * @param message What it says.
   */
  message(socket: HopSocket, message: unknown): void {
    this.feed.follow();
    const taken = readAck(message);
    if (taken !== null) this.#bySocket.get(socket)?.ack(taken);
    // Where the application has an answer of its own for the platform to give.
    else if (message === PING) portOf(socket, () => {}).send(PONG);
  }

  /**
   * Hears that a socket was closed.
   *
   * @param socket Which.
   * @param code Why.
   */
  closed(socket: HopSocket, code: number): void {
    const kept = code !== CLOSE.done && code !== CLOSE.stalled;
    const cause = code === CLOSE.stalled ? "dead" : "closed";
    const connection = this.#bySocket.get(socket);
    if (connection !== undefined) return connection.leave(kept, cause);
    const id = savedOf(socket)?.connection;
    if (kept || id === undefined || this.#byId.has(id)) return;
    const row = this.table.get(id);
    if (row === undefined) return;
    this.table.remove(id);
    this.tell({ row }, departure(cause));
  }

  /** Tells the application of an arrival or a departure: in a later microtask, as a hub does. */
  tell(
    { row }: Pick<HopConnection, "row">,
    what: Pick<PresenceEvent, "kind" | "verdict" | "cause" | "write">,
  ): void {
    const { onPresence, clock, logger } = this.settings;
    if (onPresence === null) return;
    const { connection, tag, topics } = row;
    const { epoch } = this.feed;
    const event = { at: clock.now(), topics: topicNames(topics), epoch, tag, connection, ...what };
    Promise.resolve().then(() => onPresence(event)).catch((error: unknown) => {
      logger.error(`The presence hook failed: ${errorForLog(error)}`);
    });
  }

  #add(socket: HopSocket, row: HopRow, saved: HopSaved): HopConnection {
    const port = portOf(socket, (kept, cause) => this.#remove(socket, connection, kept, cause));
    const connection: HopConnection = new HopConnection(this.feed, port, row, saved);
    this.#bySocket.set(socket, connection);
    this.#byId.set(row.connection, connection);
    return connection;
  }

  #remove(
    socket: HopSocket,
    connection: HopConnection,
    kept: boolean,
    cause: DepartureCause,
  ): void {
    const id = connection.row.connection;
    this.#bySocket.delete(socket);
    if (this.#byId.get(id) === connection) this.#byId.delete(id);
    try {
      if (kept) return this.table.lose(id, this.settings.clock.now());
      this.table.remove(id);
    } catch (error) {
      // It is swept when the object wakes the next time.
      this.settings.logger.error(`A connection's rows were not deleted: ${errorForLog(error)}`);
    }
    this.tell(connection, departure(cause));
  }
}

/** What the application is told; a client that took nothing is seen by a frame that it did not take. */
function departure(cause: DepartureCause): Pick<PresenceEvent, "kind" | "cause" | "write"> {
  return { kind: "disconnected", cause, ...(cause === "dead" && { write: "frame" }) };
}
