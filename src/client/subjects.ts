/**
 * Subjects as a client holds them: checked, and under a key.
 *
 * @module
 */
import { isEpoch } from "../wire/cursor.ts";
import { subjectFault, versionFault } from "../wire/digest.ts";
import type { Subject } from "./types.ts";

/**
 * Checks a subject, and makes the key under which it is held.
 *
 * No two subjects share a key: a kind holds no colon, so the first one ends it.
 *
 * @param subject The subject.
 * @returns `kind:ref`.
 * @throws {TypeError} When a digest would be refused for it. Also for a lone surrogate in `ref`: a
 * server that cannot hold one replaces it, and then takes two references for the same.
 */
export function subjectKey({ kind, ref }: Subject): string {
  const fault = subjectFault(kind, ref) ??
    (ref.isWellFormed() ? null : "ref holds a lone surrogate");
  if (fault !== null) throw new TypeError(`Cannot hold the subject: ${fault}`);
  return `${kind}:${ref}`;
}

/**
 * The subject that is held under a key.
 *
 * @param key What {@linkcode subjectKey} made.
 * @returns The subject.
 */
export function keyedSubject(key: string): Subject {
  const colon = key.indexOf(":");
  return { kind: key.slice(0, colon), ref: key.slice(colon + 1) };
}

/**
 * Checks a version.
 *
 * @param version The version.
 * @throws {TypeError} When a digest would be refused for it.
 */
export function checkVersion(version: string): void {
  const fault = versionFault(version);
  if (fault !== null) throw new TypeError(`Cannot hold the version: ${fault}`);
}

/**
 * Checks an epoch.
 *
 * @param epoch The epoch.
 * @throws {TypeError} When it is none.
 */
export function checkEpoch(epoch: string): void {
  if (typeof epoch === "string" && isEpoch(epoch)) return;
  throw new TypeError("Cannot use the epoch: it is not 16 lowercase hex characters");
}
