/**
 * Whether there is something that a stream's revalidation has yet to cover: what a tab must know when
 * its host goes, and what a host tells a tab that comes.
 *
 * @module
 */
import type { LifecycleRecord } from "../records.ts";

/**
 * Follows the stream's records.
 *
 * @param doubt How it stood before.
 * @param record What happened.
 * @returns How it stands now.
 */
export function followDoubt(doubt: boolean, record: LifecycleRecord): boolean {
  switch (record.kind) {
    case "lag":
    case "revalidate_failed":
      return true;
    case "revalidated":
      return doubt && record.cause === "topic_gap";
    default:
      return doubt;
  }
}
