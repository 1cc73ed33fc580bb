/**
 * Telling what was recalled from what comes live, where neither has an offset that the other knows: by
 * their content.
 *
 * An application that keeps its own log of a topic recalls from it while the topic is already
 * subscribed, so what is published meanwhile comes twice. A duplicate is benign, and a missing event is
 * the bug; so one occurrence cancels one occurrence, only the newest 512 are remembered, and in doubt an
 * event is delivered. The window of 512 content hashes is the rule of the seed's dashboard.
 *
 * @module
 */

/** How many recalled events are remembered. */
export const MAX_ECHOES = 512;

/** The newest recalled events of one topic. */
export class Echoes {
  readonly #hashes: string[] = [];
  readonly #counts = new Map<string, number>();

  /**
   * Remembers an event that was recalled.
   *
   * @param frame Its frame, without an id.
   */
  recalled(frame: Uint8Array): void {
    const hash = hashOf(frame);
    this.#hashes.push(hash);
    this.#counts.set(hash, (this.#counts.get(hash) ?? 0) + 1);
    if (this.#hashes.length <= MAX_ECHOES) return;
    const oldest = this.#hashes.shift();
    if (oldest !== undefined) this.#forget(oldest);
  }

  /**
   * Whether a live event is one that was recalled; then it is remembered no longer.
   *
   * @param frame Its frame, without its `id:` line.
   */
  isEcho(frame: Uint8Array): boolean {
    return this.#forget(hashOf(frame));
  }

  #forget(hash: string): boolean {
    const count = this.#counts.get(hash);
    if (count === undefined) return false;
    if (count > 1) this.#counts.set(hash, count - 1);
    else this.#counts.delete(hash);
    return true;
  }
}

/** Two hashes of 32 bits (FNV-1a, and its like with another prime) and the length: no accident is likely. */
function hashOf(bytes: Uint8Array): string {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (const byte of bytes) {
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x85ebca6b);
  }
  return `${a >>> 0}:${b >>> 0}:${bytes.length}`;
}
