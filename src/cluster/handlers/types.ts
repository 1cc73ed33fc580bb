/**
 * Who asks, and what they may: the two questions that only the application can answer.
 *
 * @module
 */

/** Somebody whom the application knows. */
export interface Identity {
  /** The user's id; 1 to 256 characters. */
  readonly user: string;
  /** The account on whose behalf; none by default. */
  readonly account?: string;
  /** The session; none by default. A ticket carries it along. */
  readonly session?: string;
  /**
   * When this authority ends, in milliseconds since the Unix epoch; by default never. Somebody whose
   * authority has ended is nobody; a stream that was opened before ends then.
   */
  readonly expiresAt?: number;
}

/**
 * Says who sends a request, from its cookie or its `Authorization` header. Must not read the body.
 *
 * @param request The request, as the runtime gave it.
 * @returns Who; `null` for nobody: 401 `unauthenticated`. A throw is the application's failure: 500.
 */
export type Identify = (
  request: Request,
) => Identity | null | Promise<Identity | null>;

/** What is to be allowed. */
export interface AuthorizeCall {
  /** Who asks. */
  readonly user: string;
  /** On whose behalf; `undefined` for none. */
  readonly account: string | undefined;
  /** The topic, within the grammar of topics. */
  readonly topic: string;
  /** The request by which it was asked for; its body has been read. */
  readonly request: Request;
}

/**
 * Says whether somebody may listen to a topic. Called on the pod that received the request, for each
 * topic of each ticket, of each stream without a ticket, and of each subscription.
 *
 * @param call Who asks for what.
 * @returns Whether; anything but `true` is no.
 */
export type Authorize = (call: AuthorizeCall) => boolean | Promise<boolean>;

/**
 * The topics that somebody receives without asking: of their account, and of their own. They are not
 * put to {@linkcode Authorize}: this function has decided already.
 *
 * @param identity Who.
 * @returns The topics.
 */
export type BoundTopics = (identity: Identity) => readonly string[];

/**
 * Answers requests. The second argument is what the runtime says of the request: Bun's server, Deno's
 * info.
 */
export type Handler = (request: Request, host?: unknown) => Response | Promise<Response>;
