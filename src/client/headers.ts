/**
 * Reading the headers that an application wants on a request.
 *
 * @module
 */
import { forLog } from "../wire/text.ts";
import type { HeadersSource } from "./types.ts";

/** A token (RFC 9110, section 5.6.2). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible characters, spaces and tabs, and what else a byte can be (RFC 9110, section 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Reads a source of headers: once for each request, so that a renewed credential is seen.
 *
 * The messages of its errors never repeat a value: it may be a credential.
 *
 * @param source The source; none makes no headers.
 * @returns Headers of their own, which the caller may change.
 * @throws {TypeError} When it gives no object of names and values, a name is no token of HTTP, a
 * value cannot be sent, or two names differ in case alone. What a function throws passes through.
 */
export async function readHeaders(source: HeadersSource | undefined): Promise<Headers> {
  const headers = new Headers();
  if (source === undefined) return headers;
  const given: unknown = typeof source === "function" ? await source() : source;
  // `Headers` and lists can be iterated: what they hold are no properties, and would be lost.
  if (typeof given !== "object" || given === null || Symbol.iterator in given) {
    throw new TypeError("Cannot send the headers: no plain object of names and values");
  }
  for (const [name, value] of Object.entries(given)) {
    if (!NAME.test(name)) throw refused(name, "its name is not a token of HTTP");
    if (typeof value !== "string") throw refused(name, "its value is not a text");
    if (!VALUE.test(value)) {
      throw refused(name, "its value holds a control character, or one above U+00FF");
    }
    if (headers.has(name)) throw refused(name, "its name is there twice, in another case");
    headers.set(name, value);
  }
  return headers;
}

function refused(name: string, reason: string): TypeError {
  return new TypeError(`Cannot send the header "${forLog(name, 64)}": ${reason}`);
}
