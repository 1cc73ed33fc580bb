/**
 * A topic's history for a connection that joins late: what the topic said up to the offset from which
 * on the connection receives it live.
 *
 * The frames carry no id, for they must not move the client's cursor back, and stand between
 * `sse:history` begin and end. The topic was subscribed first, so the seam is an offset: nothing is
 * missing, and nothing comes twice.
 *
 * @module
 */
import { historyFrame } from "../wire/control.ts";
import type { Pages } from "./pages.ts";
import type { Frame } from "./ring.ts";
import type { EventLog } from "./log.ts";

/** What a history is read from. */
export interface HistorySource {
  /** The entries that the ring no longer holds; `null` when there are none, or no journal. */
  readonly pages: Pages | null;
  /** The frames behind them, captured when the topic was subscribed: the ring may go on without. */
  readonly frames: readonly Frame[];
}

/** What became of an attempt to give a part of a history. */
export type Given = "more" | "done" | "wait" | "broken";

/** One history on its way to one connection. */
export class History {
  /** The topic. */
  readonly topic: string;
  readonly #log: EventLog;
  #source: HistorySource | null = null;
  #begun = false;
  #frame = 0;

  /**
   * A history whose beginning is not known yet: until then nothing behind it is given.
   *
   * @param topic The topic.
   * @param log The hub's sequence.
   */
  constructor(topic: string, log: EventLog) {
    this.topic = topic;
    this.#log = log;
  }

  /** Whether it waits for its source, or for a page, rather than for the peer. */
  get waiting(): boolean {
    return this.#source === null || (this.#begun && this.#source.pages?.look().kind === "wait");
  }

  /** @param source What it is read from. */
  start(source: HistorySource): void {
    this.#source = source;
  }

  /**
   * Puts frames into a chunk.
   *
   * @param parts The chunk being made; its first part is put whatever its size.
   * @param room How many bytes it may still take.
   * @returns `more` when the chunk is full, `wait` when a page is on its way.
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
    if (!this.#begun) {
      if (!push(historyFrame("begin", this.topic))) return "more";
      this.#begun = true;
    }
    for (;;) {
      const look = source.pages?.look() ?? { kind: "end" };
      if (look.kind === "wait" || look.kind === "broken") return look.kind;
      // A history begins where the journal does: what it has forgotten is no part of it any more.
      if (look.kind === "hole") {
        source.pages?.pass(look.floor);
        continue;
      }
      const frame = source.frames[this.#frame];
      const bytes = look.kind === "entry"
        ? this.#log.encode(look.entry, false)
        : frame === undefined
        ? historyFrame("end", this.topic)
        : withoutId(frame.bytes);
      if (!push(bytes)) return "more";
      if (look.kind === "entry") source.pages?.take();
      else if (frame === undefined) return "done";
      else this.#frame++;
    }
  }
}

/** The frame behind its `id:` line: a view, not a copy. */
function withoutId(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(bytes.indexOf(0x0a) + 1);
}
