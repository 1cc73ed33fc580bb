/**
 * What a store keeps for a ticket: its claims and its end, as JSON of a known version.
 *
 * @module
 */
import { readObject } from "../wire/json.ts";
import { readClaims } from "./claims.ts";
import type { Claims } from "./types.ts";

/** The version that is written, and the only one that is read. */
const VERSION = 1;

/** What stands for a ticket. */
export interface TicketRecord {
  /** What the ticket stands for. */
  readonly claims: Claims;
  /** When it ends, in milliseconds since the Unix epoch. */
  readonly until: number;
}

/**
 * Writes a record.
 *
 * @param record The record; its claims have been checked.
 * @returns One line of JSON.
 */
export function writeRecord({ claims, until }: TicketRecord): string {
  return JSON.stringify({ v: VERSION, until, claims });
}

/**
 * Reads a record.
 *
 * @param value What a store gave.
 * @param now The time, in milliseconds since the Unix epoch.
 * @returns The record; `null` when its time is over; `undefined` when this version of the library did
 * not write it.
 */
export function readRecord(value: string, now: number): TicketRecord | null | undefined {
  const fields = readObject(value);
  if (fields === null || fields["v"] !== VERSION) return undefined;
  const { until, claims: kept } = fields;
  if (typeof until !== "number") return undefined;
  // Not `until <= now`: a clock that says NaN must let nothing through.
  if (!(now < until)) return null;
  const claims = readClaims(kept, now);
  return claims === null ? undefined : { claims, until };
}
