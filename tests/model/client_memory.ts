/**
 * What an application knows of a hub's frames: each it has taken in by itself, or all up to one by
 * fetching the state anew.
 *
 * @module
 */
import type { Piece } from "./client_hub.ts";

/** The knowledge. */
export class Memory {
  /** All frames before this one are known. */
  #upTo = 0;
  /** What was handed over and taken in. */
  readonly #taken = new Set<number>();
  /** What was handed over, taken in or not. */
  readonly #handed = new Set<number>();
  #newest = -1;
  /** The pieces of the newest snapshot, while none of them is missing. */
  #pieces: readonly [snapshot: number, next: number] = [0, 1];

  /** Whether a frame is known. */
  knows(index: number): boolean {
    return index < this.#upTo || this.#taken.has(index);
  }

  /** The first frame before `end` that is not known; -1 when all are. */
  firstUnknown(end: number): number {
    for (let index = this.#upTo; index < end; index++) if (!this.knows(index)) return index;
    return -1;
  }

  /** A frame is handed over. Returns what is wrong with that; `""` when nothing is. */
  hand(index: number): string {
    const again = this.#handed.has(index);
    const behind = index < this.#newest;
    this.#handed.add(index);
    this.#newest = Math.max(this.#newest, index);
    if (again) return `frame ${index} came a second time`;
    return behind ? `frame ${index} came after frame ${this.#newest}` : "";
  }

  /** A frame that was handed over is taken in. */
  take(index: number): void {
    this.#taken.add(index);
  }

  /** The state was fetched, as it was after so many frames. */
  fetched(upTo: number): void {
    this.#upTo = Math.max(this.#upTo, upTo);
  }

  /** A piece of a snapshot is taken in: the last one counts if all before it were. */
  takePiece({ snapshot, piece, of, to }: Piece): void {
    if (piece === 1) this.#pieces = [snapshot, 1];
    const [current, next] = this.#pieces;
    if (current !== snapshot || next !== piece) return;
    this.#pieces = [snapshot, piece + 1];
    if (piece === of) this.fetched(to);
  }

  /** What a store keeps of it. */
  copy(): Memory {
    const copy = new Memory();
    copy.#upTo = this.#upTo;
    copy.#newest = this.#newest;
    for (const index of this.#taken) copy.#taken.add(index);
    for (const index of this.#handed) copy.#handed.add(index);
    return copy;
  }
}
