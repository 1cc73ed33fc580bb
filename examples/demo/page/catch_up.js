// @ts-check
/** What one tab has missed of a stream that others share: a second, short stream replays it. */
import { frames, GapError } from "/lib/client.js";
import { offsetOf } from "./cursor.js";

/**
 * Replays what lies between two cursors, if the hub still holds all of it.
 *
 * @param {string} from What the tab has got.
 * @param {string} to Where the shared stream stands.
 * @param {AbortSignal} signal Ends it.
 * @param {(frame: import("./stream.js").LibraryFrame) => void} receive Takes the frames, in order.
 * @returns {Promise<boolean>} Whether nothing is missing now.
 * @throws {unknown} What ended it, when it could not be known.
 */
export async function catchUp(from, to, signal, receive) {
  if (from.slice(0, 16) !== to.slice(0, 16)) return false;
  try {
    for await (const frame of frames("/events", { cursor: from, signal })) {
      if (frame.id === null) continue;
      if (offsetOf(frame.id) > offsetOf(to)) break;
      receive(frame);
      if (offsetOf(frame.id) === offsetOf(to)) break;
    }
    return true;
  } catch (error) {
    if (error instanceof GapError) return false;
    throw error;
  }
}
