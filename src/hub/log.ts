/**
 * A hub's sequence: it numbers events, encodes each once, and keeps what a client may resume from.
 *
 * @module
 */
import type { JournalEntry } from "../journal/journal.ts";
import { lagFrames } from "../wire/control.ts";
import { formatCursor } from "../wire/cursor.ts";
import { encodeFrame, encodeIdOnly } from "../wire/frame.ts";
import { toHex } from "../wire/hex.ts";
import { Parser } from "../wire/parser.ts";
import { type CheckedEvent, checkEvent } from "./event.ts";
import { EvictedOffsets } from "./evicted.ts";
import type { HubSettings } from "./options.ts";
import { type Frame, Ring } from "./ring.ts";
import { receives, type Topics } from "./topics.ts";
import type { Position, PublishEvent, RingEvent } from "./types.ts";

/** A sequence of events with its epoch, its head, and the ring behind them. */
export class EventLog {
  readonly #settings: HubSettings;
  #ring: Ring;
  #evicted = new EvictedOffsets();
  /** The newest offset that the ring holds of each topic: a quiet one is known without a search. */
  readonly #newest = new Map<string, number>();
  #epoch = "";
  #head = 0;
  /** The newest offset at which events are missing that no pod can bring back. */
  #gap = 0;
  #evictedGap = 0;
  #idOnly: { readonly offset: number; readonly bytes: Uint8Array } | null = null;

  /** @param settings The hub's settings. */
  constructor(settings: HubSettings) {
    this.#settings = settings;
    this.#ring = this.#createRing();
  }

  /**
   * 64 random bits in hex, or the journal's. Drawn at first use: a Worker's module scope has no
   * randomness.
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
   * Takes over a sequence that a journal numbers; what was held of another is forgotten.
   *
   * @param epoch Its epoch.
   * @param head The offset after which {@linkcode ingest} goes on: at and below it the ring holds
   * nothing, and may not say that there was nothing.
   */
  begin(epoch: string, head: number): void {
    this.#epoch = epoch;
    this.#head = head;
    this.#gap = 0;
    this.#evictedGap = 0;
    this.#idOnly = null;
    this.#ring = this.#createRing();
    this.#newest.clear();
    this.#evicted = new EvictedOffsets();
    this.#evicted.raise(head);
  }

