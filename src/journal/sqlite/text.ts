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
