/**
 * The cursor: where in a hub's sequence a client stands, as `<epoch>:<offset>`.
 *
 * @module
 */
import { CursorError } from "../errors.ts";
import { MAX_OFFSET } from "./timing.ts";

/** A position in a stream: the epoch that issued the offset, and the offset itself. */
export interface Cursor {
  /** 16 lowercase hex characters: one lifetime of a sequence. */
  readonly epoch: string;
  /** The offset within that epoch, from 0 to {@linkcode MAX_OFFSET}. */
  readonly offset: number;
}

const EPOCH = /^[0-9a-f]{16}$/;
const OFFSET = /^(?:0|[1-9][0-9]{0,15})$/;

/**
 * Says whether a string is an epoch: exactly 16 lowercase hex characters.
 *
 * @param text The string to look at.
 * @returns Whether it is an epoch.
 */
export function isEpoch(text: string): boolean {
  return EPOCH.test(text);
}

/**
 * Says whether a string is an offset: a decimal number without a leading zero, in its bounds.
 *
 * @param text The string to look at.
 * @returns Whether it is an offset.
 */
export function isOffset(text: string): boolean {
  return OFFSET.test(text) && Number(text) <= MAX_OFFSET;
}

/**
 * Parses the value of a `Last-Event-ID`.
 *
 * The rule is the seed's: exactly 16 lowercase hex characters, a colon, and a decimal offset without
 * a leading zero, at most {@linkcode MAX_OFFSET}.
 *
 * @param text The value; the empty string means that there is no cursor.
 * @returns The cursor, or `null` for the empty string.
 * @throws {CursorError} When the value is anything else; the message says which rule it broke.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseCursor } from "@tidemark/sse";
 *
 * assertEquals(parseCursor("00c0ffee00c0ffee:42"), { epoch: "00c0ffee00c0ffee", offset: 42 });
 * assertEquals(parseCursor(""), null);
 * ```
 */
export function parseCursor(text: string): Cursor | null {
  const cursor = readCursor(text);
  if (cursor === null && text !== "") throw new CursorError(faultOf(text));
  return cursor;
}

/** The first rule that a text breaks, which is no cursor. */
function faultOf(text: string): string {
  if (text.length > 33) return `it has ${text.length} characters, the most is 33`;
  if (text.charAt(16) !== ":") return "the 17th character is not the colon after an epoch of 16";
  if (!isEpoch(text.slice(0, 16))) return "the epoch is not 16 lowercase hex characters";
  if (!OFFSET.test(text.slice(17))) {
    return "the offset is not a decimal number without a leading zero";
  }
  return `the offset is above ${MAX_OFFSET}`;
}

/**
 * Reads what may be a cursor and need not be one.
 *
 * @param text Any text.
 * @returns The cursor; `null` when it is none, or empty.
 */
export function readCursor(text: string): Cursor | null {
  // Before any slice: the longest cursor has 33 characters, and what a request holds may have more.
  if (text.length > 33 || text.charAt(16) !== ":") return null;
  const epoch = text.slice(0, 16);
  const offset = text.slice(17);
  return isEpoch(epoch) && isOffset(offset) ? { epoch, offset: Number(offset) } : null;
}

/**
 * Writes a cursor as the value of an `id:` field; the inverse of {@linkcode parseCursor}.
 *
 * @param cursor The cursor to write.
 * @returns `<epoch>:<offset>`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { formatCursor } from "@tidemark/sse";
 *
 * assertEquals(formatCursor({ epoch: "00c0ffee00c0ffee", offset: 42 }), "00c0ffee00c0ffee:42");
 * ```
 */
export function formatCursor(cursor: Cursor): string {
  return `${cursor.epoch}:${cursor.offset}`;
}
