/**
 * What a client reports of its life, one record at a time: to log, to count, to show. Nothing needs
 * to branch on one. No record holds a ticket, and the only cursor in one is a malformed id, cut short.
 *
 * @module
 */
import type { Verdict } from "../wire/hello.ts";
import type { RevalidateCause, StreamState, Subject } from "./types.ts";

/** Why an attempt did not become an open stream. */
export type ConnectFailure =
  /** The application's `url` or `headers` rejected. */
  | "address"
  /** The request failed: no network, no server, a refused preflight. */
  | "network"
  /** No head of a response in time. */
  | "connect_timeout"
  /** A status other than 200. */
  | "status"
  /** A media type other than `text/event-stream`. */
  | "content_type"
  /** No hello in time. */
  | "hello_timeout"
  /** The first event was not a hello, or the stream ended before one. */
  | "hello_missing"
  /** A hello that breaks the wire. */
  | "hello_invalid"
  /** A revision of the wire outside of `minWire` to `maxWire`. */
  | "wire_unsupported"
  /** An event or a line above the bound. */
  | "too_large";

/** Why an open stream ended. */
export type Disconnect =
  /** The server, or something between, ended it: cleanly or not, which no browser tells reliably. */
  | "ended"
  /** Nothing came for longer than the watchdog's limit. */
  | "silent"
  /** A line or an event above the bound. */
  | "too_large"
  /** A second hello on one connection. */
  | "second_hello"
  /** More frames came during a revalidation than may be held. */
  | "held_overflow"
  /** A revalidation took too long. */
  | "revalidate_timeout"
  /** A repair's end did not come in time. */
  | "repair_timeout";

/** Why a frame's id could not move the cursor. */
export type BadCursor =
  /** It is no cursor. */
  | "malformed"
  /** It is of another epoch than the hello of its connection. */
  | "foreign_epoch";

