/**
 * What a tab and the host of a profile's stream say to each other, whatever carries it: a port of a
 * SharedWorker, a broadcast channel, or a call within one page.
 *
 * Each message is checked before it is believed: a worker outlives a deploy, so the two ends may be of
 * different versions. What is not understood is ignored; the silence is then noticed.
 *
 * @module
 */
import type { RemovedSubject } from "../digest_answer.ts";
import type { LifecycleRecord } from "../records.ts";
import type { Frame, RevalidateCause, StreamState, Subject } from "../types.ts";
import type { HeldVersion } from "../versions.ts";

/** The revision of this protocol. Two ends of different ones never get to know each other. */
export const PROTOCOL = 1;

/** Headers, as they cross a port. */
export type PlainHeaders = Readonly<Record<string, string>>;

/** What the host wants to know of a tab. */
export type Want = "url" | "headers";

/** From a tab to the host. */
export type ToHost =
  /** The first message of a tab, and again when the host asks who it is. */
  | {
    readonly kind: "attach";
    readonly v: typeof PROTOCOL;
    readonly tab: string;
    /** Up to where this tab has got everything; `""` when nothing. */
    readonly cursor: string;
    /** Whether a stopped stream is to be started: not when somebody logged out. */
    readonly start: boolean;
    /** Whether it had expired. */
    readonly repair: boolean;
    /** Whether it will revalidate in full, so that what it has missed does not matter. */
    readonly owed: boolean;
    readonly visible: boolean;
    readonly online: boolean;
    readonly tag: string;
    /** The stream's address, when it is always the same one. */
    readonly url: string | null;
  }
  /** A sign of life, every few seconds and at each change. */
  | {
    readonly kind: "beat";
    /** The number of the last frame that was delivered. */
    readonly ack: number;
    /** Whether an answer is wanted. */
    readonly ask: boolean;
    readonly visible: boolean;
    readonly online: boolean;
  }
  /** The answer to a question, or the end of a revalidation. */
  | {
    readonly kind: "answer";
    readonly ask: number;
    /** What was asked for; `null` when it could not be had, and for a revalidation. */
    readonly value: string | PlainHeaders | null;
    /** `refused`: asking again would not help. `unauthorized`: the digest was answered with 401. */
    readonly fault: "refused" | "unauthorized" | null;
  }
  | {
    readonly kind: "observe";
    readonly subject: Subject;
    readonly version: string;
    readonly epoch: string | null;
  }
  | { readonly kind: "tag"; readonly tag: string }
  | { readonly kind: "reconnect"; readonly how: "reconnect" | "reset" | "credentials" }
  | { readonly kind: "detach"; readonly reason: string };

/** From the host to a tab. */
export type ToTab =
  /** The host does not know this tab: it has just started, or the tab had expired. */
  | { readonly kind: "who"; readonly v: typeof PROTOCOL; readonly boot: string }
  /** The tab is attached: frames follow from here. */
  | {
    readonly kind: "welcome";
    readonly v: typeof PROTOCOL;
    /** Which life of the host this is. */
    readonly boot: string;
    /** The number of the last frame before. */
    readonly seq: number;
    /** The cursor that all frames so far have reached. */
    readonly cursor: string;
    readonly state: StreamState;
    readonly epoch: string;
    readonly generation: number;
    /** Whether the tab has come too late for a revalidation, or the stream itself still owes one. */
    readonly doubt: boolean;
  }
  /** Frames; `seq` is the number of the first. */
  | { readonly kind: "frames"; readonly seq: number; readonly frames: readonly Frame[] }
  /** Something happened; `state` is how the stream stands since, `cursor` as in a beat. */
  | {
    readonly kind: "record";
    readonly record: LifecycleRecord;
    readonly state: StreamState;
    readonly cursor: string;
  }
  /** A sign of life; `cursor` is what all that was sent so far has reached. */
  | { readonly kind: "beat"; readonly cursor: string; readonly ask: boolean }
  | {
    readonly kind: "revalidate";
    readonly ask: number;
    readonly cause: RevalidateCause;
    readonly epoch: string;
    readonly generation: number;
    readonly full: boolean;
    readonly topics: readonly string[] | null;
    readonly changed: readonly HeldVersion[] | null;
    readonly removed: readonly RemovedSubject[] | null;
  }
  /** No answer is wanted any more. */
  | { readonly kind: "abort"; readonly ask: number }
  | {
    readonly kind: "ask";
    readonly ask: number;
    readonly want: Want;
    /** How many attempts have failed. */
    readonly attempt: number;
  };

