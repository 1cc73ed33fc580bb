/**
 * Judging the answer to a digest. An answer is believed only when it fits what was asked: what a wrong
 * one leaves out would stay out of date for good.
 *
 * @module
 */
import { readCursor } from "../wire/cursor.ts";
import { readObject } from "../wire/json.ts";
import { versionFault } from "../wire/digest.ts";
import type { Batch } from "./digest_batches.ts";
import type { Subject } from "./types.ts";
import type { HeldVersion } from "./versions.ts";

/** A subject that is not there any longer, for this client. */
export interface RemovedSubject extends Subject {
  /** `gone`; `forbidden` when it exists and may not be read, where the server tells them apart. */
  readonly reason: "gone" | "forbidden";
}

/** What a digest found out. */
export interface DigestResult {
  /** The epoch of the server's versions; `""` when its answer could not be trusted. */
  readonly epoch: string;
  /**
   * The oldest offset the server can replay, in decimal; of several batches the highest. `"0"` when
   * it is not known.
   */
  readonly floor: string;
  /**
   * The server's newest offset, in decimal, read after the versions were; of several batches the
   * lowest. `"0"` when it is not known.
   */
  readonly head: string;
  /** Whether everything held must be fetched again; both lists are empty then. */
  readonly mustRefetch: boolean;
  /** What has another version now, and which, in the order of the server. */
  readonly changed: readonly HeldVersion[];
  /** What is to be dropped, in the order of the server. */
  readonly removed: readonly RemovedSubject[];
}

/**
 * Says that everything held must be fetched again.
 *
 * @param position What the server said of itself; nothing, when its answer cannot be trusted.
 * @returns The result.
 */
export function mustRefetchAll(
  position: Pick<DigestResult, "epoch" | "floor" | "head"> = { epoch: "", floor: "0", head: "0" },
): DigestResult {
  return { ...position, mustRefetch: true, changed: [], removed: [] };
}

/** Room for the fields around the lists, whitespace, and fields of later revisions. */
const ENVELOPE_BYTES = 4096;
/** Room for one entry's names, whitespace, and a version of 64 escaped characters. */
const ENTRY_BYTES = 192 + 64 * 6;

/**
 * The largest answer to a batch: each subject listed once, by a server that escapes every character.
 *
 * @param batch What was asked.
 * @returns The bound in bytes.
 */
export function maxAnswerBytes(batch: Batch): number {
  let bytes = ENVELOPE_BYTES;
  for (const { kind, ref } of batch.held.values()) {
    bytes += ENTRY_BYTES + 6 * (kind.length + ref.length);
  }
  return bytes;
}

/**
 * Reads the answer to a batch.
 *
 * @param text The answer's body.
 * @param batch What was asked.
 * @returns What it says; `null` when it does not fit the batch. Unknown fields are ignored.
 */
export function readAnswer(text: string, batch: Batch): DigestResult | null {
  const raw = readObject(text);
  if (raw === null) return null;
  const { epoch, floor, head, checked, must_refetch: mustRefetch } = raw;
  if (typeof epoch !== "string" || typeof floor !== "string" || typeof head !== "string") {
    return null;
  }
  if (!isCursor(`${epoch}:${floor}`) || !isCursor(`${epoch}:${head}`)) return null;
  if (mustRefetch === true) return mustRefetchAll({ epoch, floor, head });
  if (mustRefetch !== false || checked !== batch.held.size) return null;
  // Where nothing is held, nothing was compared, and a hub answers whatever the epoch is.
  if (epoch !== batch.epoch && batch.held.size > 0) return null;
  const listed = new Set<HeldVersion>();
  const changed = readList(raw["changed"], batch, listed, readChanged);
  const removed = readList(raw["removed"], batch, listed, readRemoved);
  if (changed === null || removed === null) return null;
  return { epoch, floor, head, mustRefetch, changed, removed };
}

/**
 * Joins the answers of batches.
 *
 * @param answers The answers, in order: none but the last says that all must be fetched again.
 * @returns All in one; the last, if it says so.
 */
export function joinAnswers(answers: readonly DigestResult[]): DigestResult {
  const last = answers.at(-1) ?? mustRefetchAll();
  if (last.mustRefetch) return last;
  const byValue = (a: string, b: string): number => Number(a) - Number(b);
  return {
    epoch: last.epoch,
    floor: answers.map(({ floor }) => floor).sort(byValue).at(-1) ?? last.floor,
    head: answers.map(({ head }) => head).sort(byValue)[0] ?? last.head,
    mustRefetch: false,
    changed: answers.flatMap(({ changed }) => changed),
    removed: answers.flatMap(({ removed }) => removed),
  };
}

/** Reads a list whose subjects were asked, each at most once in both lists. */
function readList<T>(
  list: unknown,
  batch: Batch,
  listed: Set<HeldVersion>,
  read: (subject: HeldVersion, entry: Readonly<Record<string, unknown>>) => T | null,
): T[] | null {
  if (!Array.isArray(list)) return null;
  const found: T[] = [];
  for (const entry of list) {
    const subject = askedSubject(entry, batch);
    if (subject === null || listed.has(subject)) return null;
    listed.add(subject);
    const one = read(subject, entry);
    if (one === null) return null;
    found.push(one);
  }
  return found;
}

function readChanged(
  { kind, ref, version: held }: HeldVersion,
  { version }: Readonly<Record<string, unknown>>,
): HeldVersion | null {
  if (typeof version !== "string" || versionFault(version) !== null) return null;
  // What says that the same version is another one has not compared what was sent.
  return version === held ? null : { kind, ref, version };
}

function readRemoved(
  { kind, ref }: HeldVersion,
  { reason }: Readonly<Record<string, unknown>>,
): RemovedSubject | null {
  return reason === "gone" || reason === "forbidden" ? { kind, ref, reason } : null;
}

/** The subject of the batch that an entry names; `null` when it names none. */
function askedSubject(entry: unknown, batch: Batch): HeldVersion | null {
  if (typeof entry !== "object" || entry === null) return null;
  const { kind, ref } = entry as Readonly<Record<string, unknown>>;
  if (typeof kind !== "string" || typeof ref !== "string") return null;
  const subject = batch.held.get(`${kind}:${ref}`);
  // An answer's kind is not checked: with a colon in it, it would make another subject's key.
  return subject !== undefined && subject.kind === kind ? subject : null;
}

function isCursor(text: string): boolean {
  return readCursor(text) !== null;
}
