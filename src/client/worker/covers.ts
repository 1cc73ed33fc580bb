/**
 * Which of two cursors reaches further.
 *
 * @module
 */
import { type Cursor, parseCursor } from "../../wire/cursor.ts";

/**
 * Says whether whoever has got everything up to one cursor has everything up to another.
 *
 * @param cursor What has been reached.
 * @param other The other cursor; `""` is before everything.
 * @returns Whether it is covered. Of two epochs neither covers the other.
 */
export function covers(cursor: string, other: string): boolean {
  if (cursor === other || other === "") return true;
  const [a, b] = [read(cursor), read(other)];
  return a !== null && b !== null && a.epoch === b.epoch && a.offset >= b.offset;
}

function read(cursor: string): Cursor | null {
  try {
    return parseCursor(cursor);
  } catch {
    return null;
  }
}
