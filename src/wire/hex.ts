/**
 * Bytes as people and cursors write them.
 *
 * @module
 */

/**
 * Writes bytes as hex.
 *
 * @param bytes The bytes.
 * @returns Twice as many lowercase characters.
 */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
