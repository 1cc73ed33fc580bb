/**
 * Which frames a connection is given next, and from where.
 *
 * A feed has a position, the last offset it gave, and two modes. *Live*, frames are queued as they
 * are published. *Catching up*, nothing is queued: it reads what matches after its position, and turns
 * live in the same turn in which its position equals the head, so the seam is exact: nothing lost,
 * nothing twice, nothing at or below the position.
 *
 * @module
 */
import { RESET_WRITE_TIMEOUT_MS } from "../wire/timing.ts";
import { CatchUp, type CatchUpEnd, type CatchUpSource } from "./catch_up.ts";
import { type History, putFrame } from "./history.ts";
import { MAX_CHUNK_BYTES } from "./joiner.ts";
import type { HubSettings } from "./options.ts";
import { FrameQueue } from "./queue.ts";
import type { Frame } from "./ring.ts";
import type { Topics } from "./topics.ts";
import type { Turn } from "./turn.ts";
import type { Judgement } from "./verdict.ts";

/** What a feed reads, and whom it tells. */
export interface FeedSource extends CatchUpSource {
  readonly settings: HubSettings;
  readonly turn: Turn;
}

/** The frames of one connection. */
export class Feed {
  readonly #source: FeedSource;
  readonly #queue: FrameQueue;
  readonly #catchUp: CatchUp;
  /** Until it is started it queues nothing, either. */
  #catching = true;
  /** Since when the queue has been over its bound, on the monotonic clock. */
  #overSince: number | null = null;

  /**
   * @param source What it reads.
   * @param topics What the connection listens to; `null` for everything. It may change.
   * @param maySkip Whether a hole is told and passed; otherwise it is the end.
   * @param wake Called when frames that were waited for can be given.
   */
  constructor(source: FeedSource, topics: Topics, maySkip: boolean, wake: () => void) {
    const { clientBuffer, clientBufferBytes } = source.settings;
    this.#source = source;
    this.#queue = new FrameQueue(clientBuffer, clientBufferBytes);
    this.#catchUp = new CatchUp(source, topics, maySkip, wake);
  }

  /** @param judgement Where it starts, and how many frames it owes already. */
  start({ position, missed }: Judgement): void {
    this.#catchUp.position = position;
    this.#catchUp.owed = missed;
    this.#catching = missed > 0;
  }

  /** How many frames are queued. */
  get queued(): number {
    return this.#queue.length;
  }

  /** How many matching, durable frames it was offered while it queued none, and has not given. */
  get owed(): number {
    return this.#catchUp.owed;
  }

  /** Whether more frames are queued than the bound allows in the long run. */
  get over(): boolean {
    return this.#queue.over;
  }

  /** Whether it catches up. */
  get catching(): boolean {
    return this.#catching;
  }

  /** Whether it has frames to give. */
  get waiting(): boolean {
    return this.#catching || this.#queue.length > 0;
  }

  /** Why it cannot go on; `null` while it can. */
  get end(): CatchUpEnd | null {
    return this.#catchUp.end;
  }

  /** Whether it waits for the journal rather than for the peer. */
  get reading(): boolean {
    return this.#catching && this.#queue.length === 0 && this.#catchUp.reading;
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
      this.pass(frame);
      return "passed";
    }
    const outcome = this.#queue.push(frame, taking || !this.overdue(frame.born));
    if (outcome === "dropped") return "passed";
    if (!taking) this.noteOver(frame.born);
    return outcome;
  }

  /**
   * Takes note of a frame that was just published and is not queued.
   *
   * @param frame The frame.
   */
  pass(frame: Frame): void {
    if (this.#catching && frame.offset !== 0) this.#catchUp.owed++;
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
   * Stops queueing, and catches up once the queue has been given: only what nobody holds by then is
   * lost.
   *
   * @param owed How many frames found no place in the queue: the newest one, or none.
   */
  fallBehind(owed: 0 | 1): void {
    this.#catching = true;
    this.#overSince = null;
    this.#catchUp.owed = owed;
    // What matches and stands before it is in the queue, or was given: there is nothing to look for.
    this.#catchUp.settled = this.#source.log.head - owed;
  }

  /** How many histories wait to be given. */
  get histories(): number {
    return this.#catchUp.histories;
  }

  /**
   * Gives a topic's history: after what is queued, before whatever is published from now on.
   *
   * @param history The history.
   */
  recall(history: History): void {
    if (!this.#catching) this.fallBehind(0);
    this.#catchUp.recall(history);
  }

  /**
   * Gives up a history.
   *
   * @param history The history; one that was given already does no harm.
   */
  forgo(history: History): void {
    this.#catchUp.forgo(history);
  }

  /**
   * Takes note that a topic is no longer listened to.
   *
   * @param topic The topic.
   */
  unsubscribed(topic: string): void {
    if (this.#catching) this.#catchUp.unsubscribed(topic);
  }

  /** Whether frames go without their ids from some offset on. */
  get withholding(): boolean {
    return this.#catchUp.withheldAfter !== Infinity;
  }

  /**
   * Gives what comes without ids, for a connection that cannot be told that events are missing: it will
   * be sent away, and must come back with a cursor from before them.
   *
   * @param after The last offset whose frame keeps its id.
   */
  withhold(after: number): void {
    this.#catchUp.withheldAfter = Math.min(after, this.#catchUp.withheldAfter);
  }

  /** Forgets everything. */
  clear(): void {
    this.#queue.clear();
    this.#catchUp.clear();
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
      this.#catchUp.position = offset;
      break;
    }
    return frames;
  }

  /**
   * Puts frames into a chunk: from the queue, then, when catching up, from where they are kept.
   *
   * @param parts The chunk being made; its first part is put whatever its size.
   * @param room How many bytes it may still take.
   */
  put(parts: Uint8Array[], room: number): void {
    if (this.#queue.length > 0) {
      do {
        for (const frame of this.dequeue(room, parts.length === 0)) {
          room -= putFrame(parts, frame, this.#catchUp.withheldAfter);
        }
        // Where all of it was withheld there is no chunk after which the peer would ask for the next.
      } while (parts.length === 0 && this.#queue.length > 0);
      if (this.#queue.length > 0) return;
    }
    if (this.#catching && room > 0 && this.#catchUp.put(parts, room)) this.#catching = false;
  }
}
