/**
 * Who asks.
 *
 * @module
 */
import { type Clock, systemClock } from "../../hub/clock.ts";
import type { Claims } from "../../tickets/types.ts";
import { HttpRefusal } from "./refuse.ts";
import type { Authorize, BoundTopics, Identify, Identity } from "./types.ts";

/** What only the application can answer. */
export interface Questions {
  /** Says who sends a request. */
  readonly identify: Identify;
  /** Says whether somebody may listen to a topic. Without it nobody may listen to anything. */
  readonly authorize?: Authorize;
  /** The topics that somebody receives without asking; none. */
  readonly boundTopics?: BoundTopics;
  /** The clock; the system's. */
  readonly clock?: Clock;
}

const MAX_USER_LENGTH = 256;

/**
 * What the application said of who asks, checked.
 *
 * @param identity What it said.
 * @param clock The clock.
 * @returns Who.
 * @throws {HttpRefusal} 401 `unauthenticated` for nobody, and when their authority has ended.
 * @throws {TypeError} When it is not an identity: a mistake in the application.
 */
export function checkIdentity(identity: Identity | null, clock: Clock = systemClock): Identity {
  // A program without types answers with either.
  if (identity === null || identity === undefined) throw unauthenticated();
  const { user, expiresAt = Infinity } = identity;
  if (typeof user !== "string" || user.length === 0 || user.length > MAX_USER_LENGTH) {
    throw new TypeError(
      `Cannot use the identity: user must have 1 to ${MAX_USER_LENGTH} characters`,
    );
  }
  if (typeof expiresAt !== "number" || Number.isNaN(expiresAt)) {
    throw new TypeError("Cannot use the identity: expiresAt must be a time");
  }
  if (expiresAt <= clock.now()) throw unauthenticated();
  return identity;
}

/**
 * Asks the application who sends a request.
 *
 * @param request The request.
 * @param questions The application.
 * @returns Who.
 * @throws What {@linkcode checkIdentity} throws.
 */
export async function whoAsks(
  request: Request,
  { identify, clock }: Pick<Questions, "identify" | "clock">,
): Promise<Identity> {
  return checkIdentity(await identify(request), clock);
}

/**
 * What somebody's stream is opened with.
 *
 * @param identity Who.
 * @param topics The topics.
 * @returns The claims, and nothing else that the application may have put into the identity.
 */
export function claimsOf(identity: Identity, topics: readonly string[]): Claims {
  const { user, account, session, expiresAt } = identity;
  return {
    user,
    ...(account !== undefined && { account }),
    ...(session !== undefined && { session }),
    topics,
    // No authority ends "never" by a number: JSON has none for it.
    ...(expiresAt !== undefined && expiresAt !== Infinity && { expiresAt }),
  };
}

/** The refusal of nobody. */
function unauthenticated(): HttpRefusal {
  return new HttpRefusal(401, "unauthenticated", "Nobody is signed in");
}
