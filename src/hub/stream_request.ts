/**
 * What a stream's request says: its cursor, what it understands, its tag, and when its sender leaves.
 *
 * @module
 */
import type { Logger } from "./options.ts";

/** The headers of every stream. Never a hop-by-hop one: those are illegal in HTTP/2. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

const TAG = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The query of a request. Not by way of `new URL`: where a `Host` is malformed, Deno's and Bun's
 * requests have an address that it throws on.
 *
 * @param request The request.
 */
export function queryOf({ url }: Pick<Request, "url">): URLSearchParams {
  const [address = ""] = url.split("#", 1);
  const mark = address.indexOf("?");
  // With the mark: one at the beginning is dropped, and a second one is a part of the query.
  return new URLSearchParams(mark < 0 ? "" : address.slice(mark));
}

/**
 * The cursor that a request presents: the `Last-Event-ID` header, else the query parameter
 * `last_event_id`, for clients that cannot set headers across origins.
 *
 * @param request The request.
 * @returns The value as it came; `""` for none.
 */
export function presentedCursor(request: Request): string {
  return request.headers.get("Last-Event-ID") || query(request, "last_event_id");
}

/**
 * Whether the client says that it understands `sse:lag`: by `SSE-Lag: 1`, or by `lag=1`.
 *
 * @param request The request.
 */
export function declaresLag(request: Request): boolean {
  return request.headers.get("SSE-Lag") === "1" || query(request, "lag") === "1";
}

/**
 * Says whether a value is a client's tag.
 *
 * @param value The value.
 */
export function isTag(value: string): boolean {
  return TAG.test(value);
}

/**
 * The application's tag for a client, checked.
 *
 * @param tag The tag; `null` and `""` mean none.
 * @param logger Where a tag outside the grammar is warned of: by its length and its class, never by
 * its bytes.
 * @returns The tag; `""` for none.
 */
export function checkedTag(tag: string | null | undefined, logger: Logger): string {
  if (tag === undefined || tag === null || tag === "") return "";
  if (isTag(tag)) return tag;
  const fault = tag.length > 64 ? "too long" : "a character outside [A-Za-z0-9_-]";
  logger.warn(`Ignored a client tag of ${tag.length} characters: ${fault}`);
  return "";
}

/**
 * Calls back when the request is aborted. On Deno it does not listen: there the signal aborts after
 * a response that succeeded too, and the stream's `cancel` says all there is to say.
 *
 * @param request The request.
 * @param callback What to call.
 */
export function whenAborted(request: Request, callback: () => void): void {
  if ("Deno" in globalThis) return;
  request.signal.addEventListener("abort", callback, { once: true });
}

/**
 * Whether the request was aborted before it was looked at: no runtime tells such a stream later.
 *
 * @param request The request.
 */
export function alreadyAborted(request: Request): boolean {
  return !("Deno" in globalThis) && request.signal.aborted;
}

function query(request: Request, name: string): string {
  // Most requests have no query, and reading one costs more than looking for a mark.
  return request.url.includes("?") ? queryOf(request).get(name) ?? "" : "";
}
