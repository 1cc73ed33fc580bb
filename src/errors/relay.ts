/**
 * What can go wrong between pods.
 *
 * @module
 */
import { TidemarkError } from "../errors.ts";

/**
 * What is the matter with a relay.
 *
 * - `unavailable`: the broker did not confirm in time, or does not answer.
 * - `too_large`: the message is above the broker's bound.
 * - `closed`: the relay has been closed, or its client for good.
 * - `failed`: it refused for a reason of its own.
 */
export type RelayFault = "unavailable" | "too_large" | "closed" | "failed";

/** A relay could not be joined, or an event could not be sent over it. No client has received it. */
export class RelayError extends TidemarkError {
  /** What is the matter. */
  readonly fault: RelayFault;

  /**
   * Makes the error.
   *
   * @param fault What is the matter.
   * @param reason What was wrong, and the bound it broke.
   * @param cause What the broker's client threw.
   */
  constructor(fault: RelayFault, reason: string, cause?: unknown) {
    super("relay", `Cannot use the relay: ${reason}`);
    this.fault = fault;
    if (cause !== undefined) this.cause = cause;
  }
}