/** One thing that happened. */
export type LifecycleRecord =
  | {
    /** The state changed. */
    readonly kind: "state";
    readonly from: StreamState;
    readonly to: StreamState;
    /** Which attempt. */
    readonly generation: number;
    /** In `backoff`: after how many milliseconds the next attempt starts. */
    readonly waitMs?: number;
  }
  | {
    /** A connection opened. */
    readonly kind: "hello";
    readonly verdict: Verdict;
    readonly resumed: boolean;
    readonly repair: boolean;
    readonly wire: number;
    readonly epoch: string;
    readonly floor: string;
    readonly head: string;
    readonly keepaliveMs: number;
    readonly generation: number;
  }
  | {
    /** An attempt failed. */
    readonly kind: "connect_failed";
    readonly reason: ConnectFailure;
    /** The response's status, where there was a response. */
    readonly status: number | null;
    /** What the platform said, at most 200 characters, for people. */
    readonly detail: string;
    /** How many attempts have failed since the last stable stream. */
    readonly attempt: number;
    readonly generation: number;
  }
  | {
    /** An open stream ended. */
    readonly kind: "disconnected";
    readonly reason: Disconnect;
    /** How long it had been open. */
    readonly openMs: number;
    /** What the platform said, at most 200 characters, for people. */
    readonly detail: string;
    readonly generation: number;
  }
  /** The server announced that it ends the stream. */
  | { readonly kind: "reset"; readonly reason: string }
  /** Silence passed the limit. */
  | { readonly kind: "watchdog"; readonly sinceLastByteMs: number }
  /** A hello of a revision that this client does not speak. */
  | { readonly kind: "wire_unsupported"; readonly wire: number }
  /** Hidden too long (`timer`, `read`: noticed on a byte), or left or frozen (`pagehide`). */
  | { readonly kind: "hidden_closed"; readonly arm: "timer" | "read" | "pagehide" }
  /** A deliberately closed stream connects again. */
  | { readonly kind: "reopened"; readonly cause: "visible" | "pageshow" }
  /** A report of an attempt that is no longer the current one was dropped. */
  | { readonly kind: "stale_event"; readonly type: string; readonly generation: number }
  /** A revalidation starts. */
  | {
    readonly kind: "revalidate";
    readonly cause: RevalidateCause;
    readonly full: boolean;
    /** What it waited, so that many clients do not ask at once. */
    readonly spreadMs: number;
  }
  /** A revalidation ended well. */
  | { readonly kind: "revalidated"; readonly cause: RevalidateCause; readonly tookMs: number }
  /** A revalidation rejected. The next hello revalidates, even if it resumed. */
  | { readonly kind: "revalidate_failed"; readonly cause: RevalidateCause; readonly error: unknown }
  /** A revalidation passed its time. */
  | { readonly kind: "revalidate_timeout"; readonly cause: RevalidateCause }
  /** Held frames were thrown away with their connection; the cursor stands before them. */
  | { readonly kind: "held_discarded"; readonly length: number; readonly reason: string }
  /** Frames were lost for this connection; `missed` is `null` when it cannot be known. */
  | { readonly kind: "lag"; readonly missed: number | null }
  /** `onFrame` threw. The cursor moved on; a revalidation follows. */
  | { readonly kind: "frame_rejected"; readonly type: string; readonly error: unknown }
  /** A frame that was already delivered came again, and was dropped. */
  | { readonly kind: "duplicate_frame"; readonly type: string }
  /** An id could not move the cursor; its frame was delivered all the same. */
  | { readonly kind: "bad_cursor"; readonly reason: BadCursor; readonly id: string }
  /** An event of the library's own that this version does not know was ignored. */
  | { readonly kind: "unknown_frame"; readonly type: string }
  /** The cursor was dropped: the application asked, or the topics of the URL grew. */
  | { readonly kind: "cursor_dropped"; readonly reason: "application" | "topics_grew" }
  /** The connection's authority ends soon. */
  | { readonly kind: "expiring"; readonly inMs: number }
  /** An acknowledgement was posted; `status` is `null` when no answer came. */
  | { readonly kind: "alive_ack"; readonly ok: boolean; readonly status: number | null }
  /** The application's store refused the cursor. */
  | { readonly kind: "persist_failed"; readonly action: "load" | "save"; readonly error: unknown }
  /** A version map refused a stamp of another epoch. */
  | { readonly kind: "stale_stamp"; readonly subject: Subject; readonly epoch: string }
  /** A digest was answered. */
  | {
    readonly kind: "digest";
    readonly changed: number;
    readonly removed: number;
    readonly mustRefetch: boolean;
  }
  /** A topic was subscribed on the live stream, or could not be (`status` of the answer, or `null`). */
  | {
    readonly kind: "subscribed";
    readonly topic: string;
    readonly verdict: Verdict;
    readonly head: string;
  }
  | { readonly kind: "subscribe_failed"; readonly topic: string; readonly status: number | null }
  /** A tab started the profile's worker, or elected itself the profile's leader. */
  | { readonly kind: "worker_spawned"; readonly via: "shared_worker" | "leader" }
  /** The worker, or the leader, has been silent for three beats. */
  | { readonly kind: "worker_dead"; readonly sinceLastMessageMs: number }
  /** The tab fell back to a stream of its own. */
  | { readonly kind: "worker_unavailable"; readonly cause: "silent" | "error" | "missing" }
  /** The tab is attached to the worker again, and its own stream closed. */
  | { readonly kind: "worker_recovered" }
  /** The server no longer knows this user: the profile's stream stopped. */
  | { readonly kind: "auth_lost"; readonly route: "digest" | "alive"; readonly status: number }
  /** A tab joined. */
  | { readonly kind: "tab_attached"; readonly tabs: number; readonly state: StreamState }
  /** A tab left, or expired. */
  | { readonly kind: "tab_detached"; readonly tabs: number; readonly cause: string }
  /** A tab was silent too long, or left too many frames unacknowledged. */
  | { readonly kind: "port_expired"; readonly sinceLastBeatMs: number; readonly unacked: number }
  /** An expired tab answered again, and revalidates in full. */
  | { readonly kind: "port_repaired" };
