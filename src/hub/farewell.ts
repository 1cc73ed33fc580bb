/**
 * The end of a stream when it is the hub that ends it: why, its last frame, and how long that may
 * take.
 *
 * @module
 */
import { resetFrame, type ResetReason } from "../wire/control.ts";
import { RESET_WRITE_TIMEOUT_MS } from "../wire/timing.ts";
import type { Timer } from "./clock.ts";
import type { HubSettings } from "./options.ts";

/** A goodbye, decided once and said once. */
export class Farewell {
  /** Why; `null` while the stream goes on. */
  reason: ResetReason | null = null;
  /** Whether its frame is on its way. */
  said = false;
  #deadline: Timer | null = null;

  /** What presence calls the reason. */
  get cause(): "evicted" | "shutdown" {
    return this.reason === "slow" ? "evicted" : "shutdown";
  }

  /**
   * Bounds the goodbye: 250 ms for a slow client, the write timeout for a shutdown.
   *
   * @param settings The hub's settings.
   * @param expired Called when the peer took too long.
   */
  start(settings: HubSettings, expired: () => void): void {
    this.#deadline?.cancel();
    const patience = this.reason === "slow" ? 0 : settings.writeTimeoutMs;
    this.#deadline = settings.clock.after(Math.max(patience, RESET_WRITE_TIMEOUT_MS), expired);
  }

  /** The last frame of the stream; `null` when there is none, or none any more. */
  say(): Uint8Array | null {
    if (this.reason === null || this.said) return null;
    this.said = true;
    return resetFrame(this.reason);
  }

  /** The stream has ended. */
  cancel(): void {
    this.#deadline?.cancel();
  }
}
