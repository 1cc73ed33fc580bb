/**
 * Cutting what a client holds into requests that a hub takes.
 *
 * @module
 */
import { encodeUtf8 } from "../wire/text.ts";
import { DIGEST_MAX_BODY_BYTES } from "../wire/timing.ts";
import { checkEpoch, checkVersion, subjectKey } from "./subjects.ts";
import type { HeldVersion, VersionSnapshot } from "./versions.ts";

/** What one request asks. */
export interface Batch {
  /** The epoch of the versions; `""` when it is not known. */
  readonly epoch: string;
  /** The subjects, by the key under which they are held. */
  readonly held: ReadonlyMap<string, HeldVersion>;
  /** The request's body: JSON of at most 512 KiB. */
  readonly body: string;
}

/**
 * Cuts a snapshot into batches, in its order. It is checked, and copied, before the first of them.
 *
 * @param snapshot What is held. Without subjects there is one batch, an empty one.
 * @param maxSubjects The most subjects of one batch.
 * @returns The batches, each made when it is asked for.
 * @throws {TypeError} When the snapshot holds what no version map takes, or a subject twice: a hub
 * would refuse it.
 */
export function cutBatches(
  snapshot: VersionSnapshot,
  maxSubjects: number,
): Iterable<Batch> {
  const { epoch } = snapshot;
  if (epoch !== "") checkEpoch(epoch);
  const all = new Map<string, HeldVersion>();
  for (const { kind, ref, version } of snapshot.subjects) {
    const key = subjectKey({ kind, ref });
    checkVersion(version);
    if (all.has(key)) throw new TypeError("Cannot check the versions: a subject twice");
    all.set(key, { kind, ref, version });
  }
  return cut(epoch, all, maxSubjects);
}

function* cut(
  epoch: string,
  all: ReadonlyMap<string, HeldVersion>,
  maxSubjects: number,
): Generator<Batch> {
  const prefix = `{"epoch":${JSON.stringify(epoch)},"subjects":[`;
  const suffix = "]}";
  // Each entry is counted with a comma; the first has none.
  const empty = prefix.length + suffix.length - 1;
  let held = new Map<string, HeldVersion>();
  let entries: string[] = [];
  let bytes = empty;
  const batch = (): Batch => ({ epoch, held, body: prefix + entries.join(",") + suffix });
  for (const [key, subject] of all) {
    const entry = JSON.stringify(subject);
    const more = encodeUtf8(entry).length + 1;
    if (held.size === maxSubjects || bytes + more > DIGEST_MAX_BODY_BYTES) {
      yield batch();
      held = new Map();
      entries = [];
      bytes = empty;
    }
    held.set(key, subject);
    entries.push(entry);
    bytes += more;
  }
  if (held.size > 0 || all.size === 0) yield batch();
}
