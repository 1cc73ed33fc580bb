/**
 * The envelope: what pods write to each other over a relay, as bytes.
 *
 * One line of JSON, the head, then LF, then the body as it is: an event's data never stands as a string
 * inside of JSON. Reading is strict, for a broker is a place where others may write, and it never
 * throws.
 *
 * @module
 */
import { isEpoch } from "../wire/cursor.ts";
import { readObject } from "../wire/json.ts";
import { encodeUtf8 } from "../wire/text.ts";
import { MAX_OFFSET } from "../wire/timing.ts";
import { checkTopic } from "../wire/topic.ts";

/** The version of the envelope. One of another version is not read. */
export const ENVELOPE_VERSION = 1;

/** The most bytes that a head may have. */
export const MAX_HEAD_BYTES = 4096;

/** The most bytes that a command's or a reply's body may have. */
export const MAX_COMMAND_BYTES = 4096;

/** Who sent an envelope, and how far it had counted then. */
export interface Stamp {
  /** The pod's name: 1 to 64 of `[A-Za-z0-9._-]`. */
  readonly origin: string;
  /** Which start of it: 16 lowercase hex characters, random. Two starts never share one. */
  readonly boot: string;
  /** Counts its envelopes, from 1: what comes twice is known by it. */
  readonly seq: number;
  /** Counts its durable events, this one included, from 1; 0 before the first. */
  readonly n: number;
}

/** What pods tell each other. */
export type Message =
  /** An event that was published there. */
  | {
    readonly kind: "event";
    readonly topic: string;
    readonly name: string;
    readonly ephemeral: boolean;
    /** The event's data: UTF-8, not checked. */
    readonly body: Uint8Array;
  }
  /** It is there, has counted so far, and says so again within `beatMs`. */
  | { readonly kind: "beat"; readonly beatMs: number }
  /** The same; and everybody is asked for a beat at once. */
  | { readonly kind: "join"; readonly beatMs: number }
  /** It sends no more. */
  | { readonly kind: "leave" }
  /** A question of an id, which whoever can answers. */
  | { readonly kind: "command"; readonly id: string; readonly body: Uint8Array }
  /** The answer to a question, for the boot that asked. */
  | {
    readonly kind: "reply";
    readonly id: string;
    readonly to: string;
    readonly body: Uint8Array;
  };

/** A message, and who sent it. */
export type Envelope = Message & { readonly stamp: Stamp };

/** An envelope that was read; or why it could not be: of another version, or against the rules. */
export type Reading =
  | { readonly envelope: Envelope }
  | { readonly fault: "version" | "malformed"; readonly reason: string };

const LF = 10;
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const MAX_BEAT_MS = 2_147_483_647;
const NOTHING: Uint8Array = new Uint8Array(0);
const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Says whether a string may be a pod's name.
 *
 * @param text The string to look at.
 * @returns Whether it may.
 */
export function isOrigin(text: string): boolean {
  return NAME.test(text);
}

/**
 * Writes an envelope.
 *
 * @param stamp Who sends it.
 * @param message What it says.
 * @returns Its bytes.
 */
