/**
 * What the digest's tests share: a hub that stands still, and requests to its digest.
 *
 * @module
 */
import {
  digestHandler,
  type DigestHome,
  type DigestOptions,
  type HeldSubject,
  type Resolver,
} from "../../../src/hub/digest.ts";

/** The epoch of the hub that stands still. */
export const EPOCH = "00c0ffee00c0ffee";

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // A test reads whatever came.
  readonly body: Record<string, unknown>;
}

/** The hub that stands still. */
export const home: DigestHome = {
  position: () => ({ epoch: EPOCH, floor: 3, head: 9 }),
  versionEpoch: () => EPOCH,
  failed: () => {},
};
/** A resolver that must not be asked. */
export const unasked: Resolver = () => {
  throw new Error("the resolver must not be asked");
};
/** A resolver to which nothing has changed. */
export const same: Resolver = (held) =>
  held.map((subject) => ({ ...subject, status: "" as const }));

/** Sends a request to a handler. */
export async function send(
  handler: (request: Request) => Promise<Response>,
  body: unknown,
  init: { readonly method?: string; readonly type?: string } = {},
): Promise<Answer> {
  const { method = "POST", type = "application/json" } = init;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const request = new Request("http://localhost/digest", {
    method,
    headers: { "Content-Type": type },
    ...(method !== "GET" && method !== "HEAD" && { body: text }),
  });
  const response = await handler(request);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Asks the hub that stands still about subjects. */
export const asked = (
  subjects: unknown,
  resolve: Resolver = same,
  options?: DigestOptions,
): Promise<Answer> => send(digestHandler(home, resolve, options), { epoch: EPOCH, subjects });

/** One of many chats. */
export const subject = (i: number, version = "1"): HeldSubject => ({
  kind: "chat",
  ref: `c${i}`,
  version,
});
