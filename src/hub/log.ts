/**
 * A hub's sequence: it numbers events, encodes each once, and keeps what a client may resume from.
 *
 * @module
 */
import { formatCursor } from "../wire/cursor.ts";
import { checkEventName, encodeFrame, encodeIdOnly } from "../wire/frame.ts";
import { Parser } from "../wire/parser.ts";
import { checkTopic } from "../wire/topic.ts";
import { EvictedOffsets } from "./evicted.ts";
import type { HubSettings } from "./options.ts";
import { type Frame, Ring } from "./ring.ts";
import type { Position, PublishEvent, RingEvent } from "./types.ts";
import { judge, type Judgement } from "./verdict.ts";

/** A sequence of events with its epoch, its head, and the ring behind them. */
export class EventLog {
  readonly #settings: HubSettings;
  readonly #ring: Ring;
  readonly #evicted = new EvictedOffsets();
  /** The newest offset that the ring holds of each topic: a quiet one is known without a search. */
  readonly #newest = new Map<string, number>();
  #epoch = "";
  #head = 0;
  #idOnly: { readonly offset: number; readonly bytes: Uint8Array } | null = null;

  /** @param settings The hub's settings. */
  constructor(settings: HubSettings) {
    this.#settings = settings;
    this.#ring = new Ring(settings, ({ topic, offset }) => {
      this.#evicted.note(topic, offset);
      if (this.#newest.get(topic) === offset) this.#newest.delete(topic);
    });
  }

  /**
   * 64 random bits in hex. Drawn at first use: a Worker's module scope has no randomness.
   */
  get epoch(): string {
    if (this.#epoch === "") this.#epoch = randomHex(8);
    return this.#epoch;
  }

  /** The newest offset. */
  get head(): number {
    return this.#head;
  }

  /** How many frames and bytes the ring holds. */
  get held(): { readonly events: number; readonly bytes: number } {
    return { events: this.#ring.length, bytes: this.#ring.bytes };
  }

  /**
   * Encodes an event, and appends it unless it is ephemeral or `keep` is false.
   *
   * @param event The event. Refused before any state changes.
   * @param keep Whether the event is accepted; one that is not is only checked.
   * @returns The frame.
   * @throws What {@linkcode Hub.publish} throws.
   */
  append(event: PublishEvent, keep: boolean): Frame {
    const topic = event.topic ?? "";
    const name = event.name ?? "";
    const durable = event.ephemeral !== true;
    checkEventName(name, this.#settings.keepaliveEvent);
    if (topic !== "") checkTopic(topic);
    const offset = durable ? this.#head + 1 : 0;
    const frame: Frame = {
      offset,
      topic,
      bytes: encodeFrame(durable ? this.cursor(offset) : null, name, event.data),
      at: this.#settings.clock.now(),
      born: this.#settings.clock.monotonic(),
    };
    if (keep && durable) {
      this.#head = offset;
      this.#newest.set(topic, offset);
      this.#ring.push(frame);
    }
    return frame;
  }

  /**
   * A cursor of this sequence.
   *
   * @param offset The offset.
   * @returns `<epoch>:<offset>`.
   */
  cursor(offset: number): string {
    return formatCursor({ epoch: this.epoch, offset });
  }

  /** The block `id: <epoch>:<head>`, encoded once for each head. */
  idOnly(): Uint8Array {
    if (this.#idOnly?.offset !== this.#head) {
      this.#idOnly = { offset: this.#head, bytes: encodeIdOnly(this.cursor(this.#head)) };
    }
    return this.#idOnly.bytes;
  }

  /** Evicts what is too old, and says what can be replayed. */
  position(): Position {
    this.evict();
    return { epoch: this.epoch, floor: this.#ring.floor, head: this.#head };
  }

  /** Evicts what is too old. */
  evict(): void {
    this.#ring.evict(this.#settings.clock.monotonic());
  }

  /**
   * Judges a presented cursor, after what is too old has been evicted.
   *
   * @param presented The value presented; `""` for none.
   * @param topics The connection's topics; `null` for everything.
   * @returns The judgement.
   */
  judge(presented: string, topics: readonly string[] | null): Judgement {
    this.evict();
    return judge(presented, {
      epoch: this.epoch,
      head: this.#head,
      evicted: this.#evicted.newestFor(topics),
      budget: this.#settings.replyMaxEvents,
      count: (offset, enough) => this.count(offset, topics, enough),
    });
  }

  /**
   * The newest offset that these topics would have received and that is no longer held.
   *
   * @param topics The topics; `null` for everything.
   * @returns The offset; 0 when there is none.
   */
  evictedFor(topics: readonly string[] | null): number {
    return this.#evicted.newestFor(topics);
  }

  /**
   * The held frames after an offset that these topics receive, oldest first.
   *
   * @param offset The offset, exclusive.
   * @param topics The topics; `null` for everything.
   * @returns An iterator; it must be used up before the next event is appended.
   */
  *matching(offset: number, topics: readonly string[] | null): Generator<Frame, void, undefined> {
    if (!this.#holdsAfter(offset, topics)) return;
    const wanted = topics === null ? null : new Set(topics);
    for (const frame of this.#ring.after(offset)) {
      if (wanted === null || frame.topic === "" || wanted.has(frame.topic)) yield frame;
    }
  }

  /**
   * Counts {@linkcode matching}.
   *
   * @param offset The offset, exclusive.
   * @param topics The topics; `null` for everything.
   * @param enough Where the counting may stop.
   * @returns How many there are, at most `enough`.
   */
  count(offset: number, topics: readonly string[] | null, enough = Infinity): number {
    let count = 0;
    for (const _ of this.matching(offset, topics)) {
      if (++count >= enough) break;
    }
    return count;
  }

  #holdsAfter(offset: number, topics: readonly string[] | null): boolean {
    if (topics === null) return offset < this.#head;
    const held = (topic: string): boolean => (this.#newest.get(topic) ?? 0) > offset;
    return held("") || topics.some(held);
  }

  /** A copy of the ring. The events are read back from their frames, so that nothing is held twice. */
  snapshot(): RingEvent[] {
    this.evict();
    const events: RingEvent[] = [];
    for (const { at, offset, topic, bytes } of this.#ring.after(0)) {
      new Parser({
        onEvent: ({ name, data }) => events.push({ at, offset, event: { topic, name, data } }),
      }).feed(bytes);
    }
    return events;
  }
}

/**
 * Random bits in hex.
 *
 * @param bytes How many bytes.
 * @returns Twice as many lowercase hex characters.
 */
export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
