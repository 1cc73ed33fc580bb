/**
 * How much is on its way to a broker: a client keeps without bound what a broker that stands still does
 * not take.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";

/** How much may be on its way by default, in bytes. */
const PENDING_BYTES = 8 * 1024 * 1024;

/** Counts what was handed to a client, and not yet taken by the broker. */
export class Outflow {
  readonly #maxBytes: number;
  #bytes = 0;

  /**
   * @param maxPendingBytes The most that may be on its way; 8 MiB by default.
   * @throws {ConfigError} When the bound makes no sense.
   */
  constructor(maxPendingBytes: number = PENDING_BYTES) {
    if (!(maxPendingBytes >= 1)) {
      throw new ConfigError("maxPendingBytes", `it is ${maxPendingBytes}, it must be 1 or more`);
    }
    this.#maxBytes = maxPendingBytes;
  }

  /** How much is on its way, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Whether a message may go; then it counts. One that is larger than the bound goes alone.
   *
   * @param bytes Its size.
   */
  take(bytes: number): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * The broker took some, or they are lost.
   *
   * @param bytes How many.
   */
  free(bytes: number): void {
    this.#bytes = Math.max(0, this.#bytes - bytes);
  }

  /** Nothing is on its way any more. */
  clear(): void {
    this.#bytes = 0;
  }
}
