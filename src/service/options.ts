/**
 * The options of a service.
 *
 * @module
 */
import type { Access } from "../cluster/handlers/access.ts";
import type { KnownResolver } from "../cluster/handlers/known.ts";
import type { StreamExtras } from "../cluster/handlers/stream.ts";
import type { Authorize, BoundTopics, Identify } from "../cluster/handlers/types.ts";
import type { JournaledHub, RelayMembership } from "../cluster/types.ts";
import { ConfigError } from "../errors.ts";
import type { DigestOptions } from "../hub/digest.ts";
import type { Logger } from "../hub/options.ts";
import type { Hub } from "../hub/types.ts";
import type { Claims, Tickets } from "../tickets/types.ts";

/** Which pages of other origins may use a service. */
export interface CorsOptions {
  /** Their origins, each as a browser sends it: `https://app.example.com`. There is no wildcard. */
  readonly origins: readonly string[];
  /** Whether their requests may carry cookies; false. */
  readonly credentials?: boolean;
}

/** Options of {@linkcode createService}. */
export interface ServiceOptions {
  /** The hub. */
  readonly hub: Hub | JournaledHub;
  /** Says who sends a request: the application's own authentication. */
  readonly identify: Identify;
  /**
   * Says whether somebody may listen to a topic. Without it nobody may listen to anything: no ticket is
   * minted, no stream opened without one, and no topic subscribed (403 `forbidden`).
   */
  readonly authorize?: Authorize;
  /**
   * The topics that somebody receives without asking, of their account and their own; none. They are not
   * put to `authorize`.
   */
  readonly boundTopics?: BoundTopics;
  /** The tickets; without them there is no `POST /ticket`, and none opens a stream. */
  readonly tickets?: Tickets;
  /** This pod's place among its siblings, from `joinRelay`; none for a pod alone. */
  readonly membership?: RelayMembership;
  /**
   * What is added to a stream: a hook, a repair, its topics' past.
   *
   * @param claims Whose it is, and what it carries.
   */
  stream?(claims: Claims): StreamExtras;
  /** Answers digests; without it there is no `POST /digest`. */
  readonly digest?: KnownResolver;
  /** The bounds of a digest. */
  readonly digestBounds?: DigestOptions;
  /** Who may publish; without it there is no `POST /publish`. */
  readonly publish?: Access;
  /** Who may see who is connected; without it there is no `GET /presence`. */
  readonly presence?: Access;
  /** Who may see the counters; without it there is no `GET /metrics`. */
  readonly metrics?: Access;
  /** Which pages of other origins may use it; none. */
  readonly cors?: CorsOptions;
  /** What stands before each route: `/sse`; nothing. */
  readonly basePath?: string;
  /**
   * The largest body, in bytes; 65,536; 1024 to 16,777,216. A digest's is `digestBounds.maxBodyBytes`,
   * an event's what the largest frame needs.
   */
  readonly maxBodyBytes?: number;
  /** Where failures are logged; `console`. Never a ticket, and never a cursor. */
  readonly logger?: Logger;
}

const BASE_PATH = /^(?:\/[A-Za-z0-9._~-]+)*$/;
const MIN_BODY_BYTES = 1024;
const MOST_BODY_BYTES = 16_777_216;

/**
 * Refuses options that could not be honoured.
 *
 * @param options What the application passed.
 * @throws {ConfigError} For the first of them.
 */
export function checkServiceOptions(options: ServiceOptions): void {
  const { basePath = "", cors, maxBodyBytes = MIN_BODY_BYTES } = options;
  if (!BASE_PATH.test(basePath)) {
    throw new ConfigError("basePath", "it must be like /sse, without a slash at its end");
  }
  const inBounds = Number.isSafeInteger(maxBodyBytes) && maxBodyBytes >= MIN_BODY_BYTES &&
    maxBodyBytes <= MOST_BODY_BYTES;
  if (!inBounds) {
    const bounds = `${MIN_BODY_BYTES} to ${MOST_BODY_BYTES}`;
    throw new ConfigError("maxBodyBytes", `it is ${maxBodyBytes}, it must be ${bounds}`);
  }
  for (const origin of cors?.origins ?? []) {
    if (isOrigin(origin)) continue;
    throw new ConfigError("cors.origins", "each must be like https://app.example.com, and no *");
  }
}

function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text && text !== "null";
  } catch {
    return false;
  }
}
