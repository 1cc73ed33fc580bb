/**
 * Server-Sent Events that resume from an exact cursor, on Deno, Bun, Cloudflare Workers and Node.
 *
 * A {@linkcode Hub} publishes events to every client that listens, keeps the newest ones, and tells
 * each client that comes back whether it missed something, and sends what it missed.
 *
 * @example A hub, an event, and a client that comes back
 * ```ts
 * import { assertStringIncludes } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 *
 * const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
 * hub.publish({ name: "tick", data: "1" });
 * const { epoch } = hub.position();
 * hub.publish({ name: "tick", data: "2" });
 *
 * const request = new Request("http://localhost/events", {
 *   headers: { "Last-Event-ID": `${epoch}:1` },
 * });
 * const reader = hub.serve(request).body!.pipeThrough(new TextDecoderStream()).getReader();
 * let text = "";
 * while (!text.includes("data: 2\n\n")) text += (await reader.read()).value ?? "";
 * assertStringIncludes(text, '"verdict":"resumed"');
 * await reader.cancel();
 * await hub.shutdown();
 * ```
 *
 * @module
 */
export {
  ConfigError,
  ConnectionGoneError,
  CursorError,
  type ErrorCode,
  FrameTooLargeError,
  InvalidUtf8Error,
  ProtocolError,
  TidemarkError,
  TopicError,
} from "./src/errors.ts";
export {
  AppendUnknownError,
  JournalEpochError,
  JournalError,
  type JournalFault,
  JournalGapError,
} from "./src/errors/journal.ts";
export { RelayError, type RelayFault } from "./src/errors/relay.ts";
export { TicketError } from "./src/errors/ticket.ts";

export { createHub } from "./src/hub/hub.ts";
export { openHub } from "./src/cluster/open_hub.ts";
export { joinRelay, relayOpenMetrics } from "./src/cluster/join_relay.ts";
export {
  createSubscriptions,
  type SubscribeCall,
  type Subscriptions,
  type SubscriptionsOptions,
  type UnsubscribeCall,
} from "./src/cluster/subscriptions.ts";
export type {
  CommandReply,
  ConnectionCommand,
  JoinOptions,
  JournaledEvent,
  JournaledHub,
  JournaledHubOptions,
  RelayMembership,
  RelayMetrics,
  SiblingInfo,
} from "./src/cluster/types.ts";
export type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  TailOptions,
} from "./src/journal/journal.ts";
export type { Relay, RelayListener, RelaySubscription } from "./src/relay/relay.ts";
export type { Claims, RedeemedTicket, Tickets, TicketStore } from "./src/tickets/types.ts";
export type { Clock, Timer } from "./src/hub/clock.ts";
export type { HubOptions, Logger, ReplayOptions, SlowPolicy } from "./src/hub/options.ts";
export type {
  ConnectionInfo,
  DisconnectTarget,
  DrainOptions,
  HistoryRequest,
  Hub,
  HubState,
  OutgoingEvent,
  Position,
  PublishEvent,
  RecalledEvent,
  RingEvent,
  ServeOptions,
  Siblings,
  StreamHub,
  SubscribeOptions,
  Subscription,
  Writer,
} from "./src/hub/types.ts";
export type {
  DepartureCause,
  FailedWrite,
  PresenceEvent,
  PresenceSnapshot,
  TagPresence,
} from "./src/hub/presence.ts";
export type { DigestOptions, HeldSubject, Resolver, SubjectState } from "./src/hub/digest.ts";
export { type HubMetrics, openMetrics } from "./src/hub/metrics.ts";

export { type Cursor, formatCursor, parseCursor } from "./src/wire/cursor.ts";
export { type Hello, parseHello, type Verdict } from "./src/wire/hello.ts";
export {
  type ParsedEvent,
  Parser,
  type ParserHandlers,
  type ParserOptions,
} from "./src/wire/parser.ts";
export { MAX_FRAME_BYTES, MAX_OFFSET, WIRE } from "./src/wire/timing.ts";
