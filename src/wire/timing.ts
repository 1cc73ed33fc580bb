/**
 * Every number that both halves of the wire share. `timing.json` is the source; a test pins each
 * constant here to it, so that a hub, a browser client and the seed's Go hub can never disagree.
 *
 * @module
 */

/** The revision of the stream contract that every hello declares. */
export const WIRE = 1;

/** The largest offset ever issued or accepted: 2^53 − 1, so that no peer rounds one. */
export const MAX_OFFSET = 9_007_199_254_740_991;

/** The largest encoded frame in bytes, its terminating blank line included. */
export const MAX_FRAME_BYTES = 1_048_576;

/** The default interval between two keepalives, in milliseconds. */
export const KEEPALIVE_MS = 15_000;

/** The default name of the keepalive event. */
export const KEEPALIVE_EVENT = "sse:keepalive";

/** How many keepalive intervals a write may wait by default before the peer counts as dead. */
export const WRITE_TIMEOUT_BEATS = 2;

/** How long, in milliseconds, a socket has to take a farewell frame before it is dropped. */
export const RESET_WRITE_TIMEOUT_MS = 250;

/** The default `retry:` of a stream: how long a client waits before it reconnects, in milliseconds. */
export const RETRY_MS = 1500;

/** The default byte bound of the ring, counted in largest frames. */
export const REPLAY_MAX_BYTES_FRAMES = 64;

/** The most events that one reply replays by default. */
export const REPLY_MAX_EVENTS_CEILING = 256;

/** The smallest default for a client's buffer, in frames. */
export const CLIENT_BUFFER_FLOOR = 256;

/** A client gives a stream up after this many silent keepalive intervals. */
export const WATCHDOG_BEATS = 3;

/** A client never gives a stream up sooner than this, in milliseconds. */
export const WATCHDOG_FLOOR_MS = 15_000;

/** What a ring's age bound must leave a client beyond its watchdog, in milliseconds. */
export const REPLAY_TTL_FLOOR_EXTRA_MS = 30_000;

/** For how many keepalive intervals an acknowledgement keeps a tag alive. */
export const ALIVE_WINDOW_BEATS = 2;

/** The most subjects that one digest request may hold by default. */
export const DIGEST_MAX_SUBJECTS = 256;

/** The largest body of a digest request by default, in bytes. */
export const DIGEST_MAX_BODY_BYTES = 524_288;

/** The most a parser holds of one event, in characters: never less than a largest frame has. */
export const MAX_BUFFER_BYTES = 1_048_576;
