/**
 * Text in columns.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { encodeUtf8 } from "../../wire/text.ts";
import type { SqlRow, SqlValue } from "./store.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * How a text is stored.
 *
 * @param text The text.
 * @returns Itself, or its bytes when it holds U+0000. The same text is always the same value, so that
 * topics can be compared.
 */
export function toColumn(text: string): SqlValue {
  return text.includes("\0") ? encodeUtf8(text) : text;
}

/**
 * The text that a column holds.
 *
 * @param row The row.
 * @param column The column's name.
 * @returns The text.
 * @throws {JournalError} When it holds something else.
 */
export function fromColumn(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return decoder.decode(value);
  throw new JournalError("damaged", `the ${column} of an entry is ${typeof value}`);
}

/**
 * Counts the bytes of a well-formed text without making them.
 *
 * @param text The text.
 * @returns Its length in UTF-8.
 */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Four bytes of a pair are two for each half.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}
