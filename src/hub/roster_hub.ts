/**
 * What every hub does over its connections, whoever numbers its events.
 *
 * @module
 */
import { errorForLog } from "../wire/text.ts";
import type { Connection } from "./connection.ts";
import { digestHandler, type DigestOptions, type Resolver } from "./digest.ts";
import { unlessAborted } from "./drain.ts";
import { checkExpiry } from "./expirations.ts";
import { subscribe, unsubscribe } from "./late_joiner.ts";
import { leave, readDrainOptions } from "./leaving.ts";
import type { HubMetrics } from "./metrics.ts";
import { cap } from "./options.ts";
import type { PresenceSnapshot } from "./presence.ts";
import { refusal } from "./refusal.ts";
import { respond } from "./respond.ts";
import type { Roster } from "./roster.ts";
import { isTag } from "./stream_request.ts";
import { topicNames } from "./topics.ts";
import type {
  ConnectionInfo,
  DisconnectTarget,
  DrainOptions,
  HubState,
  Position,
  PublishEvent,
  RingEvent,
  ServeOptions,
  Siblings,
  StreamHub,
  SubscribeOptions,
  Subscription,
} from "./types.ts";

/** A hub without a way to publish. */
export abstract class RosterHub implements StreamHub {
  /** Its connections. */
  protected readonly roster: Roster;

  #draining: Promise<void> | null = null;

  /** @param roster Its connections. */
  constructor(roster: Roster) {
    this.roster = roster;
  }

  // Bound, for a handler is passed on by itself.
  readonly handler = (request: Request, host?: unknown, context?: unknown): Response => {
    if (typeof context === "object" && context !== null && "waitUntil" in context) {
      return refusal(
        500,
        "streaming_unsupported",
        "A hub cannot live in a Worker's module scope: put it into a Durable Object",
      );
    }
    return respond(this.roster, request, { host });
  };

  serve(request: Request, options: ServeOptions = {}): Response {
    return respond(this.roster, request, options);
  }

  position(): Position {
    return this.roster.position();
  }

  snapshot(): RingEvent[] {
    return this.roster.log.snapshot();
  }

  get clientCount(): number {
    return this.roster.fanout.size;
  }

  get queuedFrames(): number {
    let queued = 0;
    for (const connection of this.roster.fanout) queued += connection.feed.queued;
    return queued;
  }

  setMaxClients(n: number): void {
    this.roster.maxClients = cap(n);
  }

  disconnect(target: DisconnectTarget): number {
    const chosen = [...this.roster.fanout].filter((connection) => matches(target, connection));
    for (const connection of chosen) connection.close();
    return chosen.length;
  }

  subscribe(
    connection: string,
    topic: string,
    options: SubscribeOptions = {},
  ): Promise<Subscription | null> {
    return subscribe(this.roster, connection, topic, options);
  }

  unsubscribe(connection: string, topic: string): boolean {
    return unsubscribe(this.roster, connection, topic);
  }

  ownerOf(connection: string): string | null {
    const found = this.roster.find(connection);
    return found?.open === true ? found.identity.user : null;
  }

  extend(connection: string, expiresAt: number): boolean {
    const end = checkExpiry(expiresAt);
    const found = this.roster.find(connection);
    if (found === undefined || found.over) return false;
    this.roster.expirations.set(found, end);
    return true;
  }

  abstract ingest(event: PublishEvent): number;

  relayTo(siblings: Siblings): () => void {
    const { roster } = this;
    if (roster.siblings !== null) throw new TypeError("Cannot join: the hub has siblings already");
    roster.siblings = siblings;
    return () => {
      if (roster.siblings === siblings) roster.siblings = null;
    };
  }

  presence(): PresenceSnapshot {
    const { tags, fanout, settings } = this.roster;
    // Kept on the clock that never goes back, for an adjusted one must not make everybody gone.
    const now = settings.clock.monotonic();
    const epoch = settings.clock.now() - now;
    return {
      tags: tags.list(now).map((one) => ({
        ...one,
        lastAliveAt: Math.round(one.lastAliveAt + epoch),
      })),
      topics: fanout.counts(),
      transitions: tags.transitions,
    };
  }

  readonly aliveHandler = (request: Request): Response => {
    if (request.method !== "POST") {
      return refusal(405, "sse_method", "An acknowledgement is a POST", { Allow: "POST" });
    }
    const tag = request.headers.get("SSE-Client") ?? "";
    if (!isTag(tag)) {
      return refusal(400, "alive_invalid", "SSE-Client must be 1 to 64 of [A-Za-z0-9_-]");
    }
    this.roster.tags.acknowledged(tag, this.roster.settings.clock.monotonic());
    return new Response(null, { status: 204 });
  };

  setAliveWindow(ms: number): void {
    this.roster.tags.setWindow(ms);
  }

  digestHandler(
    resolve: Resolver,
    options?: DigestOptions,
  ): (request: Request) => Promise<Response> {
    const { log, settings } = this.roster;
    return digestHandler(
      {
        position: () => this.position(),
        versionEpoch: () => settings.versionEpoch ?? log.epoch,
        clock: settings.clock,
        failed: (error) =>
          settings.logger.error(`A digest's resolver failed: ${errorForLog(error)}`),
      },
      resolve,
      options,
    );
  }

  metrics(): HubMetrics {
    const { log, metrics } = this.roster;
    log.evict();
    return metrics.read({
      clients: this.clientCount,
      queuedFrames: this.queuedFrames,
      ringEvents: log.held.events,
      ringBytes: log.held.bytes,
      head: log.head,
    });
  }

  get state(): HubState {
    return this.roster.state;
  }

  drain(options: DrainOptions = {}): Promise<void> {
    return this.#draining ??= this.#drain(options).catch((error) => {
      this.#draining = null;
      throw error;
    });
  }

  async #drain(options: DrainOptions): Promise<void> {
    const plan = readDrainOptions(options);
    await leave(this.roster, plan);
    await this.shutdown();
  }

  shutdown(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return unlessAborted(this.roster.stop(), options.signal);
  }
}

function matches(target: DisconnectTarget, connection: Connection): boolean {
  const { id, tag, topics, user } = connection.identity;
  if ("connection" in target) return id === target.connection;
  if ("tag" in target) return tag === target.tag && tag !== "";
  if ("topic" in target) return topics?.has(target.topic) ?? false;
  const info: ConnectionInfo = { connection: id, tag, topics: topicNames(topics), user };
  return target.where(info);
}
