/**
 * What the service's tests share: people, tickets in memory that are counted, and requests.
 *
 * @module
 */
import type { Access } from "../../../src/cluster/handlers/access.ts";
import type { AuthorizeCall, Identity } from "../../../src/cluster/handlers/types.ts";
import type { Claims, RedeemedTicket, Tickets } from "../../../src/tickets/types.ts";

/** A key that a header can carry and nobody guesses. */
export const KEY = "k3y/that+nobody-guesses~0123456789.=";
/** The key that replaces it. */
export const NEXT_KEY = "another-key_of-the-rotation.42";
/** The two together. */
export const KEYS: Access = { keys: [KEY, NEXT_KEY] };

/**
 * The application's authentication: `X-User: ada`, `X-User: ada of 7`.
 *
 * @param request The request.
 */
export function identify(request: Request): Identity | null {
  const [user = "", account] = (request.headers.get("X-User") ?? "").split(" of ");
  if (user === "") return null;
  return { user, ...(account !== undefined && { account }), session: `session of ${user}` };
}

/** The application's authorization: everybody may hear `open:…`, and it writes down what it was asked. */
export function authorizing(): {
  readonly asked: AuthorizeCall[];
  readonly authorize: (call: AuthorizeCall) => boolean;
} {
  const asked: AuthorizeCall[] = [];
  const authorize = (call: AuthorizeCall): boolean => {
    asked.push(call);
    return call.topic.startsWith("open:");
  };
  return { asked, authorize };
}

/** Tickets in a map, which never expire: what the handlers do with them is counted. */
export class CountedTickets implements Tickets {
  /** What was minted, in order. */
  readonly minted: Claims[] = [];
  /** What was presented, in order. */
  readonly presented: string[] = [];
  /** How many were given back. */
  givenBack = 0;
  /** What each call waits for. */
  before: () => Promise<void> = () => Promise.resolve();
  readonly #valid = new Map<string, Claims>();

  async mint(claims: Claims): Promise<string> {
    await this.before();
    this.minted.push(claims);
    const ticket = `ticket-${String(this.minted.length).padStart(36, "0")}`;
    this.#valid.set(ticket, claims);
    return ticket;
  }

  async redeem(ticket: string): Promise<RedeemedTicket | null> {
    this.presented.push(ticket);
    await this.before();
    const claims = this.#valid.get(ticket);
    if (claims === undefined) return null;
    this.#valid.delete(ticket);
    const giveBack = (): Promise<void> => {
      this.givenBack++;
      this.#valid.set(ticket, claims);
      return Promise.resolve();
    };
    return { claims, giveBack };
  }

  /** Whether a ticket would still open something. */
  holds(ticket: string): boolean {
    return this.#valid.has(ticket);
  }
}

/** What a request is made of. */
export interface Asked {
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** JSON, unless it is bytes or a text. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * A request.
 *
 * @param path Its path.
 * @param asked What it is made of. With a body it is a POST of JSON.
 */
export function request(path: string, asked: Asked = {}): Request {
  const { as, body, signal } = asked;
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const headers = new Headers({
    ...(as !== undefined && { "X-User": as }),
    ...(body !== undefined && { "Content-Type": "application/json" }),
    ...asked.headers,
  });
  return new Request(`http://localhost${path}`, {
    method: asked.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    ...(body !== undefined && { body: raw ? body as BodyInit : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

/**
 * What a refusal says.
 *
 * @param response The answer.
 * @returns `401 unauthenticated`; of any other answer the status alone.
 */
export async function told(response: Response | Promise<Response>): Promise<string> {
  const { status, body } = await response;
  if (status < 400) {
    await body?.cancel();
    return String(status);
  }
  const { code, error } = JSON.parse(await new Response(body).text() || '{"code":"no body"}');
  if (typeof error === "string" && error.length > 300) {
    throw new Error(`It says too much: ${error}`);
  }
  return `${status} ${code}`;
}

/**
 * All that can be told from an answer, but for its time.
 *
 * @param response The answer.
 */
export async function everything(response: Response | Promise<Response>): Promise<string> {
  const answer = await response;
  return JSON.stringify([answer.status, [...answer.headers], await answer.text()]);
}
