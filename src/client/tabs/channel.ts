/**
 * A broadcast channel between the tabs of a profile: followers speak to whoever leads, the leader to
 * one of them or to all.
 *
 * @module
 */

/** The part of a `BroadcastChannel` that is used. */
export interface ChannelLike {
  /** Sends to all others. */
  postMessage(message: unknown): void;
  /** Listens. */
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  /** Ends it. */
  close(): void;
}

/** One time in office. A later one is newer, whatever the clocks of pages that slept say. */
export interface Term {
  /** When it began: after every term that the leader had heard of. */
  readonly at: number;
  /** Who leads. */
  readonly leader: string;
}

/** One message on the channel. */
export interface Letter {
  /** The newest term that the sender knows. */
  readonly term: Term;
  /** Whether it goes from a follower to the leader. */
  readonly up: boolean;
  /** The follower that it is from or for; `null`: for all of them. */
  readonly tab: string | null;
  /** What is said. */
  readonly body: unknown;
}

/** Before any leader was heard of. */
export const NO_TERM: Term = { at: 0, leader: "" };

/**
 * Says whether a term is newer than another.
 *
 * @param term The one.
 * @param than The other.
 * @returns Whether it is.
 */
export function isNewer(term: Term, than: Term): boolean {
  return term.at === than.at ? term.leader > than.leader : term.at > than.at;
}

/**
 * Reads what came over the channel.
 *
 * @param data What came.
 * @returns The letter; `null` when it is none that this version knows.
 */
export function readLetter(data: unknown): Letter | null {
  if (typeof data !== "object" || data === null) return null;
  const { term, up, tab } = data as Partial<Letter>;
  const known = typeof up === "boolean" &&
    (typeof tab === "string" || (tab === null && !up)) &&
    typeof term === "object" && term !== null &&
    Number.isSafeInteger(term.at) && typeof term.leader === "string";
  // Every field but the body was checked, and that is read by whom it is for.
  return known ? data as Letter : null;
}
