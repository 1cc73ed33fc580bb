/**
 * The one way in which a client posts: with the application's headers, read for this very request.
 *
 * @module
 */
import { readHeaders } from "./headers.ts";
import type { Fetch, HeadersSource } from "./types.ts";

/** What a request is made of. */
export interface PostOptions {
  /** Where to. */
  readonly url: string | URL;
  /** JSON; without it the body is empty. */
  readonly body?: string;
  /** More headers. */
  readonly headers: HeadersSource | undefined;
  /** The credentials mode; the platform's default. */
  readonly credentials: RequestCredentials | undefined;
  /** What posts. */
  readonly fetch: Fetch;
  /** Gives it up. */
  readonly signal: AbortSignal;
}

/**
 * Posts.
 *
 * @param options What.
 * @returns The answer. Rejects with what the headers or the fetch did, or with the signal's reason.
 */
export async function post(options: PostOptions): Promise<Response> {
  const { url, body, credentials, fetch, signal } = options;
  const headers = await readHeaders(options.headers);
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
