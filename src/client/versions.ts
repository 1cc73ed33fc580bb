/**
 * The versions of what an application holds: what a digest asks about.
 *
 * @module
 */
import { notify } from "./notify.ts";
import { checkEpoch, checkVersion, keyedSubject, subjectKey } from "./subjects.ts";
import type { Subject } from "./types.ts";

/** What the application holds of one subject. */
export interface HeldVersion extends Subject {
  /** The version: 1 to 64 bytes of printable ASCII. Compared for equality alone. */
  readonly version: string;
}

/** What a map held at one moment. Later changes of the map do not reach it. */
export interface VersionSnapshot {
  /** The epoch that the versions belong to; `""` when it is not known. */
  readonly epoch: string;
  /** The subjects, each once, in the order in which they were first observed. */
  readonly subjects: readonly HeldVersion[];
}

/** Is told of a stamp that was ignored, and of its epoch. What it throws is reported to the platform. */
export type StaleListener = (subject: Subject, epoch: string) => void;

/**
 * The versions of what an application holds, bound to one epoch.
 *
 * It takes nothing that a server would refuse: a `kind` is 1 to 32 bytes of `[a-z][a-z0-9_]*`, a
 * `ref` at most 512 bytes without control, line-separator or bidi characters, a `version` 1 to 64
 * bytes of printable ASCII.
 */
export interface VersionMap {
  /** The epoch it is bound to; `""` before the first. */
  readonly epoch: string;
  /** How many subjects it holds. */
  readonly size: number;
  /**
   * Binds it to an epoch. Another one than before clears it, for versions of different epochs cannot
   * be compared; the same one does nothing. A stream does this at each hello.
   *
   * @param epoch 16 lowercase hex characters.
   * @returns Whether it held something, and was cleared: then only a full refetch helps.
   * @throws {TypeError} When it is no epoch.
   */
  bind(epoch: string): boolean;
  /**
   * Notes which version of a subject the application holds now. The last one counts.
   *
   * Before the first {@linkcode bind} every stamp is taken, as its epoch cannot be judged; the first
   * `bind` then clears the map and says so. An application that knows the epoch of what it starts
   * with, from a page rendered by the server, binds the map itself first.
   *
   * @param subject The subject.
   * @param version Its version.
   * @param epoch The epoch the version is stamped with; the map's own when it is not known.
   * @returns Whether it was taken. A stamp of another epoch is ignored, and told to those who asked
   * by {@linkcode onStale}: a digest says nothing of what came with it.
   * @throws {TypeError} When one of them is outside the grammar; the message names the rule.
   */
  observe(subject: Subject, version: string, epoch?: string): boolean;
  /**
   * Forgets a subject: the application holds it no longer.
   *
   * @param subject The subject; one that is not held changes nothing.
   * @throws {TypeError} When it is outside the grammar.
   */
  forget(subject: Subject): void;
  /**
   * Says whether a version of a subject is held.
   *
   * @param subject The subject.
   * @returns Whether it is.
   * @throws {TypeError} When it is outside the grammar.
   */
  has(subject: Subject): boolean;
  /** Everything it holds, and the epoch, as of now. */
  snapshot(): VersionSnapshot;
  /**
   * Tells of each stamp that is ignored from now on. A stream makes a `stale_stamp` record of it.
   *
   * @param listener Whom to tell. There may be several.
   * @returns Stops telling this one.
   */
  onStale(listener: StaleListener): () => void;
}

/** The map. One string for each subject besides its version: there may be many. */
class Versions implements VersionMap {
  readonly #held = new Map<string, string>();
  /** In boxes of their own, so that one listener may be there twice. */
  readonly #listeners = new Set<{ readonly listener: StaleListener }>();
  #epoch = "";

  get epoch(): string {
    return this.#epoch;
  }

  get size(): number {
    return this.#held.size;
  }

  bind(epoch: string): boolean {
    checkEpoch(epoch);
    if (epoch === this.#epoch) return false;
    const cleared = this.#held.size > 0;
    this.#held.clear();
    this.#epoch = epoch;
    return cleared;
  }

  observe(subject: Subject, version: string, epoch?: string): boolean {
    const key = subjectKey(subject);
    checkVersion(version);
    if (epoch !== undefined) {
      checkEpoch(epoch);
      if (this.#epoch !== "" && epoch !== this.#epoch) {
        this.#tellStale(key, epoch);
        return false;
      }
    }
    this.#held.set(key, version);
    return true;
  }

  forget(subject: Subject): void {
    this.#held.delete(subjectKey(subject));
  }

  has(subject: Subject): boolean {
    return this.#held.has(subjectKey(subject));
  }

  snapshot(): VersionSnapshot {
    const subjects = Array.from(
      this.#held,
      ([key, version]) => ({ ...keyedSubject(key), version }),
    );
    return { epoch: this.#epoch, subjects };
  }

  onStale(listener: StaleListener): () => void {
    const box = { listener };
    this.#listeners.add(box);
    return () => void this.#listeners.delete(box);
  }

  #tellStale(key: string, epoch: string): void {
    // A copy: who is told may stop listening.
    for (const { listener } of [...this.#listeners]) {
      notify(() => listener(keyedSubject(key), epoch));
    }
  }
}

/**
 * Makes an empty map, bound to no epoch.
 *
 * @returns The map.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createVersionMap } from "@tidemark/sse/client";
 *
 * const versions = createVersionMap();
 * versions.bind("00c0ffee00c0ffee");
 * versions.observe({ kind: "chat", ref: "c1" }, "7");
 * assertEquals(versions.snapshot().subjects, [{ kind: "chat", ref: "c1", version: "7" }]);
 *
 * // What a server of another epoch stamped does not enter.
 * versions.onStale((subject, epoch) => console.log(`${subject.ref} is of ${epoch}`));
 * assertEquals(versions.observe({ kind: "chat", ref: "c1" }, "2", "0123456789abcdef"), false);
 *
 * // Another epoch makes what is held worthless, and says that there was something.
 * assertEquals(versions.bind("0123456789abcdef"), true);
 * assertEquals(versions.size, 0);
 * ```
 */
export function createVersionMap(): VersionMap {
  return new Versions();
}
