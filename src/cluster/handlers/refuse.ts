/**
 * Refusals on their way to the one place that answers them.
 *
 * @module
 */
import type { Logger } from "../../hub/options.ts";
import { refusal } from "../../hub/refusal.ts";
import { errorForLog, forLog } from "../../wire/text.ts";
import type { Handler } from "./types.ts";

/** A request that is refused. */
export class HttpRefusal extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The stable name of the refusal. */
  readonly code: string;
  /** Headers besides the envelope's own. */
  readonly headers: Readonly<Record<string, string>>;

  /**
   * @param status The HTTP status.
   * @param code The stable name of the refusal.
   * @param message What was wrong, and the bound; never what the request said.
   * @param headers Headers besides the envelope's own.
   */
  constructor(
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  /** The answer. */
  toResponse(): Response {
    return refusal(this.status, this.code, this.message, this.headers);
  }
}

/**
 * What looks like a ticket, whole or cut off at the end, or like a cursor: an application's error may
 * repeat a URL.
 */
const SECRET = /[A-Za-z0-9_-]{43,}|[A-Za-z0-9_-]{16,}$|[0-9a-f]{16}(?::|%3A)\d+/gi;

/**
 * What was thrown, for a log: bounded, and without tickets or cursors.
 *
 * @param error What was thrown.
 * @returns Its name and message.
 */
export function failureForLog(error: unknown): string {
  // Cut only after what must not be shown is gone: half a secret would not be recognized.
  return forLog(errorForLog(error, 2048).replaceAll(SECRET, "[removed]"), 512);
}

/**
 * Makes a handler answer always: a refusal that was thrown is answered; anything else is logged, and
 * answered with 500 `internal`, which says nothing of it. A handler that answers at once still does:
 * on Bun a response that comes later may miss that its client has left.
 *
 * @param handler The handler.
 * @param logger Where a failure is logged.
 * @returns The handler that does not throw.
 */
export function answering(handler: Handler, logger: Pick<Logger, "error">): Handler {
  const failed = (error: unknown): Response => {
    if (error instanceof HttpRefusal) return error.toResponse();
    logger.error(`A request could not be answered: ${failureForLog(error)}`);
    return refusal(500, "internal", "Internal error");
  };
  return (request, host) => {
    try {
      const answer = handler(request, host);
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  };
}

/**
 * Refuses what is asked by another method.
 *
 * @param request The request.
 * @param allowed The methods that the route takes.
 * @param code The refusal's stable name.
 * @throws {HttpRefusal} 405, with `Allow`.
 */
export function checkMethod(
  request: Request,
  allowed: readonly ("GET" | "HEAD" | "POST")[],
  code: string,
): void {
  if (allowed.some((method) => method === request.method)) return;
  const list = allowed.join(", ");
  throw new HttpRefusal(405, code, `This route takes ${list} only`, { Allow: list });
}
