/**
 * A ring as a plain list: what it holds is trimmed from the front, one by one, until all three bounds
 * hold. The hub's ring is compared with it.
 *
 * @module
 */
import type { Frame, RingBounds } from "../../src/hub/ring.ts";

/** A list with a ring's bounds. */
export class ListRing {
  readonly #bounds: RingBounds;
  /** What it holds, oldest first. */
  held: readonly Frame[] = [];
  /** What it no longer holds, oldest first. */
  evicted: readonly Frame[] = [];

  /** @param bounds The bounds. */
  constructor(bounds: RingBounds) {
    this.#bounds = bounds;
  }

  /** Appends a frame, then trims. */
  push(frame: Frame): void {
    this.held = [...this.held, frame];
    this.evict(frame.born);
  }

  /** Trims. */
  evict(now: number): void {
    while (this.#breaks(now)) {
      this.evicted = [...this.evicted, ...this.held.slice(0, 1)];
      this.held = this.held.slice(1);
    }
  }

  #breaks(now: number): boolean {
    const { maxEvents, maxBytes, ttlMs } = this.#bounds;
    const bytes = this.held.reduce((sum, frame) => sum + frame.bytes.length, 0);
    const oldest = this.held[0];
    return oldest !== undefined &&
      (this.held.length > maxEvents || bytes > maxBytes || now - oldest.born > ttlMs);
  }
}
