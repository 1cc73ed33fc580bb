/**
 * Removing a folder into which somebody may still write.
 *
 * @module
 */
import { eventually } from "../../support/poll.ts";

/**
 * Removes a folder with all in it. The helpers of a browser write for a moment after it has gone.
 *
 * @param folder Its path.
 */
export async function removeFolder(folder: string): Promise<void> {
  await eventually(async () => {
    await Deno.remove(folder, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    return true;
  }, { what: `${folder} to go`, timeoutMs: 5_000, everyMs: 50 });
}
