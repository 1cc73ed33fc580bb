/**
 * What leaves for one connection next, as one chunk: its own notes, a keepalive, frames.
 *
 * @module
 */
import { joinBytes } from "../wire/frame.ts";
import type { CatchUpEnd } from "./catch_up.ts";
import type { ConnectionHome } from "./connection_home.ts";
import type { Feed } from "./feed.ts";
import { MAX_CHUNK_BYTES } from "./joiner.ts";
import type { Stage } from "./opening.ts";
import type { Outbox } from "./outbox.ts";
import type { FailedWrite } from "./presence.ts";

/** What may come up while a chunk is made. */
export interface ChunkEvents {
  /** Nothing more is owed. Returns the stage from now on. */
  caughtUp(): Stage;
  /** The feed cannot go on. What the chunk holds already still leaves. */
  stopped(end: CatchUpEnd): void;
}

/** Makes the chunks of one connection. */
export class ChunkMaker {
  readonly #home: Pick<ConnectionHome, "joiner" | "keepalive" | "log">;
  readonly #feed: Feed;
  readonly #outbox: Outbox;
  readonly #events: ChunkEvents;
  /** Whether a keepalive is owed. */
  keepaliveDue = false;
  /** Whether the connection was never told where it stands. */
  #idDue = true;
  #writing: FailedWrite = "frame";

  /**
   * @param home What all connections of the hub share.
   * @param feed The connection's frames.
   * @param outbox Its notes.
   * @param events Who is told.
   */
  constructor(
    home: Pick<ConnectionHome, "joiner" | "keepalive" | "log">,
    feed: Feed,
    outbox: Outbox,
    events: ChunkEvents,
  ) {
    this.#home = home;
    this.#feed = feed;
    this.#outbox = outbox;
    this.#events = events;
  }

  /** What the chunk that was made last was, should its write fail. */
  get writing(): FailedWrite {
    return this.#writing;
  }

  /** What the write that waits is, should it wait for too long. */
  get waiting(): FailedWrite {
    if (this.#outbox.hasPromise) return "hook";
    return !this.#outbox.empty || this.#feed.waiting ? "frame" : "keepalive";
  }

  /** Owes nothing but the notes any more. */
  clear(): void {
    this.keepaliveDue = false;
    this.#idDue = false;
  }

  /**
   * The next chunk.
   *
   * @param stage How far the connection's opening has come.
   * @returns Its bytes; `null` when there is nothing to send.
   */
  next(stage: Stage): Uint8Array | null {
    const rest = this.#outbox.next();
    if (rest !== null) return rest;
    const flowing = stage === "flow" && !this.#feed.catching;
    const plain = this.#outbox.empty && !this.keepaliveDue && !this.#idDue;
    if (flowing && plain && !this.#feed.withholding) {
      // The way of nearly every chunk: frames only, joined once for all who wait for the same.
      if (this.#feed.queued === 0) return null;
      this.#writing = "frame";
      return this.#outbox.cut(this.#home.joiner.join(this.#feed.dequeue()));
    }
    const parts: Uint8Array[] = [];
    this.#writing = this.waiting;
    const room = this.#outbox.moveTo(parts, MAX_CHUNK_BYTES);
    if (this.keepaliveDue && room > 0) {
      if (flowing && this.#feed.queued === 0) this.#putId(parts);
      parts.push(this.#home.keepalive);
      this.keepaliveDue = false;
    }
    if (room > 0 && (stage === "replay" || stage === "flow")) this.#putFrames(parts, room);
    return parts.length === 0 ? null : this.#outbox.cut(joinBytes(parts));
  }

  #putFrames(parts: Uint8Array[], room: number): void {
    this.#feed.put(parts, room);
    if (this.#feed.end !== null) return this.#events.stopped(this.#feed.end);
    if (this.#feed.waiting) return;
    if (this.#events.caughtUp() === "flow" && this.#idDue) this.#putId(parts);
  }

  /** Tells a reader of quiet topics where it stands: nothing before the head is still to come. */
  #putId(parts: Uint8Array[]): void {
    if (!this.#feed.withholding) parts.push(this.#home.log.idOnly());
    this.#idDue = false;
  }
}
