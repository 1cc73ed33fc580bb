/**
 * A topic's history for a connection that joins late: what the topic said before the connection
 * receives it live.
 *
 * The frames carry no id, for they must not move the client's cursor back, and stand between
 * `sse:history` begin and end. The topic was subscribed first, so nothing is missing at the seam; and
 * where the history has offsets, nothing comes twice.
 *
 * @module
 */
import { historyFrame } from "../wire/control.ts";
import type { Echoes } from "./echoes.ts";
import type { EventLog } from "./log.ts";
import type { Pages } from "./pages.ts";
import type { Frame } from "./ring.ts";

/** What a look at the next frame of a history gives. */
export type FrameLook =
  | { readonly kind: "frame"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  /** It is on its way; whoever asked is woken when it is there. */
  | { readonly kind: "wait" }
  /** What it is read from cannot be read. */
  | { readonly kind: "broken" };

/** Where a history's frames come from, one at a time. */
export interface FrameSource {
  /** What comes next; a frame until it is {@linkcode take}n. */
  look(): FrameLook;
  /** The frame that {@linkcode look} showed was given. */
  take(): void;
  /** Nobody wants the rest. */
  cancel?(): void;
}

/** What became of an attempt to give a part of a history. */
export type Given = "more" | "done" | "wait" | "broken";

/** What is left of a history that was given up. */
const NOTHING: FrameSource = { look: () => ({ kind: "end" }), take: () => {} };

/** One history on its way to one connection. */
export class History {
  /** The topic. */
  readonly topic: string;
  /** What was recalled, where it has no offsets; else `null`. */
  readonly echoes: Echoes | null;
  #source: FrameSource | null = null;
  #begun = false;

  /**
   * A history whose beginning is not known yet: until then nothing behind it is given.
   *
   * @param topic The topic.
   * @param echoes Remembers what was recalled, where it has no offsets.
   */
  constructor(topic: string, echoes: Echoes | null = null) {
    this.topic = topic;
    this.echoes = echoes;
  }

  /** Whether it waits for its source, rather than for the peer. */
  get waiting(): boolean {
    return this.#source === null || (this.#begun && this.#source.look().kind === "wait");
  }

  /** @param source What it is read from; not wanted any more when it was given up meanwhile. */
  start(source: FrameSource): void {
    if (this.#source === null) this.#source = source;
    else source.cancel?.();
  }

  /** Whether its beginning was put. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Nobody wants the rest. */
  cancel(): void {
    this.#source?.cancel?.();
    this.#source = NOTHING;
  }

  /**
   * Puts frames into a chunk.
   *
   * @param parts The chunk being made; its first part is put whatever its size.
   * @param room How many bytes it may still take.
   * @returns `more` when the chunk is full, `wait` when a frame is on its way.
   */
  put(parts: Uint8Array[], room: number): Given {
    const source = this.#source;
    if (source === null) return "wait";
    let left = room;
    const push = (bytes: Uint8Array): boolean => {
      if (left <= 0 || (parts.length > 0 && bytes.length > left)) return false;
      parts.push(bytes);
      left -= bytes.length;
      return true;
    };
    if (!this.#begun && !push(historyFrame("begin", this.topic))) return "more";
    this.#begun = true;
    for (;;) {
      const look = source.look();
      if (look.kind === "wait" || look.kind === "broken") return look.kind;
      if (look.kind === "end") return push(historyFrame("end", this.topic)) ? "done" : "more";
      if (!push(look.bytes)) return "more";
      source.take();
    }
  }
}

/** A topic's past as the hub and its journal hold it. */
export class PastFrames implements FrameSource {
  readonly #log: EventLog;
  readonly #pages: Pages | null;
  readonly #frames: readonly Frame[];
  readonly #wholeAfter: number;
  #next = 0;
  /** The journal's entry that was shown last, encoded once. */
  #shown: Uint8Array | null = null;

  /**
   * @param log The hub's sequence.
   * @param pages The entries that the ring no longer held; `null` when there are none.
   * @param frames The frames behind them, captured when the topic was subscribed: the ring may go on
   * without.
   * @param wholeAfter After which offset it was said that nothing is missing: a hole there breaks it.
   */
  constructor(log: EventLog, pages: Pages | null, frames: readonly Frame[], wholeAfter: number) {
    this.#log = log;
    this.#pages = pages;
    this.#frames = frames;
    this.#wholeAfter = wholeAfter;
  }

  look(): FrameLook {
    if (this.#shown !== null) return { kind: "frame", bytes: this.#shown };
    const look = this.#pages?.look() ?? { kind: "end" };
    switch (look.kind) {
      case "wait":
      case "broken":
        return look;
      case "hole":
        if (look.floor > this.#wholeAfter + 1) return { kind: "broken" };
        // A history begins where the journal does: what that has forgotten is no part of it any more.
        this.#pages?.pass(look.floor);
        return this.look();
      case "entry":
        this.#shown = this.#log.encode(look.entry, false);
        return { kind: "frame", bytes: this.#shown };
      case "end": {
        const frame = this.#frames[this.#next];
        return frame === undefined ? look : { kind: "frame", bytes: withoutId(frame) };
      }
    }
  }

  take(): void {
    if (this.#shown === null) this.#next++;
    else this.#pages?.take();
    this.#shown = null;
  }
}

/**
 * Puts a frame into a chunk, as a connection may have it.
 *
 * @param parts The chunk being made.
 * @param frame The frame.
 * @param withheldAfter Above this offset it goes without its id; what says that events are missing does
 * not go at all, for it is for those who understand it.
 * @returns How many bytes were put.
 */
export function putFrame(parts: Uint8Array[], frame: Frame, withheldAfter: number): number {
  const withheld = frame.offset > withheldAfter;
  if (withheld && frame.gap === true) return 0;
  const bytes = withheld ? withoutId(frame) : frame.bytes;
  parts.push(bytes);
  return bytes.length;
}

/**
 * A frame behind its `id:` line.
 *
 * @param frame The frame; one that has an offset.
 * @returns A view of its bytes, not a copy.
 */
export function withoutId({ bytes }: Pick<Frame, "bytes">): Uint8Array {
  return bytes.subarray(bytes.indexOf(0x0a) + 1);
}
