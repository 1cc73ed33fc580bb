/**
 * The grammar of the digest's subjects and versions: what a hub refuses, and what a client therefore
 * never holds.
 *
 * @module
 */
import { encodeUtf8, hasUnsafeCharacter } from "./text.ts";

/** The most bytes of a subject's reference. */
const MAX_REF_BYTES = 512;
const KIND = /^[a-z][a-z0-9_]{0,31}$/;
const VERSION = /^[\x20-\x7e]{1,64}$/;

/**
 * Judges a subject.
 *
 * @param kind What it is.
 * @param ref Which one.
 * @returns The first rule it breaks, with the bound; `null` when both are texts within the grammar.
 */
export function subjectFault(kind: unknown, ref: unknown): string | null {
  if (typeof kind !== "string" || !KIND.test(kind)) {
    return "kind is not 1 to 32 bytes of [a-z][a-z0-9_]*";
  }
  // A text has at least as many bytes as characters: a long one need not be encoded to be refused.
  if (
    typeof ref !== "string" || ref.length > MAX_REF_BYTES ||
    encodeUtf8(ref).length > MAX_REF_BYTES
  ) {
    return "ref is not a text of at most 512 bytes";
  }
  if (hasUnsafeCharacter(ref)) return "ref holds a control, line-separator or bidi character";
  return null;
}

/**
 * Judges a version.
 *
 * @param version The version.
 * @returns The rule it breaks, with the bound; `null` when it is a text within the grammar.
 */
export function versionFault(version: unknown): string | null {
  if (typeof version === "string" && VERSION.test(version)) return null;
  return "version is not 1 to 64 bytes of printable ASCII";
}
