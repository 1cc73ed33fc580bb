/**
 * Names for sequences.
 *
 * @module
 */

/** A name that was never used before: 64 random bits as 16 lowercase hex characters. */
export function newEpoch(): string {
  const random = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
