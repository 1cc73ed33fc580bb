/**
 * What can go wrong with tickets.
 *
 * @module
 */
import { TidemarkError } from "../errors.ts";

/** A ticket could not be minted, or its store could not be asked. Never says anything of a ticket. */
export class TicketError extends TidemarkError {
  /**
   * - `claims`: what the ticket should stand for is outside its bounds.
   * - `unavailable`: the store is away, or does not answer.
   */
  readonly fault: "claims" | "unavailable";

  /**
   * Makes the error.
   *
   * @param fault What is the matter.
   * @param reason What was wrong, and the bound it broke.
   * @param cause What the store threw.
   */
  constructor(fault: "claims" | "unavailable", reason: string, cause?: unknown) {
    super("ticket", `Cannot use the tickets: ${reason}`);
    this.fault = fault;
    if (cause !== undefined) this.cause = cause;
  }
}