  /**
   * Checks and encodes an event, as the next one.
   *
   * @param event The event. Refused, nothing has changed.
   * @returns The frame, to be given to {@linkcode commit} before the next one is made.
   * @throws What {@linkcode Hub.publish} throws.
   */
  prepare(event: PublishEvent): Frame {
    const checked = checkEvent(event, this.#settings.keepaliveEvent);
    return this.#frame(checked, event.ephemeral === true ? 0 : this.#head + 1);
  }

  /**
   * Appends a frame, unless it is ephemeral.
   *
   * @param frame What {@linkcode prepare} made.
   */
  commit(frame: Frame): void {
    if (frame.offset !== 0) this.#keep(frame);
  }

  /**
   * Checks, encodes and appends an event.
   *
   * @param event The event.
   * @returns Its frame.
   * @throws What {@linkcode Hub.publish} throws.
   */
  append(event: PublishEvent): Frame {
    const frame = this.prepare(event);
    this.commit(frame);
    return frame;
  }

  /**
   * Notes that events are missing after the head: it consumes an offset, and what stands before it is
   * resumed no more.
   *
   * @returns The frame that says so, exactly there, to whoever understands `sse:lag`.
   */
  gap(): Frame {
    const { clock } = this.#settings;
    const offset = this.#head + 1;
    const [from, to] = [this.cursor(this.#head), this.cursor(offset)];
    const bytes = lagFrames({ missed: null, from, to });
    const [at, born] = [clock.now(), clock.monotonic()];
    const frame = { offset, topic: "", bytes, at, born, gap: true };
    this.#gap = offset;
    this.#keep(frame);
    return frame;
  }

  /** The newest offset at which events are missing, which {@linkcode gap} gave; 0 for none. */
  get lost(): number {
    return this.#gap;
  }

  /** The newest of them that the ring no longer holds: a hole with it in it cannot be counted. */
  get lostAndEvicted(): number {
    return this.#evictedGap;
  }

  /**
   * Takes an entry of the journal.
   *
   * @param entry The entry.
   * @returns Its frame; `null` when it is known already.
   */
  ingest(entry: JournalEntry): Frame | null {
    if (entry.offset <= this.#head) return null;
    const frame = this.#frame(entry, entry.offset, entry.at);
    this.#keep(frame);
    return frame;
  }

  /**
   * A frame of this sequence that the ring need not hold.
   *
   * @param entry An entry of the journal.
   * @param withId Whether it moves a client's cursor.
   * @returns Its bytes.
   */
  encode({ offset, name, data }: JournalEntry, withId: boolean): Uint8Array {
    return encodeFrame(withId ? this.cursor(offset) : null, name, data);
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

  /** Evicts what is too old, and says what can be replayed from the ring. */
  position(): Position {
    this.evict();
    return { epoch: this.epoch, floor: this.#ring.floorAfter(this.#gap), head: this.#head };
  }

  /** Evicts what is too old. */
  evict(): void {
    this.#ring.evict(this.#settings.clock.monotonic());
  }

  /**
   * The newest offset that these topics would have received and that the ring no longer holds.
   *
   * @param topics The topics; `null` for everything.
   * @returns The offset; 0 when there is none.
   */
  evictedFor(topics: Topics): number {
    return this.#evicted.newestFor(topics);
  }

  /**
   * The newest offset of one topic, without broadcasts, that the ring no longer holds.
   *
   * @param topic The topic.
   * @returns The offset; 0 when there is none.
   */
  evictedOf(topic: string): number {
    return this.#evicted.newestOf(topic);
  }

  /**
   * The held frames after an offset that these topics receive, oldest first.
   *
   * @param offset The offset, exclusive.
   * @param topics The topics; `null` for everything.
   * @returns An iterator; it must be used up before the next event is appended.
   */
  *matching(offset: number, topics: Topics): Generator<Frame, void, undefined> {
    if (!this.#holdsAfter(offset, topics)) return;
    for (const frame of this.#ring.after(offset)) {
      if (receives(topics, frame.topic, frame.offset)) yield frame;
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
  count(offset: number, topics: Topics, enough: number = Infinity): number {
    let count = 0;
    for (const _ of this.matching(offset, topics)) {
      if (++count >= enough) break;
    }
    return count;
  }

  /**
   * The held frames of one topic, without broadcasts.
   *
   * @param topic The topic.
   * @returns References to them, oldest first.
   */
  ofTopic(topic: string): Frame[] {
    if (!this.#newest.has(topic)) return [];
    return [...this.#ring.after(0)].filter((frame) => frame.topic === topic);
  }

  /** A copy of the ring. The events are read back from their frames, so that nothing is held twice. */
  snapshot(): RingEvent[] {
    this.evict();
    const events: RingEvent[] = [];
    for (const { at, offset, topic, bytes, gap } of this.#ring.after(0)) {
      if (gap === true) continue;
      new Parser({
        onEvent: ({ name, data }) => events.push({ at, offset, event: { topic, name, data } }),
      }).feed(bytes);
    }
    return events;
  }

  #frame({ topic, name, data }: CheckedEvent, offset: number, stored?: number): Frame {
    const { clock } = this.#settings;
    const bytes = encodeFrame(offset === 0 ? null : this.cursor(offset), name, data);
    const [now, born] = [clock.now(), clock.monotonic()];
    const at = stored ?? now;
    // A ring that is filled from a journal holds what is old already; the clocks of pods may differ.
    return { offset, topic, bytes, at, born: born - Math.max(0, now - at) };
  }

  #keep(frame: Frame): void {
    this.#head = frame.offset;
    this.#newest.set(frame.topic, frame.offset);
    this.#ring.push(frame);
  }

  #holdsAfter(offset: number, topics: Topics): boolean {
    if (topics === null) return offset < this.#head;
    const held = (topic: string): boolean => (this.#newest.get(topic) ?? 0) > offset;
    if (held("")) return true;
    for (const topic of topics.keys()) if (held(topic)) return true;
    return false;
  }

  #createRing(): Ring {
    return new Ring(this.#settings, ({ topic, offset, gap }) => {
      this.#evicted.note(topic, offset);
      if (gap === true) this.#evictedGap = offset;
      if (this.#newest.get(topic) === offset) this.#newest.delete(topic);
    });
  }
}

/**
 * Random bits in hex.
 *
 * @param bytes How many bytes.
 * @returns Twice as many lowercase hex characters.
 */
export function randomHex(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
