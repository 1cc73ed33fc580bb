/**
 * Frames on their way to every tab: numbered, in order, and one message for each burst. The last ones
 * are kept, for tabs that come back from a short absence, or follow from another host.
 *
 * @module
 */
import { covers } from "./covers.ts";
import type { Frame } from "../types.ts";
import type { ToTab } from "./protocol.ts";
import type { Tab } from "./tab.ts";

/** The most frames a tab may leave unacknowledged. */
export const MAX_UNACKED = 2000;
/** For how long it may be above that: a burst that came in one turn says nothing of a slow tab. */
const BURST_MS = 1000;
/** How many frames are kept, and how many characters of data. */
const MAX_KEPT = 256;
const MAX_KEPT_LENGTH = 1_048_576;

/** What a fan-out needs of its host. */
export interface FanoutHost {
  /** The attached tabs. */
  readonly tabs: ReadonlyMap<string, Tab>;
  /** The clock. */
  now(): number;
  /** What the stream's frames so far have reached. */
  cursor(): string;
  /** Drops a tab that has too many frames unacknowledged. */
  expire(tab: Tab): void;
}

/** The fan-out of one host. */
export interface Fanout {
  /** The number of the last frame that was sent. */
  seq(): number;
  /** Sends a frame, with those that come in the same turn. */
  frame(frame: Frame): void;
  /** Sends what waits. */
  flush(): void;
  /** Sends a message to every tab, behind all frames so far. */
  broadcast(message: ToTab): void;
  /** Takes an acknowledgement: the number of the last frame that a tab has delivered. */
  acknowledge(tab: Tab, ack: number): void;
  /** Whether a tab has left too many frames unacknowledged for too long. */
  isFull(tab: Tab): boolean;
  /** The frames that a tab with this cursor lacks; none, too, when that is not known. */
  since(cursor: string): readonly Frame[];
  /** What was kept does not lead up to what comes. */
  gap(): void;
}

/**
 * Makes a fan-out.
 *
 * @param host Its host.
 * @returns The fan-out.
 */
export function createFanout({ tabs, now, cursor, expire }: FanoutHost): Fanout {
  let batch: Frame[] = [];
  let seq = 0;
  /** What the kept frames follow on. */
  let before = "";
  let kept: Frame[] = [];
  let length = 0;
  const keep = (frame: Frame): void => {
    if (kept.length === 0) before = cursor();
    kept.push(frame);
    length += frame.data.length;
    while (kept.length > MAX_KEPT || length > MAX_KEPT_LENGTH) {
      const oldest = kept.shift();
      length -= oldest?.data.length ?? 0;
      before = oldest?.id ?? before;
    }
  };
  const isFull = (tab: Tab): boolean => {
    if (seq - tab.acked < MAX_UNACKED) return false;
    tab.fullSince ??= now();
    return now() - tab.fullSince >= BURST_MS;
  };
  const flush = (): void => {
    const frames = batch;
    if (frames.length === 0) return;
    batch = [];
    // Before this burst counts: it has not been sent yet.
    for (const tab of [...tabs.values()]) if (isFull(tab)) expire(tab);
    const first = seq + 1;
    seq += frames.length;
    for (const { send } of tabs.values()) send({ kind: "frames", seq: first, frames });
  };
  return {
    seq: () => seq,
    frame(frame) {
      keep(frame);
      if (batch.push(frame) === 1) queueMicrotask(flush);
    },
    flush,
    broadcast(message) {
      flush();
      for (const { send } of tabs.values()) send(message);
    },
    acknowledge(tab, ack) {
      tab.acked = Math.max(tab.acked, Math.min(ack, seq));
      if (seq - tab.acked < MAX_UNACKED) tab.fullSince = null;
    },
    isFull,
    since: (from) =>
      before !== "" && covers(from, before)
        ? kept.filter(({ id }) => id !== null && !covers(from, id))
        : [],
    gap() {
      kept = [];
      length = 0;
    },
  };
}
