/**
 * Refusals: JSON in the envelope of the wire.
 *
 * @module
 */

/** The stable names of the hub's refusals. */
export type RefusalCode =
  | "sse_method"
  | "sse_topics"
  | "sse_unavailable"
  | "streaming_unsupported"
  | "alive_invalid"
  | "digest_method"
  | "digest_content_type"
  | "digest_too_large"
  | "digest_invalid";

/**
 * Refuses a request.
 *
 * @param status The HTTP status.
 * @param code The refusal's stable name.
 * @param error What was wrong, and the bound.
 * @param headers Further headers.
 * @returns The response.
 */
export function refusal(
  status: number,
  code: RefusalCode,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ error, code }), {
    status,
    headers: {
      "Content-Type": "application/json",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
      ...headers,
    },
  });
}
