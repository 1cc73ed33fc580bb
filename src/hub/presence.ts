/**
 * Who is connected: what the presence hook is told.
 *
 * @module
 */
import type { Verdict } from "../wire/hello.ts";

/**
 * Why a connection ended.
 *
 * - `closed`: the peer left, or the application disconnected it.
 * - `dead`: a write failed, or the peer took nothing for the write timeout. What was seen of a
 *   socket, not a bound on how fast a death is noticed.
 * - `evicted`: its buffer was full, and it was reset as slow.
 * - `shutdown`: the hub shut down.
 * - `hook_failed`: its connect hook or its repair threw.
 */
export type DepartureCause = "closed" | "dead" | "evicted" | "shutdown" | "hook_failed";

/** Every cause, for tables. */
export const DEPARTURE_CAUSES: readonly DepartureCause[] = [
  "closed",
  "dead",
  "evicted",
  "shutdown",
  "hook_failed",
];

/** Which write failed: of a `dead` connection, or the farewell of an evicted or shut-down one. */
export type FailedWrite = "keepalive" | "frame" | "hook" | "reset";

/** One arrival or one departure. */
export interface PresenceEvent {
  /** When, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** Which of the two. Each `connected` is followed by exactly one `disconnected`. */
  readonly kind: "connected" | "disconnected";
  /** The connection's topics; empty when it receives everything. */
  readonly topics: readonly string[];
  /** How its cursor was judged; on arrivals only. */
  readonly verdict?: Verdict;
  /** Why it left; on departures only. */
  readonly cause?: DepartureCause;
  /** Which write failed, where one did; on departures only. */
  readonly write?: FailedWrite;
  /** The hub's epoch. */
  readonly epoch: string;
  /** The application's tag for the client; `""` when there is none. */
  readonly tag: string;
  /** The unguessable id of the connection: two tabs of one client are two connections. */
  readonly connection: string;
}

/** One tag in {@linkcode Hub.presence}. */
export interface TagPresence {
  /** The tag. */
  readonly tag: string;
  /** How many connections carry it. */
  readonly connections: number;
  /** The topics that those connections listen to; empty when one of them receives everything. */
  readonly topics: readonly string[];
  /** When it was last acknowledged, or else connected, in milliseconds since the Unix epoch. */
  readonly lastAliveAt: number;
  /** Whether its last acknowledgement is older than the window, whatever its sockets say. */
  readonly gone: boolean;
}

/** Who is connected. */
export interface PresenceSnapshot {
  /** By tag, those that carry one. Tags without a connection stay listed for a while, 1,024 to 2,048. */
  readonly tags: readonly TagPresence[];
  /** How many connections listen to each topic; `""` counts those that receive everything. */
  readonly topics: ReadonlyMap<string, number>;
  /** How often a tag became alive, and how often one ran out. */
  readonly transitions: { readonly alive: number; readonly expired: number };
}
