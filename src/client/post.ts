/**
 * The one way in which a client posts: with the application's headers, read for this very request.
 *
 * @module
 */
import { readHeaders } from "./headers.ts";
import type { Fetch, HeadersSource } from "./types.ts";

/** On whose behalf is posted. */
export interface Sender {
  /** More headers. */
  readonly headers?: HeadersSource | undefined;
  /** The credentials mode; the platform's default. */
  readonly credentials?: RequestCredentials | undefined;
  /** What posts. */
  readonly fetch: Fetch;
}

/**
 * Posts.
 *
 * @param sender On whose behalf.
 * @param url Where to.
 * @param signal Gives it up.
 * @param body JSON; without it the body is empty.
 * @returns The answer. Rejects with what the headers or the fetch did, or with the signal's reason.
 */
export async function post(
  sender: Sender,
  url: string | URL,
  signal: AbortSignal,
  body?: string,
): Promise<Response> {
  // By itself: a method of the application's options would be called with another `this`.
  const { credentials, fetch } = sender;
  const headers = await readHeaders(sender.headers);
  // Headers may have taken their time: nothing is sent on behalf of what was given up.
  signal.throwIfAborted();
  if (body !== undefined) headers.set("Content-Type", "application/json");
  return await fetch(url, {
    method: "POST",
    headers,
    signal,
    ...(body !== undefined && { body }),
    ...(credentials !== undefined && { credentials }),
  });
}
