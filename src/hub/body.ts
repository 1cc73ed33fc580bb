/**
 * Reading a request's body within bounds.
 *
 * @module
 */
import { joinBytes } from "../wire/frame.ts";
import { type Clock, systemClock } from "./clock.ts";

/**
 * How long a body may take, in milliseconds. Of itself Deno waits for ever, and Node for five minutes:
 * whoever sends a byte an hour would hold memory and a socket for as long as they like.
 */
export const BODY_MS = 30_000;

/** Why a body was not read to its end. */
export type BodyFault = "too_large" | "late";

/**
 * Reads a body. The bound is counted while reading, whatever the Content-Length says.
 *
 * @param request The request.
 * @param maxBytes The bound.
 * @param clock The clock.
 * @returns The bytes; or why not, and then the rest is not read.
 * @throws What the runtime throws when the client leaves half-way.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
  clock: Clock = systemClock,
): Promise<Uint8Array | BodyFault> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const cancel = (): Promise<void> => reader.cancel().catch(() => {});
  let isLate = false;
  const late = clock.after(BODY_MS, () => {
    isLate = true;
    // The reading that waits is told that there is no more.
    cancel();
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) return "late";
      if (done) return joinBytes(chunks);
      length += value.length;
      if (length > maxBytes) {
        await cancel();
        return "too_large";
      }
      chunks.push(value);
    }
  } finally {
    late.cancel();
  }
}
