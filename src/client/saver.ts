/**
 * Keeps the cursor in the application's store: one call at a time, and the newest wins.
 *
 * @module
 */
import type { Persistence, SavedCursor } from "./types.ts";

/** What keeps the cursor. */
export interface Saver {
  /** Notes what is to be kept; it is kept at the end of the turn. */
  put(saved: SavedCursor): void;
  /** Keeps it now: the page may be gone in a moment. */
  flush(): void;
}

/**
 * Makes a saver.
 *
 * @param persist The application's store.
 * @param failed Is told of a store that threw or rejected.
 * @returns The saver.
 */
export function createSaver(persist: Persistence, failed: (error: unknown) => void): Saver {
  let waiting: SavedCursor | null = null;
  let scheduled = false;
  let saving = false;
  const save = (): void => {
    const saved = waiting;
    if (saved === null || saving) return;
    waiting = null;
    let result: unknown;
    try {
      result = persist.save(saved);
    } catch (error) {
      return failed(error);
    }
    // In plain JavaScript it may return anything.
    if (typeof (result as Partial<Promise<void>> | null | undefined)?.then !== "function") return;
    saving = true;
    Promise.resolve(result).catch(failed).then(() => {
      saving = false;
      save();
    });
  };
  return {
    put(saved) {
      waiting = saved;
      if (scheduled) return;
      scheduled = true;
      // A chunk of a thousand frames is one call.
      queueMicrotask(() => {
        scheduled = false;
        save();
      });
    },
    flush: save,
  };
}
