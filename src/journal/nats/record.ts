/**
 * An entry as a message: its topic as a subject, the rest as the payload.
 *
 * The payload is the text `1 AT LENGTH`, a line feed, the name, the data: 1 is the version of this
 * form, AT the time in milliseconds, LENGTH the length of the name in UTF-16 units.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { JournalEntry, JournalEvent } from "../journal.ts";

/** The version of the form. */
const VERSION = "1";

/** The token of the broadcasts. No topic has it: `=` is written `%3D` in them. */
const BROADCAST = "=";

/** What a message takes beyond topic, name and data, at most: 411 bytes of headers, 40 of the text. */
export const OVERHEAD_BYTES = 512;

const encoder = new TextEncoder();
// A byte order mark is a part of the data.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The subject of a topic.
 *
 * @param name The journal's name.
 * @param topic The topic; `""` for broadcasts.
 * @returns Two tokens; what a subject cannot hold is escaped as in a URL.
 */
export function toSubject(name: string, topic: string): string {
  return `${name}.${topic === "" ? BROADCAST : escape(topic)}`;
}

/** `encodeURIComponent` leaves alone what NATS takes for a separator and for a wildcard. */
function escape(topic: string): string {
  return encodeURIComponent(topic).replaceAll(".", "%2E").replaceAll("*", "%2A");
}

/**
 * The topic of a subject.
 *
 * @param name The journal's name.
 * @param subject A subject of the stream.
 * @returns The topic; `""` for broadcasts.
 * @throws {JournalError} `format` when no topic has this subject.
 */
export function toTopic(name: string, subject: string): string {
  const token = subject.slice(name.length + 1);
  if (token === BROADCAST) return "";
  if (!token.includes("%")) return token;
  try {
    return decodeURIComponent(token);
  } catch (error) {
    throw new JournalError("format", "a message has a subject that this library never made", error);
  }
}

/**
 * The payload of an event.
 *
 * @param event The event.
 * @param maxBytes The most bytes that topic, name and data may have together.
 * @returns The payload.
 * @throws {JournalError} `too_large` above the bound.
 */
export function toPayload(event: JournalEvent, maxBytes: number): Uint8Array {
  const { topic, name, data, at } = event;
  const head = `${VERSION} ${at} ${name.length}\n`;
  const payload = encoder.encode(head + name + data);
  const size = payload.length - head.length + (topic === "" ? 0 : encoder.encode(topic).length);
  if (size > maxBytes) {
    throw new JournalError("too_large", `the event is ${size} bytes, the most is ${maxBytes}`);
  }
  return payload;
}

/**
 * The entry of a message.
 *
 * @param name The journal's name.
 * @param subject The message's subject.
 * @param payload Its payload.
 * @param offset Its place in the stream.
 * @returns The entry.
 * @throws {JournalError} `format` when another version of this library wrote it, or none.
 */
export function toEntry(
  name: string,
  subject: string,
  payload: Uint8Array,
  offset: number,
): JournalEntry {
  const text = readText(payload, offset);
  const line = text.indexOf("\n");
  const [version, at, length, more] = text.slice(0, Math.max(0, line)).split(" ");
  if (version !== VERSION || more !== undefined || !isNumber(at) || !isNumber(length)) {
    throw new JournalError("format", `the message at ${offset} was not written by this version`);
  }
  const start = line + 1;
  const end = start + Number(length);
  return {
    offset,
    topic: toTopic(name, subject),
    name: text.slice(start, end),
    data: text.slice(end),
    at: Number(at),
  };
}

function readText(payload: Uint8Array, offset: number): string {
  try {
    return decoder.decode(payload);
  } catch (error) {
    throw new JournalError("format", `the message at ${offset} is not text`, error);
  }
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && text !== "" && Number.isFinite(Number(text));
}
