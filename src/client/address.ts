/**
 * The address of one attempt: what the application said, with the cursor in its place.
 *
 * @module
 */
import type { StreamUrl } from "./types.ts";

/** What may be fetched. */
export type Address = string | Request;

/**
 * Asks the application for the address of an attempt.
 *
 * @param url What the application handed in.
 * @param attempt How many attempts have failed.
 * @param signal Aborts when the attempt is given up.
 * @returns The address.
 * @throws {unknown} What the application's function threw.
 */
export async function readAddress(
  url: StreamUrl,
  attempt: number,
  signal: AbortSignal,
): Promise<Address> {
  const given = typeof url === "function" ? await url({ attempt, signal }) : url;
  return given instanceof URL ? given.href : given;
}

/**
 * Adds query parameters, whatever the address looks like: a relative one cannot be parsed everywhere.
 *
 * @param address The address.
 * @param parameters Names and values.
 * @returns The address with them.
 */
export function withQuery(address: Address, parameters: Readonly<Record<string, string>>): Address {
  const text = typeof address === "string" ? address : address.url;
  const [plain = "", fragment] = text.split("#", 2);
  const query = new URLSearchParams(parameters).toString();
  const joined = `${plain}${plain.includes("?") ? "&" : "?"}${query}`;
  const whole = fragment === undefined ? joined : `${joined}#${fragment}`;
  return typeof address === "string" ? whole : new Request(whole, address);
}

/**
 * The topics that an address asks for.
 *
 * @param address The address.
 * @returns The values of its `topic` parameters.
 */
export function topicsOf(address: Address): ReadonlySet<string> {
  const text = typeof address === "string" ? address : address.url;
  const [plain = ""] = text.split("#", 1);
  const at = plain.indexOf("?");
  return new Set(at === -1 ? [] : new URLSearchParams(plain.slice(at + 1)).getAll("topic"));
}

/**
 * What the answer's `Retry-After` asks for.
 *
 * @param response The answer.
 * @param now Milliseconds since the Unix epoch, for the form that is a date.
 * @returns Milliseconds; 0 when it asks for nothing, or for nothing that makes sense.
 */
export function retryAfterOf(response: Response, now: number): number {
  const value = response.headers.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
