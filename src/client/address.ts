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
 * The text of an address.
 *
 * @param address The address.
 * @returns Its URL, relative or not.
 */
export function urlOf(address: Address): string {
  return typeof address === "string" ? address : address.url;
}

/**
 * Sets query parameters, whatever the address looks like: a relative one cannot be parsed everywhere.
 *
 * @param address The address.
 * @param parameters Names and values; `null` takes a parameter away.
 * @returns The address with them.
 */
export function withQuery(
  address: Address,
  parameters: Readonly<Record<string, string | null>>,
): Address {
  const [path, query, fragment] = split(urlOf(address));
  // What the address has of its own stays as it is written, but for what is set here.
  const names = Object.keys(parameters);
  const kept = query.split("&").filter((pair) => pair !== "" && !names.includes(nameOf(pair)));
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null) kept.push(new URLSearchParams({ [name]: value }).toString());
  }
  const whole = `${path}${kept.length === 0 ? "" : "?"}${kept.join("&")}${fragment}`;
  return typeof address === "string" ? whole : new Request(whole, address);
}

/**
 * The topics that an address asks for.
 *
 * @param address The address.
 * @returns The values of its `topic` parameters.
 */
export function topicsOf(address: Address): ReadonlySet<string> {
  return new Set(new URLSearchParams(split(urlOf(address))[1]).getAll("topic"));
}

function split(url: string): readonly [path: string, query: string, fragment: string] {
  const [, path = "", query = "", fragment = ""] = /^([^?#]*)\??([^#]*)(.*)$/s.exec(url) ?? [];
  return [path, query, fragment];
}

function nameOf(pair: string): string {
  const [[name = ""] = []] = [...new URLSearchParams(pair)];
  return name;
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
