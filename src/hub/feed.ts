/**
 * Which frames a connection is given next, and from where.
 *
 * A feed has a position, the last offset it gave, and two modes. *Live*, frames are queued as they
 * are published. *Catching up*, nothing is queued: it reads what matches after its position from the
 * log, and turns live in the same turn in which its position equals the head. The replay on connect
 * and the refill of a client that fell behind are this one mechanism, so the seam is exact: nothing
 * lost, nothing twice, nothing at or below the position.
 *
 * @module
 */
import { lagFrames } from "../wire/control.ts";
import { RESET_WRITE_TIMEOUT_MS } from "../wire/timing.ts";
import { MAX_CHUNK_BYTES } from "./joiner.ts";
import type { EventLog } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { HubSettings } from "./options.ts";
import { FrameQueue } from "./queue.ts";
import type { Frame } from "./ring.ts";
import type { Turn } from "./turn.ts";
import type { Judgement } from "./verdict.ts";

/** What a feed reads, and whom it tells. */
export interface FeedSource {
  readonly settings: HubSettings;
  readonly log: EventLog;
  readonly metrics: Metrics;
  readonly turn: Turn;
}

/** The frames of one connection. */
export class Feed {
  readonly #source: FeedSource;
  readonly #topics: readonly string[] | null;
  readonly #maySkip: boolean;
  readonly #queue: FrameQueue;
  #catching: boolean;
  #position: number;
  /** While catching up: how many matching, durable frames were published and not given yet. */
  #owed: number;
  /** Since when the queue has been over its bound, on the monotonic clock. */
  #overSince: number | null = null;
  #lost = false;

  /**
   * @param source What it reads.
   * @param topics The connection's topics; `null` for everything.
   * @param maySkip Whether a hole is told and passed; otherwise it is the end.
   * @param judgement Where it starts, and how many frames it owes already.
   */
  constructor(
    source: FeedSource,
    topics: readonly string[] | null,
    maySkip: boolean,
    judgement: Judgement,
  ) {
    const { clientBuffer, clientBufferBytes } = source.settings;
    this.#source = source;
    this.#topics = topics;
    this.#maySkip = maySkip;
    this.#queue = new FrameQueue(clientBuffer, clientBufferBytes);
    this.#position = judgement.position;
    this.#owed = judgement.missed;
    this.#catching = judgement.missed > 0;
  }

  /** How many frames are queued. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Whether more frames are queued than the bound allows in the long run. */
  get over(): boolean {
    return this.#queue.over;
  }

  /** Whether it reads from the log. */
  get catching(): boolean {
    return this.#catching;
  }

  /** Whether it has frames to give. */
  get waiting(): boolean {
    return this.#catching || this.#queue.length > 0;
  }

  /** Whether it came to a hole that it may not pass. */
  get lost(): boolean {
    return this.#lost;
  }

  /**
   * Takes a frame that was just published.
   *
   * @param frame The frame.
   * @param taking Whether the peer would take a chunk now: then it is the publisher that is fast, and
   * only the bound of bytes holds.
   * @returns `queued` when it waits; `full` when the client is behind; `passed` when catching up will
   * find it, or when it was ephemeral and there was no place.
   */
  offer(frame: Frame, taking: boolean): "queued" | "passed" | "full" {
    if (this.#catching) {
      if (frame.offset !== 0) this.#owed++;
      return "passed";
    }
    const outcome = this.#queue.push(frame, taking || !this.overdue(frame.born));
    if (outcome === "dropped") return "passed";
    if (!taking) this.noteOver(frame.born);
    return outcome;
  }

  /**
   * Notes whether more frames wait than the bound allows, now that the peer takes none.
   *
   * @param now The monotonic time.
   */
  noteOver(now: number): void {
    if (this.#queue.over && !this.#catching) this.#overSince ??= now;
  }

  /**
   * Whether more frames have waited than the bound allows, for longer than a burst lasts. A publisher
   * that publishes in a loop gives no client a chance to take anything meanwhile: within 250 ms it is
   * the burst that is fast, not the client that is slow. The bound of bytes holds at once.
   *
   * @param now The monotonic time.
   */
  overdue(now: number): boolean {
    return this.#overSince !== null && now - this.#overSince >= RESET_WRITE_TIMEOUT_MS;
  }

  /**
   * Stops queueing, and catches up once the queue has been given: only what the log no longer holds
   * by then is lost.
   *
   * @param owed How many frames found no place in the queue.
   */
  fallBehind(owed: number): void {
    this.#catching = true;
    this.#owed = owed;
    this.#overSince = null;
  }

  /** Forgets everything. */
  clear(): void {
    this.#queue.clear();
    this.#catching = false;
    this.#overSince = null;
  }

  /**
   * Takes frames from the front of the queue.
   *
   * @param room How many bytes they may have.
   * @param first Whether the first is taken whatever its size.
   * @returns The frames.
   */
  dequeue(room: number = MAX_CHUNK_BYTES, first: boolean = true): readonly Frame[] {
    const frames = this.#queue.take(room, first);
    if (!this.#queue.over) this.#overSince = null;
    const oldest = frames[0];
    if (oldest === undefined) return frames;
    this.#source.metrics.wrote(frames.length, this.#source.turn.now() - oldest.born);
    for (let i = frames.length - 1; i >= 0; i--) {
      const offset = frames[i]?.offset ?? 0;
      if (offset === 0) continue;
      this.#position = offset;
      break;
    }
    return frames;
  }

  /**
   * Puts frames into a chunk: from the queue, then, when catching up, from the log.
   *
   * @param parts The chunk being made; its first part is put whatever its size.
   * @param room How many bytes it may still take.
   */
  put(parts: Uint8Array[], room: number): void {
    if (this.#queue.length > 0) {
      for (const frame of this.dequeue(room, parts.length === 0)) {
        parts.push(frame.bytes);
        room -= frame.bytes.length;
      }
      if (this.#queue.length > 0) return;
    }
    if (this.#catching && room > 0) this.#catchUp(parts, room);
  }

  #catchUp(parts: Uint8Array[], room: number): void {
    const { log, metrics } = this.#source;
    if (!this.#passHole(parts)) return;
    let given = 0;
    let more = false;
    for (const frame of log.matching(this.#position, this.#topics)) {
      const fits = parts.length === 0 || frame.bytes.length <= room ||
        (given === 0 && frame.bytes.length > MAX_CHUNK_BYTES);
      more = room <= 0 || !fits;
      if (more) break;
      parts.push(frame.bytes);
      room -= frame.bytes.length;
      this.#position = frame.offset;
      given++;
    }
    metrics.wrote(given, null);
    this.#owed -= given;
    if (more) return;
    this.#position = log.head;
    this.#owed = 0;
    this.#catching = false;
  }

  /**
   * Says, exactly where it stands, what the log no longer holds. Frames are evicted oldest first, so
   * a hole begins at the position, and every frame that is still held stands after it.
   */
  #passHole(parts: Uint8Array[]): boolean {
    const { log, metrics } = this.#source;
    const evicted = log.evictedFor(this.#topics);
    if (evicted <= this.#position) return true;
    const held = log.count(evicted, this.#topics);
    const missed = this.#owed - held;
    if (missed > 0) {
      if (!this.#maySkip) {
        this.#lost = true;
        return false;
      }
      const [from, to] = [log.cursor(this.#position), log.cursor(evicted)];
      parts.push(lagFrames({ missed, from, to }));
      metrics.lagged(missed);
      this.#owed = held;
    }
    this.#position = evicted;
    return true;
  }
}
