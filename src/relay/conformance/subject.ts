/**
 * What the conformance suite is told about an implementation of a relay.
 *
 * @module
 */
import type { Relay } from "../relay.ts";

/**
 * What only the owner of a broker can do to it. Each pair is two methods of {@linkcode RelayAudience};
 * a case that needs one which is not named in {@linkcode RelaySubject.hooks} is not listed.
 */
export type RelayHook = "interrupt";

/** Pods that hear each other, and nobody else: a name that nobody has used before, say. */
export interface RelayAudience {
  /**
   * Connects one more pod.
   *
   * @returns Its relay, which the suite closes.
   */
  connect(): Promise<Relay>;

  /** Breaks the connection of every pod, and keeps them away. Settles when all are broken. */
  interrupt?(): Promise<void>;

  /** Lets them come back. Settles at once or when they are back. */
  restore?(): Promise<void>;

  /** Lets go of everything; all relays are closed. Called once, at the end of each case. */
  dispose(): Promise<void>;
}

/** An implementation of a relay, for the conformance suite. */
export interface RelaySubject {
  /** Makes an audience. Cases may run side by side, each on its own. */
  makeAudience(): Promise<RelayAudience>;

  /** The optional methods of its audiences that may be called; none by default. */
  readonly hooks?: readonly RelayHook[];

  /** How long the suite waits for what must come about, in milliseconds; 10,000 by default. */
  readonly patienceMs?: number;
}

/** One case of the suite. */
export interface RelayCase {
  /** What it expects, as a sentence. */
  readonly name: string;
  /**
   * Runs it on an audience of its own.
   *
   * @returns Settles when it is over and everything is closed.
   * @throws {Error} When an expectation was not met; the message says which.
   */
  run(): Promise<void>;
}
