/**
 * What clients of a hub over a journal may never be told.
 *
 * @module
 */
import { readCursor } from "../../src/wire/cursor.ts";

/**
 * What was seen under each cursor. A cursor under which two events are seen is a lie, and so is a
 * client that is resumed and not told what others were.
 */
export class Witness {
  readonly #seen = new Map<string, string>();

  /**
   * Notes an event.
   *
   * @param id Its cursor.
   * @param data Its data.
   * @throws {Error} When another event was seen under it.
   */
  saw(id: string, data: string): void {
    const before = this.#seen.get(id);
    if (before !== undefined && before !== data) {
      throw new Error(`The cursor ${id} was given to "${before}", and now to "${data}"`);
    }
    this.#seen.set(id, data);
  }

  /** Every cursor so far, and `EPOCH:0` of each epoch. */
  get cursors(): readonly string[] {
    const ids = [...this.#seen.keys()];
    return [...new Set(ids.map((id) => `${id.slice(0, 16)}:0`)), ...ids];
  }

  /**
   * What somebody must be given who is resumed.
   *
   * @param cursor What it presented.
   * @param head The offset up to which.
   */
  after(cursor: string, head: number): readonly string[] {
    const from = readCursor(cursor);
    return [...this.#seen].map(([id, data]) => ({ data, place: readCursor(id) }))
      .filter(({ place }) =>
        from !== null && place !== null && place.epoch === from.epoch &&
        place.offset > from.offset && place.offset <= head
      )
      .sort((a, b) => (a.place?.offset ?? 0) - (b.place?.offset ?? 0))
      .map(({ data }) => data);
  }
}
