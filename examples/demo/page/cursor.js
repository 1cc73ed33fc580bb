// @ts-check
/**
 * The offset of a cursor; −1 when there is none.
 * @param {string} cursor
 */
export function offsetOf(cursor) {
  return cursor === "" ? -1 : Number(cursor.slice(17));
}
