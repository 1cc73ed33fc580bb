/**
 * The options of a stream, checked and filled in.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { WIRE } from "../wire/timing.ts";
import { checkWhole } from "./bounds.ts";
import { platformClock } from "./clock.ts";
import { platformOnline } from "./online.ts";
import { resolveTiming, type TimingConfig } from "./timing.ts";
import type { ClientClock, Fetch, OnlineSource, StreamOptions, VisibilitySource } from "./types.ts";
import { documentVisibility } from "./visibility.ts";

/** Options in which nothing is left open. */
export interface ResolvedOptions extends Omit<StreamOptions, "timing"> {
  readonly presentCursor: "header" | "query";
  readonly timing: TimingConfig;
  readonly maxAttempts: number;
  readonly minWire: number;
  readonly maxWire: number;
  readonly fetch: Fetch;
  readonly visibility: VisibilitySource;
  readonly online: OnlineSource;
  readonly clock: ClientClock;
}

/**
 * Checks options, and fills in what is not given.
 *
 * @param options What the application handed in.
 * @returns All of them.
 * @throws {ConfigError} When one cannot be honoured; it names the option and the bound.
 */
export function resolveOptions(options: StreamOptions): ResolvedOptions {
  const { url, presentCursor = "header", maxAttempts = 0, minWire = WIRE, maxWire = WIRE } =
    options;
  if (typeof url !== "string" && typeof url !== "function" && !(url instanceof URL)) {
    throw new ConfigError("url", "it is neither an address nor a function that brings one");
  }
  if (presentCursor !== "header" && presentCursor !== "query") {
    throw new ConfigError("presentCursor", `it is neither "header" nor "query"`);
  }
  checkWhole("maxAttempts", maxAttempts, 0);
  checkWhole("minWire", minWire, 1);
  checkWhole("maxWire", maxWire, minWire);
  if (maxWire > WIRE) throw new ConfigError("maxWire", `this client speaks wire ${WIRE} at most`);
  if (options.alive?.everyBeats !== undefined) {
    checkWhole("alive.everyBeats", options.alive.everyBeats, 1);
  }
  if (typeof options.onFrame !== "function") {
    throw new ConfigError("onFrame", "it is not a function");
  }
  // Over the application's own object: it may be of a class, and what it changes later counts.
  return Object.assign(Object.create(options) as StreamOptions, {
    presentCursor,
    maxAttempts,
    minWire,
    maxWire,
    timing: resolveTiming(options.timing),
    // Read late: a page may put its own in place, and a method would lose its `this`.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    visibility: options.visibility ?? documentVisibility(),
    online: options.online ?? platformOnline(),
    clock: options.clock ?? platformClock(),
  });
}