export function encodeEnvelope(stamp: Stamp, message: Message): Uint8Array {
  const head = encodeHead(stamp, message);
  const body = "body" in message ? message.body : NOTHING;
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

/**
 * Writes the head alone, its line end included.
 *
 * @param stamp Who sends it.
 * @param message What it says.
 * @returns The bytes before the body.
 */
export function encodeHead(stamp: Stamp, message: Message): Uint8Array {
  const { origin: o, boot: b, seq: s, n } = stamp;
  const common = { v: ENVELOPE_VERSION, k: message.kind, o, b, s, n };
  return encodeUtf8(`${JSON.stringify({ ...common, ...fieldsOf(message) })}\n`);
}

function fieldsOf(message: Message): Readonly<Record<string, unknown>> {
  switch (message.kind) {
    case "event": {
      const { topic, name, ephemeral } = message;
      return {
        ...(topic !== "" && { t: topic }),
        ...(name !== "" && { e: name }),
        ...(ephemeral && { x: 1 }),
      };
    }
    case "beat":
    case "join":
      return { w: message.beatMs };
    case "leave":
      return {};
    case "command":
      return { i: message.id };
    case "reply":
      return { i: message.id, to: message.to };
  }
}

/**
 * Reads an envelope.
 *
 * @param bytes Any bytes.
 * @returns The envelope, whose body is a part of these bytes; or why there is none. The reason names
 * the broken rule, never what broke it.
 */
export function decodeEnvelope(bytes: Uint8Array): Reading {
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(LF);
  if (end === -1) return malformed(`there is no head within ${MAX_HEAD_BYTES} bytes`);
  const head = readHead(bytes.subarray(0, end));
  if (head === null) return malformed("the head is no object of JSON");
  if (head.v !== ENVELOPE_VERSION) {
    const named = isCount(head.v) && head.v > 0;
    return named
      ? { fault: "version", reason: `it is of version ${head.v}` }
      : malformed("the head names no version");
  }
  const stamp = readStamp(head);
  if (stamp === null) return malformed("the head does not say who sent it");
  const message = readMessage(head, stamp, bytes.subarray(end + 1));
  if (typeof message === "string") return malformed(message);
  return { envelope: { ...message, stamp } };
}

function malformed(reason: string): Reading {
  return { fault: "malformed", reason };
}

function readHead(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    return readObject(decoder.decode(bytes));
  } catch {
    return null;
  }
}

function readStamp(head: Readonly<Record<string, unknown>>): Stamp | null {
  const { o: origin, b: boot, s: seq, n } = head;
  if (typeof origin !== "string" || !isOrigin(origin)) return null;
  if (!isBoot(boot) || !isCount(seq) || seq === 0 || !isCount(n)) return null;
  return { origin, boot, seq, n };
}

/** The message, or the rule that it breaks. */
function readMessage(
  head: Readonly<Record<string, unknown>>,
  stamp: Stamp,
  body: Uint8Array,
): Message | string {
  const { k: kind } = head;
  switch (kind) {
    case "event":
      return readEvent(head, stamp, body);
    case "beat":
    case "join": {
      const { w: beatMs } = head;
      if (!isCount(beatMs) || beatMs === 0 || beatMs > MAX_BEAT_MS) return "it names no interval";
      return body.length > 0 ? "it has a body" : { kind, beatMs };
    }
    case "leave":
      return body.length > 0 ? "it has a body" : { kind };
    case "command":
    case "reply": {
      const { i: id, to } = head;
      if (!isBoot(id)) return "it has no id";
      if (body.length > MAX_COMMAND_BYTES) return `its body is above ${MAX_COMMAND_BYTES} bytes`;
      if (kind === "command") return { kind, id, body };
      return isBoot(to) ? { kind, id, to, body } : "it names nobody who asked";
    }
    default:
      return "its kind is unknown";
  }
}

function readEvent(
  head: Readonly<Record<string, unknown>>,
  stamp: Stamp,
  body: Uint8Array,
): Message | string {
  const { t: topic = "", e: name = "", x = 0 } = head;
  if (typeof topic !== "string" || !isTopic(topic)) return "its topic is outside the grammar";
  if (typeof name !== "string") return "its name is no text";
  if (x !== 0 && x !== 1) return "it does not say whether it is ephemeral";
  if (x === 0 && stamp.n === 0) return "it is not counted";
  return { kind: "event", topic, name, ephemeral: x === 1, body };
}

function isTopic(topic: string): boolean {
  if (topic === "") return true;
  try {
    checkTopic(topic);
    return true;
  } catch {
    return false;
  }
}

/** A boot and an id have the form of an epoch: 64 bits. */
function isBoot(value: unknown): value is string {
  return typeof value === "string" && isEpoch(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 &&
    value <= MAX_OFFSET &&
    // JSON can say it, and what is written again would be another number.
    !Object.is(value, -0);
}
