/**
 * Where the golden table is kept.
 *
 * @module
 */

/** The file, which is committed. */
export const GOLDEN: URL = new URL("client_machine.txt", import.meta.url);
