/**
 * What carries messages between the pods of one audience.
 *
 * A relay is a wire, not a log: it delivers to those who listen now, in each sender's order, and may
 * lose. That something was lost is for the hub to see, by the counters in the envelopes; what the relay
 * itself knows of a loss it says at once.
 *
 * @module
 */

/** Who listens to a relay. */
export interface RelayListener {
  /**
   * A message came: of a sibling, or an echo of this pod's own, which its reader drops.
   *
   * @param message Its bytes; they are the listener's from now on.
   */
  message(message: Uint8Array): void;
  /**
   * The subscription was interrupted, and is confirmed again: messages may have been lost meanwhile.
   * Also when the client dropped some because this pod read too slowly. Said once for each
   * interruption, and only when what is sent from now on arrives.
   */
  resumed(): void;
}

/** A relay's subscription. */
export interface RelaySubscription {
  /** Listens no more. */
  close(): Promise<void>;
}

/** Carries messages between pods. */
export interface Relay {
  /** The most bytes that one message may have; `Infinity` where there is no bound. May change. */
  readonly maxBytes: number;
  /**
   * Sends a message to everybody who listens; whether the sender hears it too is the relay's own
   * affair. It does not wait: while the broker is away a message may be kept, or lost.
   *
   * @param message Its bytes, at most {@linkcode Relay.maxBytes}; not changed afterwards.
   * @throws {RelayError} `too_large`, or `closed`.
   */
  send(message: Uint8Array): void;
  /**
   * Listens: one subscription for each pod.
   *
   * @param listener Who.
   * @param options `signal` gives the attempt up.
   * @returns Settles when the broker has **confirmed** the subscription: what is sent from then on
   * arrives. It does not reject because the broker is away now, but waits until it is there.
   * @throws {RelayError} When the relay is closed, or refuses; the signal's reason when it aborts.
   */
  listen(
    listener: RelayListener,
    options?: { readonly signal?: AbortSignal },
  ): Promise<RelaySubscription>;
  /** Closes what the relay itself has opened; the client that it was made from stays open. */
  close(): Promise<void>;
}
