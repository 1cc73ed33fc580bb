/**
 * Reading an answer that is text, with a bound.
 *
 * @module
 */

/**
 * Reads an answer's text.
 *
 * @param response The answer.
 * @param maxBytes The most bytes it may have, counted while reading.
 * @param signal The request's own; it ends the reading.
 * @returns The text; `null` when it is above the bound, or no UTF-8.
 */
export async function readText(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string | null> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const drop = (): void => void reader.cancel().catch(() => {});
  // A fetch that was handed in may not know the signal. It is this request's own: no listener leaks.
  signal.addEventListener("abort", drop, { once: true });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (!done) bytes += value.length;
    const piece = bytes > maxBytes ? null : decode(decoder, value);
    if (piece === null) {
      drop();
      return null;
    }
    text += piece;
    if (done) return text;
  }
}

/** The text of a chunk, or of what is left at the end; `null` when it is no UTF-8. */
function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string | null {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    return null;
  }
}
