/**
 * A ticket's characters, and the key under which a store keeps it.
 *
 * @module
 */

/** 32 bytes cannot be guessed, whatever is tried in the life of a ticket. */
const TICKET_BYTES = 32;

/** More than a ticket has; so much of what is presented is looked at. */
const MAX_PRESENTED = 128;

/**
 * Makes a ticket.
 *
 * @returns 32 random bytes as 43 characters of base64url.
 */
export function newTicket(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(TICKET_BYTES)));
}

/**
 * The key of what was presented. A store that leaks holds no ticket that could be presented, and what
 * is no ticket at all takes the same way as one that was used: it is not looked at, only hashed.
 *
 * @param presented Whatever it is; beyond 128 characters nothing of it is read.
 * @returns The SHA-256 of it as 43 characters of base64url.
 */
export async function keyOf(presented: unknown): Promise<string> {
  const text = typeof presented === "string" ? presented.slice(0, MAX_PRESENTED) : "";
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return toBase64Url(new Uint8Array(hash));
}

/** RFC 4648, section 5, without padding. */
function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
