/**
 * Telling the application something while something else goes on.
 *
 * @module
 */

/**
 * Calls back. What is thrown is reported to the platform, as an event target does, and does not stop
 * what was going on.
 *
 * @param tell Calls the application.
 */
export function notify(tell: () => void): void {
  try {
    tell();
  } catch (error) {
    // Node has no `reportError`; its own event targets throw in a later turn, too.
    if (typeof reportError === "function") reportError(error);
    else {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
