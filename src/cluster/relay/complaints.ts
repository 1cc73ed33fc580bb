/**
 * Complaints that could come with every message: each kind is logged once a minute at most.
 *
 * @module
 */
import type { Clock } from "../../hub/clock.ts";
import type { Logger } from "../../hub/options.ts";

const EVERY_MS = 60_000;

/** What is complained of. */
export type Complaint = "malformed" | "refused" | "unsent" | "lost" | "command";

interface Past {
  at: number;
  silenced: number;
}

/** Logs complaints, but not all of them. */
export class Complaints {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #past = new Map<Complaint, Past>();
  readonly #said = new Set<string>();

  /**
   * @param logger Where to log.
   * @param clock The clock.
   */
  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /**
   * Logs a warning, unless one of its kind was logged within the last minute.
   *
   * @param kind Its kind.
   * @param text What it says, fit for a log.
   */
  warn(kind: Complaint, text: string): void {
    const now = this.#clock.monotonic();
    const past = this.#past.get(kind);
    if (past !== undefined && now - past.at < EVERY_MS) {
      past.silenced++;
      return;
    }
    const more = past !== undefined && past.silenced > 0
      ? ` (and ${past.silenced} times since the last such line)`
      : "";
    this.#past.set(kind, { at: now, silenced: 0 });
    this.#logger.warn(`${text}${more}`);
  }

  /**
   * Logs once, and never again.
   *
   * @param level How bad it is.
   * @param kind What is said; few kinds only, for each is remembered.
   * @param text What it says, fit for a log.
   */
  once(level: "warn" | "error", kind: "twin" | "mixed" | "version", text: string): void {
    if (this.#said.has(kind)) return;
    this.#said.add(kind);
    this.#logger[level](text);
  }
}
