/**
 * How the tests start Debian's Chromium.
 *
 * @module
 */

/** Where it is. */
export const CHROMIUM = "/usr/bin/chromium";

/** No sandbox, for the tests may run as root; and nothing that asks the world outside. */
export const CHROMIUM_ARGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
