/**
 * Catching up: what matches after a position, from the journal what the ring no longer holds, then
 * from the ring, until the position equals the head.
 *
 * The replay on connect, a topic's history and the refill of a client that fell behind are this one
 * mechanism.
 *
 * @module
 */
import { lagFrames } from "../wire/control.ts";
import type { Backlog } from "./backlog.ts";
import type { Echoes } from "./echoes.ts";
import { type History, putFrame, withoutId } from "./history.ts";
import { type Hole, measureHole } from "./hole.ts";
import { MAX_CHUNK_BYTES } from "./joiner.ts";
import type { EventLog } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { Pages } from "./pages.ts";
import type { Frame } from "./ring.ts";
import { journalTopics, receives, type Topics } from "./topics.ts";

/** What is caught up on, and who counts it. */
export interface CatchUpSource {
  readonly log: EventLog;
  readonly metrics: Metrics;
  /** The journal behind the ring; `null` where there is none. */
  readonly backlog: Backlog | null;
}

/** Why a connection cannot go on: `lost` at a hole, `broken` when the journal cannot be read. */
export type CatchUpEnd = "lost" | "broken";

/** One connection's catching up. */
export class CatchUp {
  readonly #source: CatchUpSource;
  readonly #topics: Topics;
  readonly #maySkip: boolean;
  readonly #wake: () => void;
  readonly #histories: History[] = [];
  /** By topic, what was recalled of it, and up to where it may come live as well. */
  readonly #echoes = new Map<string, { readonly echoes: Echoes; readonly upTo: number }>();
  /** Reads what the ring no longer holds. */
  #pages: Pages | null = null;
  /** The hole that its pages came to, or that it is being measured. */
  #hole: Hole | "asked" | null = null;
  /** The last offset that was given. */
  position = 0;
  /** Nothing that matches and stands at or below it is owed, given or not. */
  settled = 0;
  /** How many matching, durable frames were published and not given yet. */
  owed = 0;
  /** Whether what is owed is no longer known exactly: a hole could not be counted. */
  #unsure = false;
  /** Why it cannot go on; `null` while it can. */
  end: CatchUpEnd | null = null;
  /** Above this offset frames go without their ids: a cursor must not pass what it is not told of. */
  withheldAfter = Infinity;

  /**
   * @param source What it reads.
   * @param topics What the connection listens to; `null` for everything. It may change.
   * @param maySkip Whether a hole is told and passed; otherwise it is the end.
   * @param wake Called when frames that were waited for can be given.
   */
  constructor(source: CatchUpSource, topics: Topics, maySkip: boolean, wake: () => void) {
    this.#source = source;
    this.#topics = topics;
    this.#maySkip = maySkip;
    this.#wake = wake;
  }

  /** Whether it waits for the journal rather than for the peer. */
  get reading(): boolean {
    const history = this.#histories[0];
    if (history !== undefined) return history.waiting;
    return this.#hole === "asked" || this.#pages?.look().kind === "wait";
  }

  /** How many histories wait to be given. */
  get histories(): number {
    return this.#histories.length;
  }

  /**
   * Gives a topic's history first.
   *
   * @param history The history.
   */
  recall(history: History): void {
    this.#histories.push(history);
  }

  /**
   * Gives up a history.
   *
   * @param history The history; one that was given already does no harm.
   */
  forgo(history: History): void {
    const at = this.#histories.indexOf(history);
    if (at === -1) return;
    history.cancel();
    // Whoever was told that it begins is told that it ends.
    if (!history.begun) this.#histories.splice(at, 1);
  }

