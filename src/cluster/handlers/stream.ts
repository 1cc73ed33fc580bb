/**
 * What the streams of a service have in common, however their client showed who it is.
 *
 * @module
 */
import type { ServeOptions, StreamHub } from "../../hub/types.ts";
import type { Claims } from "../../tickets/types.ts";

/** What an application adds to its streams. Who receives what is not among it. */
export type StreamExtras = Pick<ServeOptions, "onConnect" | "repair" | "history">;

/** What opens a stream. */
export interface StreamOpening {
  /** The hub. */
  readonly hub: Pick<StreamHub, "serve">;
  /**
   * What is added to a stream: a hook, a repair, its topics' past.
   *
   * @param claims Whose it is, and what it carries.
   */
  stream?(claims: Claims): StreamExtras;
}

/**
 * Opens a stream for somebody: what it carries, whose it is and when it ends is theirs, and nothing
 * of that is read from its URL.
 *
 * @param opening What opens it.
 * @param request The client's request.
 * @param claims Whose it is.
 * @param host What the runtime says of the request.
 * @returns What {@linkcode StreamHub.serve} answers.
 */
export function openStream(
  opening: StreamOpening,
  request: Request,
  claims: Claims,
  host: unknown,
): Response {
  const { topics, user, expiresAt } = claims;
  return opening.hub.serve(request, {
    ...opening.stream?.(claims),
    topics,
    user,
    ...(expiresAt !== undefined && { expiresAt }),
    clientTag: request.headers.get("SSE-Client"),
    host,
  });
}
