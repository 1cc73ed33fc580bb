/**
 * Who may use a route that is not for clients: publishing, presence, metrics.
 *
 * @module
 */
import { HttpRefusal } from "./refuse.ts";
import { keyCheck } from "./secret.ts";

/** Who may use a route: whoever has a key, or whom the application allows. */
export type Access =
  | {
    /**
     * The key of `Authorization: Bearer KEY`, or several while one replaces another: at most 16, each of
     * 16 to 512 characters that a header can carry. Make one by
     * `openssl rand -base64 32`.
     */
    readonly keys: string | readonly string[];
  }
  | {
    /**
     * Says whether a request may; anything but `true` is 403 `forbidden`. Must not read the body.
     *
     * @param request The request.
     */
    allow(request: Request): boolean | Promise<boolean>;
  };

/**
 * Makes the guard of a route.
 *
 * @param access Who may use it.
 * @param option What a refusal of the keys calls the option.
 * @returns The guard. It throws a {@linkcode HttpRefusal}: 401 `unauthenticated`, the same without a
 * key and with a wrong one; or 403 `forbidden`.
 * @throws {ConfigError} When a key could not be sent, or could be guessed.
 */
export function guardOf(access: Access, option: string): (request: Request) => Promise<void> {
  if ("allow" in access) {
    return async (request) => {
      if (await access.allow(request) !== true) throw forbidden("This is not for you");
    };
  }
  const fits = keyCheck(access.keys, option);
  return async (request) => {
    const { key = "" } = BEARER.exec(request.headers.get("Authorization") ?? "")?.groups ?? {};
    if (await fits(key)) return;
    throw new HttpRefusal(401, "unauthenticated", "This needs a key", {
      "WWW-Authenticate": "Bearer",
    });
  };
}

/** RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, section 11.1). */
const BEARER = /^Bearer +(?<key>\S+)$/i;

/**
 * The refusal of somebody who may not.
 *
 * @param message What.
 */
export function forbidden(message: string): HttpRefusal {
  return new HttpRefusal(403, "forbidden", message);
}
