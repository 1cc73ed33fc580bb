/**
 * Frames on their way to every tab: numbered, in order, and one message for each burst.
 *
 * @module
 */
import type { Frame } from "../types.ts";
import type { ToTab } from "./protocol.ts";
import type { Tab } from "./tab.ts";

/** The most frames a tab may leave unacknowledged. */
export const MAX_UNACKED = 2000;
/** For how long it may be above that: a burst that came in one turn says nothing of a slow tab. */
const BURST_MS = 1000;

/** The fan-out of one host. */
export class Fanout {
  readonly #tabs: ReadonlyMap<string, Tab>;
  readonly #now: () => number;
  readonly #expire: (tab: Tab) => void;
  #batch: Frame[] = [];
  #seq = 0;

  /**
   * @param tabs The attached tabs.
   * @param now The clock.
   * @param expire Drops a tab that has too many frames unacknowledged.
   */
  constructor(tabs: ReadonlyMap<string, Tab>, now: () => number, expire: (tab: Tab) => void) {
    this.#tabs = tabs;
    this.#now = now;
    this.#expire = expire;
  }

  /** The number of the last frame that was sent. */
  get seq(): number {
    return this.#seq;
  }

  /**
   * Sends a frame, with those that come in the same turn.
   *
   * @param frame The frame.
   */
  frame(frame: Frame): void {
    if (this.#batch.push(frame) === 1) queueMicrotask(() => this.flush());
  }

  /**
   * Sends a message to every tab, behind all frames so far.
   *
   * @param message The message.
   */
  broadcast(message: ToTab): void {
    this.flush();
    for (const tab of this.#tabs.values()) tab.send(message);
  }

  /** Sends what waits. */
  flush(): void {
    const frames = this.#batch;
    if (frames.length === 0) return;
    this.#batch = [];
    const seq = this.#seq + 1;
    // Before this burst counts: it has not been sent yet.
    for (const tab of [...this.#tabs.values()]) if (this.isFull(tab)) this.#expire(tab);
    this.#seq += frames.length;
    for (const tab of this.#tabs.values()) tab.send({ kind: "frames", seq, frames });
  }

  /**
   * Takes an acknowledgement.
   *
   * @param tab The tab.
   * @param ack The number of the last frame it has delivered.
   */
  acknowledge(tab: Tab, ack: number): void {
    tab.acked = Math.max(tab.acked, Math.min(ack, this.#seq));
    if (this.#seq - tab.acked < MAX_UNACKED) tab.fullSince = null;
  }

  /**
   * Says whether a tab has left too many frames unacknowledged for too long.
   *
   * @param tab The tab.
   * @returns Whether it has.
   */
  isFull(tab: Tab): boolean {
    if (this.#seq - tab.acked < MAX_UNACKED) return false;
    tab.fullSince ??= this.#now();
    return this.#now() - tab.fullSince >= BURST_MS;
  }
}
