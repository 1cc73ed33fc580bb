/**
 * What text may cross the wire, and where it goes wrong when it may not.
 *
 * @module
 */
import { InvalidUtf8Error } from "../errors.ts";

const encoder = new TextEncoder();
const strictDecoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Control characters, line separators and bidirectional controls: they lie to whoever reads. */
const UNSAFE =
  // deno-lint-ignore no-control-regex -- control characters are what this looks for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
const UNSAFE_ALL = new RegExp(UNSAFE.source, "g");

/**
 * Encodes a well-formed string as UTF-8.
 *
 * @param text The string.
 * @returns Its bytes.
 */
export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * How many bytes a well-formed string has in UTF-8.
 *
 * @param text The string.
 */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    // Each half of a surrogate pair stands for two of its four bytes.
    length += code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 1 : 2;
  }
  return length;
}

/**
 * Says whether a string holds a control, line-separator or bidirectional character.
 *
 * @param text The string to look at.
 * @returns Whether it does.
 */
export function hasUnsafeCharacter(text: string): boolean {
  return UNSAFE.test(text);
}

/**
 * Makes a value that came from a request fit for a log line.
 *
 * @param text The value.
 * @param maxBytes The most bytes of UTF-8 that are kept.
 * @returns The value without unsafe characters, cut at a character's edge.
 */
export function forLog(text: string, maxBytes = 128): string {
  // Cut first: a request's value may be megabytes long, and a regular expression reads all of it.
  const piece = text.slice(0, 2 * maxBytes);
  // The cut may have halved a pair; what was halved before is shown as such.
  const halved = piece.length < text.length && /[\ud800-\udbff]$/.test(piece);
  const clean = (halved ? piece.slice(0, -1) : piece).toWellFormed().replace(UNSAFE_ALL, "");
  const { read } = encoder.encodeInto(clean, new Uint8Array(maxBytes));
  return clean.slice(0, read);
}

/**
 * Makes what was thrown fit for a log line: a message may repeat what came from a request.
 *
 * @param error What was thrown.
 * @param maxBytes The most bytes of UTF-8 that are kept.
 * @returns Its name and message.
 */
export function errorForLog(error: unknown, maxBytes = 512): string {
  try {
    return forLog(String(error), maxBytes);
  } catch {
    return "something that has no text";
  }
}

/**
 * The index of the first lone surrogate of a string.
 *
 * @param text The string to look at.
 * @returns The UTF-16 index, or −1 when the string is well formed.
 */
export function loneSurrogateIndex(text: string): number {
  if (text.isWellFormed()) return -1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0xd800 || code > 0xdfff) continue;
    const next = text.charCodeAt(i + 1);
    if (code > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return i;
    i++;
  }
  return -1;
}

/**
 * The text of an event's data, checked.
 *
 * @param data A string, or bytes of UTF-8.
 * @returns The text. Bytes have been read: the caller may use its buffer again.
 * @throws {InvalidUtf8Error} When a string has a lone surrogate or bytes are not UTF-8.
 * @throws {TypeError} When it is neither.
 */
export function checkedText(data: string | Uint8Array): string {
  if (typeof data === "string") {
    const index = loneSurrogateIndex(data);
    if (index !== -1) throw new InvalidUtf8Error(index);
    return data;
  }
  // What only a program without types can pass: an empty event would hide the mistake.
  if (!(data instanceof Uint8Array)) {
    throw new TypeError("Cannot send the data: it is neither a string nor a Uint8Array");
  }
  try {
    return strictDecoder.decode(data);
  } catch {
    throw new InvalidUtf8Error(invalidUtf8Index(data));
  }
}

/**
 * The index of the first byte that cannot belong to valid UTF-8.
 *
 * @param bytes Bytes which a strict decoder refused.
 * @returns The index at which the first broken sequence starts.
 */
function invalidUtf8Index(bytes: Uint8Array): number {
  let i = 0;
  while (i < bytes.length) {
    const length = sequenceLength(bytes, i);
    if (length === 0) return i;
    i += length;
  }
  return bytes.length;
}

/** The length of the valid sequence that starts at `i`, or 0 when none does (Unicode, table 3-7). */
function sequenceLength(bytes: Uint8Array, i: number): number {
  const first = bytes[i];
  if (first === undefined) return 0;
  if (first < 0x80) return 1;
  const within = (at: number, low: number, high: number): boolean => {
    const byte = bytes[at];
    return byte !== undefined && byte >= low && byte <= high;
  };
  if (first >= 0xc2 && first <= 0xdf) return within(i + 1, 0x80, 0xbf) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const low = first === 0xe0 ? 0xa0 : 0x80;
    const high = first === 0xed ? 0x9f : 0xbf;
    return within(i + 1, low, high) && within(i + 2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const low = first === 0xf0 ? 0x90 : 0x80;
    const high = first === 0xf4 ? 0x8f : 0xbf;
    const rest = within(i + 2, 0x80, 0xbf) && within(i + 3, 0x80, 0xbf);
    return within(i + 1, low, high) && rest ? 4 : 0;
  }
  return 0;
}
