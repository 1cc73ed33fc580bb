/**
 * The frame codec: one event to the bytes every connection shares.
 *
 * The framing is that of the WHATWG HTML standard, section 9.2.6; the limits are the seed's.
 *
 * @module
 */
import { FrameTooLargeError } from "../errors.ts";
import { checkedText, encodeUtf8 } from "./text.ts";
import { MAX_FRAME_BYTES } from "./timing.ts";

const LINE_END = /\r\n|\r|\n/;

/**
 * Checks the name of an event that an application sends.
 *
 * @param name The name; the empty string means a frame without an `event:` line.
 * @param keepaliveEvent The hub's own keepalive name, which no event may carry.
 * @throws {TypeError} When it starts with `sse:`, holds CR, LF or NUL, or is the keepalive's: each is
 * a mistake in the program, not in its data.
 */
export function checkEventName(name: string, keepaliveEvent: string): void {
  if (name === "") return;
  if (name.startsWith("sse:")) {
    throw new TypeError('Cannot name the event: names that start with "sse:" are the library\'s');
  }
  if (/[\r\n\0]/.test(name)) {
    throw new TypeError("Cannot name the event: the name holds CR, LF or NUL");
  }
  if (name === keepaliveEvent) {
    throw new TypeError("Cannot name the event: the name is the hub's keepalive");
  }
  if (!name.isWellFormed()) {
    throw new TypeError("Cannot name the event: the name holds a lone surrogate");
  }
}

/**
 * Encodes one frame.
 *
 * @param id The value of the `id:` line, or `null` for a frame that moves no cursor.
 * @param name The event's name; `""` writes no `event:` line.
 * @param data The event's data; split on CRLF, CR and LF into one `data:` line each.
 * @returns The frame's bytes, its blank line included.
 * @throws {InvalidUtf8Error} When the data is not valid Unicode.
 * @throws {FrameTooLargeError} When the frame would be above {@linkcode MAX_FRAME_BYTES}.
 */
export function encodeFrame(
  id: string | null,
  name: string,
  data: string | Uint8Array,
): Uint8Array {
  const text = checkedText(data);
  const head = (id === null ? "" : `id: ${id}\n`) + (name === "" ? "" : `event: ${name}\n`);
  const bytes = encodeUtf8(`${head}${dataLines(text)}\n`);
  if (bytes.length > MAX_FRAME_BYTES) throw new FrameTooLargeError(bytes.length, MAX_FRAME_BYTES);
  return bytes;
}

function dataLines(text: string): string {
  if (!LINE_END.test(text)) return `data: ${text}\n`;
  return text.split(LINE_END).map((line) => `data: ${line}\n`).join("");
}

/**
 * Encodes a comment, one line for each line of its text.
 *
 * @param text The comment.
 * @returns Its bytes, a blank line included.
 */
export function encodeComment(text: string): Uint8Array {
  return encodeUtf8(text.split(LINE_END).map((line) => `: ${line}\n`).join("") + "\n");
}

/**
 * Encodes a block which holds an id alone: it dispatches nothing and moves the reader's cursor.
 *
 * @param cursor The cursor, written as it stands.
 * @returns The block's bytes.
 */
export function encodeIdOnly(cursor: string): Uint8Array {
  return encodeUtf8(`id: ${cursor}\n\n`);
}

/**
 * Encodes the stream's `retry:` block.
 *
 * @param ms How long a client waits before it reconnects, a positive whole number of milliseconds.
 * @returns The block's bytes.
 */
export function encodeRetry(ms: number): Uint8Array {
  return encodeUtf8(`retry: ${ms}\n\n`);
}

/**
 * Joins chunks into one.
 *
 * @param chunks The chunks, in order; a single one is returned as it is, not copied.
 * @returns Their bytes in one array.
 */
export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const only = chunks[0];
  if (chunks.length === 1 && only !== undefined) return only;
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}
