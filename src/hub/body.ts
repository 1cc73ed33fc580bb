/**
 * Reading a request's body within a bound.
 *
 * @module
 */
import { joinBytes } from "../wire/frame.ts";

/**
 * Reads a body as text. The bound is counted while reading, whatever the Content-Length says.
 *
 * @param request The request.
 * @param maxBytes The bound.
 * @returns The text, or `null` when the body is over the bound; the rest is not read then.
 */
export async function readBody(request: Request, maxBytes: number): Promise<string | null> {
  if (request.body === null) return "";
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel().catch(() => {});
      return null;
    }
    chunks.push(value);
  }
  return new TextDecoder().decode(joinBytes(chunks));
}
