/**
 * Who is there, and how far each of them was heard: the counters by which losses are seen.
 *
 * It knows neither time nor the relay: what it is told decides what it says.
 *
 * @module
 */
import type { Message, Stamp } from "../../relay/envelope.ts";
import type { SiblingInfo } from "../types.ts";

/** After so many of its intervals without a word somebody is taken for dead. */
const SILENT_BEATS = 3;
/** The most starts of pods that are remembered; those that are over are forgotten first. */
const MAX_KNOWN = 1024;

/** When something was heard. */
export interface Moment {
  /** In milliseconds since the Unix epoch. */
  readonly at: number;
  /**
   * Whether this pod has only begun to listen: it is no loss then that somebody unknown has counted
   * already.
   */
  readonly young: boolean;
}

/** What an envelope means. */
export interface Hearing {
  /** `repeated`: it came before, or follows a goodbye; it is to be dropped. */
  readonly outcome: "taken" | "repeated";
  /** Whether durable events are missing: before this one, or the last ones of a start that crashed. */
  readonly lost: boolean;
  /** Whether two pods that live at the same time have this name. */
  readonly twin: boolean;
}

const REPEATED: Hearing = { outcome: "repeated", lost: false, twin: false };

/**
 * - `live`: it is there.
 * - `left`: it has said goodbye.
 * - `silent`: it has not been heard for too long.
 * - `superseded`: another start of the same name was heard.
 */
type State = "live" | "left" | "silent" | "superseded";

interface Known {
  readonly origin: string;
  readonly boot: string;
  seq: number;
  n: number;
  beatMs: number;
  lastHeardAt: number;
  unheardMs: number;
  state: State;
}

/** The siblings of one pod. */
export class Origins {
  readonly #boots = new Map<string, Known>();
  readonly #beatMs: number;

  /** @param beatMs How often a sibling is to be heard that has not said it itself, in milliseconds. */
  constructor(beatMs: number) {
    this.#beatMs = beatMs;
  }

  /**
   * Takes note of an envelope.
   *
   * @param stamp Who sent it.
   * @param message What it says.
   * @param moment When it came.
   * @returns What it means.
   */
  hear(stamp: Stamp, message: Message, moment: Moment): Hearing {
    // What its sender had counted before this one.
    const before = message.kind === "event" && !message.ephemeral ? stamp.n - 1 : stamp.n;
    const known = this.#boots.get(stamp.boot);
    if (known === undefined) return this.#meet(stamp, message, moment, before);
    const { origin, seq, n, state } = known;
    if (origin !== stamp.origin || state === "left" || stamp.seq <= seq || before < n) {
      return REPEATED;
    }
    this.#note(known, stamp, message, moment);
    // The last words of one that is over may come late; beats come of one that lives.
    const twin = state === "superseded" && (message.kind === "beat" || message.kind === "join");
    return { outcome: "taken", lost: before > n, twin };
  }

  /**
   * Lets time pass. What matters is how often it is called: a pod that was itself stopped for a while
   * has not listened, and takes nobody for dead.
   *
   * @param ms How many milliseconds lie between two calls.
   * @returns Whether somebody has gone silent: what it published last may never have left it.
   */
  pass(ms: number): boolean {
    let lost = false;
    for (const known of this.#boots.values()) {
      if (known.state !== "live") continue;
      known.unheardMs += ms;
      if (known.unheardMs <= SILENT_BEATS * known.beatMs) continue;
      known.state = "silent";
      lost = true;
    }
    return lost;
  }

  /** Those who are there. */
  siblings(): SiblingInfo[] {
    return [...this.#boots.values()].flatMap(({ origin, boot, n, lastHeardAt, state }) =>
      state === "live" ? [{ origin, boot, n, lastHeardAt }] : []
    );
  }

  #meet(stamp: Stamp, message: Message, moment: Moment, before: number): Hearing {
    let crashed = false;
    for (const other of this.#boots.values()) {
      if (other.origin !== stamp.origin || other.state !== "live") continue;
      other.state = "superseded";
      crashed = true;
    }
    const { origin, boot } = stamp;
    const known: Known = {
      ...{ origin, boot, seq: 0, n: 0, beatMs: this.#beatMs },
      ...{ lastHeardAt: 0, unheardMs: 0, state: "live" as const },
    };
    this.#forget();
    this.#boots.set(boot, known);
    this.#note(known, stamp, message, moment);
    return { outcome: "taken", lost: crashed || (before > 0 && !moment.young), twin: false };
  }

  #note(known: Known, { seq, n }: Stamp, message: Message, { at }: Moment): void {
    known.seq = seq;
    known.n = n;
    known.lastHeardAt = at;
    known.unheardMs = 0;
    known.state = message.kind === "leave" ? "left" : "live";
    if (message.kind === "beat" || message.kind === "join") known.beatMs = message.beatMs;
  }

  /** Makes room for one more: those that are over were met before and say nothing any more. */
  #forget(): void {
    if (this.#boots.size < MAX_KNOWN) return;
    const all = [...this.#boots.values()];
    const oldest = all.find(({ state }) => state !== "live") ?? all[0];
    if (oldest !== undefined) this.#boots.delete(oldest.boot);
  }
}
