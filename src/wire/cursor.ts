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
  if (text === "") return null;
  if (text.length > 33) throw new CursorError(`it has ${text.length} characters, the most is 33`);
  if (text.charAt(16) !== ":") {
    throw new CursorError("the 17th character is not the colon after an epoch of 16");
  }
  const epoch = text.slice(0, 16);
  if (!isEpoch(epoch)) throw new CursorError("the epoch is not 16 lowercase hex characters");
  const digits = text.slice(17);
  if (!OFFSET.test(digits)) {
    throw new CursorError("the offset is not a decimal number without a leading zero");
  }
  const offset = Number(digits);
  if (offset > MAX_OFFSET) throw new CursorError(`the offset is above ${MAX_OFFSET}`);
  return { epoch, offset };
}

/**
 * Reads what may be a cursor and need not be one.
 *
 * @param text Any text.
 * @returns The cursor; `null` when it is none, or empty.
 */
export function readCursor(text: string): Cursor | null {
  try {
    return parseCursor(text);
  } catch {
    return null;
  }
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