  /**
   * Gives up the histories of a topic that is no longer listened to, and counts anew what is owed.
   *
   * @param topic The topic.
   */
  unsubscribed(topic: string): void {
    for (const history of this.#histories.filter((each) => each.topic === topic)) {
      this.forgo(history);
    }
    const { log } = this.#source;
    // What the ring no longer holds cannot be counted without the topic.
    if (log.evictedFor(this.#topics) > this.#from) this.#unsure = true;
    else this.owed = log.count(this.#from, this.#topics);
  }

  /** Forgets everything. */
  clear(): void {
    for (const history of this.#histories.splice(0)) history.cancel();
    this.#echoes.clear();
    this.#pages = null;
    this.#hole = null;
    this.end = null;
  }

  /**
   * Puts frames into a chunk.
   *
   * @param parts The chunk being made; its first part is put whatever its size.
   * @param room How many bytes it may still take, at least one.
   * @returns Whether nothing more is owed: from this turn on the connection may be live.
   */
  put(parts: Uint8Array[], room: number): boolean {
    for (let history = this.#histories[0]; history !== undefined; history = this.#histories[0]) {
      const before = parts.length;
      const given = history.put(parts, room);
      for (let i = before; i < parts.length; i++) room -= parts[i]?.length ?? 0;
      if (given === "broken") this.end = "broken";
      if (given !== "done") return false;
      this.#histories.shift();
      const { topic, echoes } = history;
      if (echoes !== null) this.#echoes.set(topic, { echoes, upTo: this.#source.log.head });
    }
    room = this.#putPages(parts, room);
    return room > 0 && this.#pages === null && this.#passHole(parts) && this.#putRing(parts, room);
  }

  /** Where to look for what is owed. */
  get #from(): number {
    return Math.max(this.position, this.settled);
  }

  /** Puts what the journal holds and the ring does not; while there is more, there is a reader. */
  #putPages(parts: Uint8Array[], room: number): number {
    const { log, metrics, backlog } = this.#source;
    if (backlog === null) return room;
    for (;;) {
      const evicted = log.evictedFor(this.#topics);
      if (this.#pages === null && evicted <= this.#from) return room;
      this.#pages ??= this.#read(backlog, evicted);
      const look = this.#pages.look();
      switch (look.kind) {
        case "wait":
          return room;
        case "broken":
          this.end = "broken";
          return room;
        case "hole":
          if (!this.#passTrimmed(parts, backlog, this.#pages, look.floor)) return room;
          break;
        case "entry":
          // A topic may have been unsubscribed since the page was asked for.
          if (receives(this.#topics, look.entry.topic, look.entry.offset)) {
            const bytes = log.encode(look.entry, true);
            if (this.#isEcho({ ...look.entry, bytes })) {
              this.owed--;
              this.#pages.take();
              break;
            }
            if (room <= 0 || (parts.length > 0 && bytes.length > room)) return room;
            parts.push(bytes);
            room -= bytes.length;
            metrics.wrote(1, null);
            this.owed--;
          }
          this.#pages.take();
      }
      this.position = Math.max(this.position, this.#pages.position);
      if (look.kind === "end") this.#pages = null;
    }
  }

  /** Whether it was recalled already. Asked once for each frame. */
  #isEcho(frame: Pick<Frame, "topic" | "offset" | "bytes">): boolean {
    const recalled = this.#echoes.get(frame.topic);
    return recalled !== undefined && frame.offset <= recalled.upTo &&
      recalled.echoes.isEcho(withoutId(frame));
  }

  #read(backlog: Backlog, upTo: number): Pages {
    const range = { after: this.#from, upTo, topics: journalTopics(this.#topics) };
    return new Pages(backlog, this.#source.log.epoch, range, this.#wake);
  }

  /** Says, where the journal has a hole, how much of what is owed it was; first it must be counted. */
  #passTrimmed(parts: Uint8Array[], backlog: Backlog, pages: Pages, floor: number): boolean {
    const { log, metrics } = this.#source;
    if (!this.#maySkip) {
      this.end = "lost";
      return false;
    }
    if (this.#hole === null) this.#measure(backlog, floor);
    if (this.#hole === null || this.#hole === "asked") return false;
    const { through } = this.#hole;
    const missed = this.#unsure ? null : this.#hole.missed;
    this.#hole = null;
    const [from, to] = [log.cursor(this.position), log.cursor(through)];
    if (missed !== 0) parts.push(lagFrames({ missed, from, to }));
    metrics.lagged(missed ?? 0);
    this.#unsure ||= missed === null;
    this.owed -= missed ?? 0;
    if (through === floor - 1) pages.pass(floor);
    else pages.skip(through + 1);
    return true;
  }

  #measure(backlog: Backlog, floor: number): void {
    const { log } = this.#source;
    const hole = measureHole(log, backlog, this.#topics, floor, () => this.owed);
    if (!(hole instanceof Promise)) {
      this.#hole = hole;
      return;
    }
    this.#hole = "asked";
    hole.then((measured) => {
      this.#hole = measured;
      this.#wake();
    });
  }

  /**
   * Says, exactly where it stands, what nobody holds. Frames are evicted oldest first, so a hole begins
   * at the position, and every frame that is still held stands after it.
   */
  #passHole(parts: Uint8Array[]): boolean {
    const { log, metrics } = this.#source;
    const evicted = log.evictedFor(this.#topics);
    if (evicted <= this.#from) return true;
    const held = log.count(evicted, this.#topics);
    const known = !this.#unsure && log.lostAndEvicted <= this.#from;
    const missed = known ? this.owed - held : null;
    if (missed === null || missed > 0) {
      if (!this.#maySkip) {
        this.end = "lost";
        return false;
      }
      const [from, to] = [log.cursor(this.position), log.cursor(evicted)];
      parts.push(lagFrames({ missed, from, to }));
      metrics.lagged(missed ?? 0);
      this.owed = held;
      this.#unsure = false;
    }
    this.position = evicted;
    return true;
  }

  #putRing(parts: Uint8Array[], room: number): boolean {
    const { log, metrics } = this.#source;
    let given = 0;
    let more = false;
    for (const frame of log.matching(this.#from, this.#topics)) {
      if (this.#echoes.size > 0 && this.#isEcho(frame)) {
        this.position = frame.offset;
        this.owed--;
        continue;
      }
      const fits = parts.length === 0 || frame.bytes.length <= room ||
        (given === 0 && frame.bytes.length > MAX_CHUNK_BYTES);
      more = room <= 0 || !fits;
      if (more) break;
      room -= putFrame(parts, frame, this.withheldAfter);
      this.position = frame.offset;
      given++;
    }
    metrics.wrote(given, null);
    this.owed -= given;
    if (more) return false;
    this.position = log.head;
    this.owed = 0;
    this.#unsure = false;
    this.#echoes.clear();
    return true;
  }
}
