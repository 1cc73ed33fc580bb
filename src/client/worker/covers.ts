/**
 * Which of two cursors reaches further.
 *
 * @module
 */
import { readCursor } from "../../wire/cursor.ts";

/**
 * Says whether whoever has got everything up to one cursor has everything up to another.
 *
 * @param cursor What has been reached.
 * @param other The other cursor; `""` is before everything.
 * @returns Whether it is covered. Of two epochs neither covers the other.
 */
export function covers(cursor: string, other: string): boolean {
  if (cursor === other || other === "") return true;
  const [a, b] = [readCursor(cursor), readCursor(other)];
  return a !== null && b !== null && a.epoch === b.epoch && a.offset >= b.offset;
}
