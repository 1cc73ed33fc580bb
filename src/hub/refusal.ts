/**
 * Refusals: JSON in the envelope of the wire.
 *
 * @module
 */

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
  code: string,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return json({ error, code }, status, headers);
}

/**
 * Answers with JSON that nobody may store or take for anything else.
 *
 * @param value What to write.
 * @param status The HTTP status.
 * @param headers Further headers.
 * @returns The response.
 */
export function json(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: {
      // Named, for `Response.json` is not of one mind on all runtimes about a charset.
      "Content-Type": "application/json",
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
      ...headers,
    },
  });
}
