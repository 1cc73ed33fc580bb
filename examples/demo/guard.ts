/**
 * What keeps other web sites away from a server on the visitor's own machine.
 *
 * @module
 */

/** Headers of every file of the page: no script but our own files, no request but to ourselves. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
    "img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

/**
 * Says whether a request that changes something came from our own page.
 *
 * Browsers say so in `Sec-Fetch-Site`; older ones at least send `Origin`. A request with neither is
 * refused: it did not come from the page.
 *
 * @param request The request.
 * @returns Whether it did.
 */
export function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("Sec-Fetch-Site");
  if (site !== null) return site === "same-origin";
  return request.headers.get("Origin") === new URL(request.url).origin;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Says whether a host name means this machine itself. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname) || hostname === "::1";
}
