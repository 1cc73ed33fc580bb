/**
 * Where a request was sent to. Deno and Bun write whatever a `Host` header says in front of the target,
 * slashes and question marks too: a client could name one path to a proxy, and another to the handler.
 *
 * @module
 */
import { refusal } from "../hub/refusal.ts";
import type { FetchHandler } from "./server.ts";

/** A registered name, an IPv4 address or a bracketed IPv6 address, and a port. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?$/;

/**
 * Says whether a text may stand in a `Host` header.
 *
 * @param text The text.
 */
export function isHost(text: string): boolean {
  return HOST.test(text);
}

/**
 * Refuses requests whose address is not one. HTTP/1.0 needs no `Host`: a health check of HAProxy has
 * none, and on Bun its request has a path for an address.
 *
 * @param handler The handler.
 * @returns The handler that is called only with an address that `new URL` takes.
 */
export function addressed(handler: FetchHandler): FetchHandler {
  return (request, host) => {
    const named = request.headers.get("Host");
    const { url } = request;
    if (named === null && url.startsWith("/") && URL.canParse(`http://localhost${url}`)) {
      return handler(new Request(`http://localhost${url}`, request), host);
    }
    if ((named === null || isHost(named)) && URL.canParse(url)) return handler(request, host);
    return refusal(400, "bad_request", "The request target or the Host header is malformed");
  };
}