/**
 * Makes an id of a tab, or of a life of a host.
 *
 * @param random A number from 0 to below 1.
 * @returns The id, which is never empty.
 */
export function makeId(random: number): string {
  return Math.floor(random * 2 ** 52).toString(36);
}

type Check = (value: unknown) => boolean;
/** A check for every field of every message: a field that is forgotten here does not compile. */
type Shapes<M extends { readonly kind: string }> = {
  readonly [K in M["kind"]]: {
    readonly [F in Exclude<keyof Extract<M, { readonly kind: K }>, "kind">]: Check;
  };
};

const revision: Check = (value) => value === PROTOCOL;
const text: Check = (value) => typeof value === "string";
const flag: Check = (value) => typeof value === "boolean";
const count: Check = (value) => Number.isSafeInteger(value);
const textOrNull: Check = (value) => value === null || text(value);
const listOrNull: Check = (value) => value === null || Array.isArray(value);
const fields = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? value as Record<string, unknown> : {};

const TO_HOST: Shapes<ToHost> = {
  attach: {
    v: revision,
    tab: text,
    cursor: text,
    start: flag,
    repair: flag,
    owed: flag,
    visible: flag,
    online: flag,
    tag: text,
    url: textOrNull,
  },
  beat: { ack: count, ask: flag, visible: flag, online: flag },
  answer: {
    ask: count,
    value: (value) =>
      textOrNull(value) || (fields(value) === value && Object.values(value).every(text)),
    fault: textOrNull,
  },
  observe: {
    subject: (value) => text(fields(value)["kind"]) && text(fields(value)["ref"]),
    version: text,
    epoch: textOrNull,
  },
  tag: { tag: text },
  reconnect: { how: text },
  detach: { reason: text },
};

const TO_TAB: Shapes<ToTab> = {
  who: { v: revision, boot: text },
  welcome: {
    v: revision,
    boot: text,
    seq: count,
    cursor: text,
    state: text,
    epoch: text,
    generation: count,
    doubt: flag,
  },
  frames: {
    seq: count,
    frames: (value) =>
      Array.isArray(value) && value.every((frame) => {
        const { type, data, id } = fields(frame);
        return text(type) && text(data) && textOrNull(id);
      }),
  },
  record: { record: (value) => text(fields(value)["kind"]), state: text, cursor: text },
  beat: { cursor: text, ask: flag },
  revalidate: {
    ask: count,
    cause: text,
    epoch: text,
    generation: count,
    full: flag,
    topics: listOrNull,
    changed: listOrNull,
    removed: listOrNull,
  },
  abort: { ask: count },
  ask: { ask: count, want: text, attempt: count },
};

function matches(shapes: Readonly<Record<string, Readonly<Record<string, Check>>>>, data: unknown) {
  const message = fields(data);
  const kind = String(message["kind"]);
  return Object.hasOwn(shapes, kind) &&
    Object.entries(shapes[kind] ?? {}).every(([name, check]) => check(message[name]));
}

/**
 * Reads a message of a tab.
 *
 * @param data What came.
 * @returns The message; `null` when it is none that this version knows.
 */
export function readToHost(data: unknown): ToHost | null {
  // Every field was checked.
  return matches(TO_HOST, data) ? data as ToHost : null;
}

/**
 * Reads a message of the host.
 *
 * @param data What came.
 * @returns The message; `null` when it is none that this version knows.
 */
export function readToTab(data: unknown): ToTab | null {
  // Every field was checked.
  return matches(TO_TAB, data) ? data as ToTab : null;
}
