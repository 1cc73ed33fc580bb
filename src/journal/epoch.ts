/**
 * Names for sequences.
 *
 * @module
 */
import { toHex } from "../wire/hex.ts";

/** A name that was never used before: 64 random bits as 16 lowercase hex characters. */
export function newEpoch(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(8)));
}
