/**
 * How far an object may be ahead of a client: the bytes it has sent, and those that were taken.
 *
 * @module
 */
import { WINDOW_BYTES } from "./wire.ts";

/** The two counts, as a hibernating object's socket keeps them. */
export interface WindowCounts {
  /** How many bytes of frames were sent over the socket. */
  readonly sent: number;
  /** How many of them the client has taken. */
  readonly acked: number;
}

/** One socket's window. */
export class AckWindow implements WindowCounts {
  #sent: number;
  #acked: number;

  /** @param counts Where it stands. */
  constructor({ sent, acked }: WindowCounts) {
    this.#sent = sent;
    this.#acked = acked;
  }

  get sent(): number {
    return this.#sent;
  }

  get acked(): number {
    return this.#acked;
  }

  /** How many bytes may still be sent; a frame is begun as long as it is not 0. */
  get room(): number {
    return Math.max(0, WINDOW_BYTES - (this.#sent - this.#acked));
  }

  /** @param bytes So many were sent. */
  send(bytes: number): void {
    this.#sent += bytes;
  }

  /**
   * Hears of what was taken.
   *
   * @param taken How many bytes in all. One that is out of order, or of more than was sent, is not
   * believed.
   */
  ack(taken: number): void {
    if (taken > this.#acked && taken <= this.#sent) this.#acked = taken;
  }
}
