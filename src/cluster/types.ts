/**
 * What a hub is whose events a journal numbers, and what joins a hub to its siblings.
 *
 * @module
 */
import type { Clock } from "../hub/clock.ts";
import type { HubOptions, Logger } from "../hub/options.ts";
import type { HistoryRequest, PublishEvent, StreamHub } from "../hub/types.ts";
import type { Journal } from "../journal/journal.ts";
import type { Verdict } from "../wire/hello.ts";

/** Options of {@linkcode openHub}. */
export interface JournaledHubOptions extends HubOptions {
  /**
   * Where the events are kept. The ring in front of it holds 1024 events by default and needs no
   * `ttlMs`; `replay.replyMaxEvents` may be above the ring's size, and is 100 000 by default.
   */
  readonly journal: Journal;
}

/** An event for a journaled hub. */
export interface JournaledEvent extends PublishEvent {
  /**
   * Whether to wait until the event is stored; `true`. With `false` it is stored in the background, in
   * order with the others, and `publish` settles at once with 0: for what comes many times a second. A
   * failure is counted and logged, and nobody is told.
   */
  readonly ack?: boolean;
  /** Repeats a publication whose outcome is unknown: the id of an {@linkcode AppendUnknownError}. */
  readonly id?: string;
}

/** A hub whose events a journal numbers: a cursor holds on every pod, and after every restart. */
export interface JournaledHub extends StreamHub {
  /**
   * Stores an event, whence it reaches every pod's clients.
   *
   * @param event What to publish. Its data is read at once.
   * @returns Its offset, once it is stored; 0 for an ephemeral event, with `ack: false`, and after
   * shutdown. An ephemeral event stays on this pod, unless it has joined a relay.
   * @throws What {@linkcode Hub.publish} throws, as a rejection; nothing was stored then.
   * @throws {JournalError} When it was not stored; no client receives it.
   * @throws {AppendUnknownError} When it is not known whether it was stored, and it may yet be
   * delivered: publish it again with the error's id.
   */
  publish(event: JournaledEvent): Promise<number>;
}

/** Options of {@linkcode joinRelay}. */
export interface JoinOptions {
  /**
   * This pod's name among its siblings, for logs and {@linkcode RelayMembership.siblings}: 1 to 64 of
   * `[A-Za-z0-9._-]`, its host name, say; random by default. Two pods must not share one.
   */
  readonly origin?: string;
  /**
   * Over how many milliseconds those clients are sent away, after a loss, that cannot be told of it;
   * 2000; from 0. Between two losses that are told at least so long passes, and at least a second.
   */
  readonly spreadMs?: number;
  /** How long {@linkcode RelayMembership.ready} waits for the broker, in milliseconds; 10 000; from 1. */
  readonly readyMs?: number;
  /**
   * How often the pod says how far it has counted, in milliseconds; 5000; from 1. So late a loss is seen
   * at the latest that nothing followed. Who was silent for three of them is taken for dead.
   */
  readonly beatMs?: number;
  /** Where to log; `console`. */
  readonly logger?: Logger;
  /** The clock; the system's. */
  readonly clock?: Clock;
}

/** A pod that was heard of, as {@linkcode RelayMembership.siblings} lists it. */
export interface SiblingInfo {
  /** Its name. */
  readonly origin: string;
  /** Which start of it. */
  readonly boot: string;
  /** How many durable events it has sent, as far as is known. */
  readonly n: number;
  /** When it was last heard, in milliseconds since the Unix epoch. */
  readonly lastHeardAt: number;
}

/** What a pod counts at its relay. Each only grows, but for `siblings`. */
export interface RelayMetrics {
  /** Envelopes sent, beats and answers included. */
  readonly sent: number;
  /** Envelopes that could not be sent: the relay is closed, or its bound has shrunk. */
  readonly unsent: number;
  /** Envelopes of siblings that were read and not dropped. */
  readonly received: number;
  /** This pod's own envelopes, which came back and were dropped. */
  readonly echoes: number;
  /** Envelopes that came a second time, and were dropped. */
  readonly duplicates: number;
  /** Messages that are no envelope. */
  readonly malformed: number;
  /** Envelopes of another version of the library, which this one does not read. */
  readonly foreign: number;
  /** Events of siblings that this hub refused. */
  readonly refused: number;
  /** How often clients were told that events were lost. */
  readonly gaps: number;
  /** Commands that this pod asked its siblings to carry out. */
  readonly asked: number;
  /** Of those, how many nobody answered in time. */
  readonly timedOut: number;
  /** Commands of siblings that this pod carried out. */
  readonly answered: number;
  /** How many siblings there are now. */
  readonly siblings: number;
}

/** Something to be done to a connection, by whichever pod holds it. */
export type ConnectionCommand =
  | {
    readonly do: "subscribe";
    /** The connection's id. */
    readonly connection: string;
    /** The topic. */
    readonly topic: string;
    /** The user in whose name: the holder acts only when the connection is theirs. */
    readonly user: string;
    /** See {@linkcode SubscribeOptions.history}. */
    readonly history?: HistoryRequest;
    /** See {@linkcode SubscribeOptions.after}. */
    readonly after?: string;
  }
  | {
    readonly do: "unsubscribe";
    /** The connection's id. */
    readonly connection: string;
    /** The topic. */
    readonly topic: string;
    /** The user in whose name. */
    readonly user: string;
  }
  | {
    readonly do: "disconnect";
    /** Whose connections are ended, on every pod. Nobody answers. */
    readonly user: string;
  };

/** What the holder of a connection answered. */
export type CommandReply =
  /** It was subscribed. */
  | { readonly kind: "subscribed"; readonly verdict: Verdict; readonly head: number }
  /** It was unsubscribed, if it did listen. */
  | { readonly kind: "unsubscribed"; readonly listened: boolean }
  /** It was refused: which error, and what it says. */
  | {
    readonly kind: "refused";
    readonly error: "topic" | "journal" | "type" | "failed";
    readonly reason: string;
  };

/** A pod's place among its siblings. */
export interface RelayMembership {
  /** Its name. */
  readonly origin: string;
  /**
   * Settles when the broker has confirmed the subscription: open the port only then, for clients of
   * before miss what siblings publish. Rejects with a {@linkcode RelayError}: `unavailable` after
   * `readyMs`, `closed` after {@linkcode RelayMembership.leave}, or what the relay refused with; the hub
   * is by itself again then.
   */
  readonly ready: Promise<void>;
  /** Who is there, as far as this pod has heard. */
  siblings(): readonly SiblingInfo[];
  /** What it counts; {@linkcode relayOpenMetrics} writes it as text. */
  metrics(): RelayMetrics;
  /**
   * Asks whichever pod holds a connection. `createSubscriptions` does it for you.
   *
   * @param command What is to be done. A `disconnect` is for every pod, and nobody answers it.
   * @param waitMs How long an answer is waited for, in milliseconds; with 0 none is.
   * @returns The answer; `null` when there was none in time, always after the whole wait.
   * @throws {RelayError} `unavailable` when 1024 questions wait already.
   */
  ask(command: ConnectionCommand, waitMs: number): Promise<CommandReply | null>;
  /**
   * Says goodbye to the siblings and leaves the relay; the hub stays, by itself. First drain the hub,
   * then leave, then close the relay. A second call joins the first.
   *
   * @returns Settles when the subscription has ended.
   */
  leave(): Promise<void>;
}
