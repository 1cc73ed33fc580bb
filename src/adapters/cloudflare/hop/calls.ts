/**
 * What an application does to connections by their ids, where a connection may be one of the hop's.
 *
 * The hub that an application holds stays the hub: what it does is done to the hop's connections, too.
 *
 * @module
 */
import type { JournaledEvent, JournaledHub } from "../../../cluster/types.ts";
import { TopicError } from "../../../errors.ts";
import { checkExpiry } from "../../../hub/expirations.ts";
import { checkEvent } from "../../../hub/event.ts";
import { checkHistory } from "../../../hub/late_joiner.ts";
import { cap } from "../../../hub/options.ts";
import type { PresenceSnapshot, TagPresence } from "../../../hub/presence.ts";
import { topicNames } from "../../../hub/topics.ts";
import type {
  ConnectionInfo,
  DisconnectTarget,
  PublishEvent,
  SubscribeOptions,
  Subscription,
} from "../../../hub/types.ts";
import { readCursor } from "../../../wire/cursor.ts";
import { encodeFrame } from "../../../wire/frame.ts";
import { checkTopic, MAX_TOPICS } from "../../../wire/topic.ts";
import type { HopConnection } from "./connection.ts";
import type { Hops } from "./hops.ts";
import { beginningOf, judgeByJournal } from "./past.ts";

/**
 * Makes a hub reach the hop's connections as well.
 *
 * @param hub The hub.
 * @param hops The hop of the same object.
 * @returns The same hub.
 */
export function joinHops(hub: JournaledHub, hops: Hops): JournaledHub {
  const own = {
    publish: hub.publish.bind(hub),
    ingest: hub.ingest.bind(hub),
    subscribe: hub.subscribe.bind(hub),
    unsubscribe: hub.unsubscribe.bind(hub),
    ownerOf: hub.ownerOf.bind(hub),
    extend: hub.extend.bind(hub),
    disconnect: hub.disconnect.bind(hub),
    presence: hub.presence.bind(hub),
    setMaxClients: hub.setMaxClients.bind(hub),
    setAliveWindow: hub.setAliveWindow.bind(hub),
    shutdown: hub.shutdown.bind(hub),
  };
  const offer = (event: PublishEvent): void => {
    if (event.ephemeral === true && hops.size > 0) offerEphemeral(hops, event);
  };
  const direct = (): number => Number(Reflect.get(Object.getPrototypeOf(hub), "clientCount", hub));
  Object.defineProperty(hub, "clientCount", { get: () => direct() + hops.size });
  return Object.assign(hub, {
    async publish(event: JournaledEvent): Promise<number> {
      const offset = await own.publish(event);
      offer(event);
      return offset;
    },
    ingest(event: PublishEvent): number {
      const offset = own.ingest(event);
      offer(event);
      return offset;
    },
    subscribe(
      id: string,
      topic: string,
      options: SubscribeOptions = {},
    ): Promise<Subscription | null> {
      const connection = hops.find(id);
      return connection === undefined
        ? own.subscribe(id, topic, options)
        : subscribe(hops, connection, topic, options);
    },
    unsubscribe(id: string, topic: string): boolean {
      const connection = hops.find(id);
      if (connection === undefined) return own.unsubscribe(id, topic);
      if (connection.row.topics?.delete(topic) !== true) return false;
      hops.table.leave(id, topic);
      connection.forgo(topic);
      return true;
    },
    ownerOf: (id: string): string | null => hops.find(id)?.row.user ?? own.ownerOf(id),
    extend(id: string, expiresAt: number): boolean {
      const connection = hops.find(id);
      if (connection === undefined) return own.extend(id, expiresAt);
      hops.table.expire(id, checkExpiry(expiresAt));
      connection.extend(expiresAt);
      return true;
    },
    disconnect(target: DisconnectTarget): number {
      const chosen = [...hops.connections].filter(({ row }) => matches(target, row));
      for (const connection of chosen) connection.end(null);
      return own.disconnect(target) + chosen.length;
    },
    setMaxClients(n: number): void {
      hops.maxClients = cap(n);
      own.setMaxClients(n);
    },
    setAliveWindow(ms: number): void {
      hops.aliveMs = ms;
      own.setAliveWindow(ms);
    },
    presence: (): PresenceSnapshot => withHops(own.presence(), hops),
    shutdown(options?: { readonly signal?: AbortSignal }): Promise<void> {
      for (const connection of hops.connections) connection.end("shutdown");
      return own.shutdown(options).finally(() => hops.feed.stop());
    },
  });
}

function offerEphemeral(hops: Hops, event: PublishEvent): void {
  const { topic, name, data } = checkEvent(event, hops.settings.keepaliveEvent);
  const bytes = encodeFrame(null, name, data);
  for (const connection of hops.connections) connection.offerEphemeral(topic, bytes);
}

/** What a topic is subscribed with. */
export interface Subscriber {
  readonly journal: Hops["journal"];
  readonly settings: Pick<Hops["settings"], "clock" | "replyMaxEvents">;
  readonly table: Pick<Hops["table"], "join" | "promise">;
}

/**
 * Lets a connection listen to one more topic, and gives it what the topic said before.
 *
 * @param hops The hop of its object.
 * @param connection The connection.
 * @param topic The topic.
 * @param options What it is given of the past.
 * @returns As {@linkcode StreamHub.subscribe}.
 * @throws What that throws.
 */
export async function subscribe(
  hops: Subscriber,
  connection: HopConnection,
  topic: string,
  { history, after = "", recall }: SubscribeOptions,
): Promise<Subscription | null> {
  checkTopic(topic);
  const request = checkHistory(history);
  if (typeof after !== "string") throw new TypeError("Cannot use after: it must be a cursor");
  if (recall !== undefined) {
    throw new TypeError(
      "Cannot use recall: the object of a hop's connection may be gone meanwhile",
    );
  }
  if (connection.histories >= MAX_TOPICS) {
    throw new TopicError(`${MAX_TOPICS} histories wait on the connection, which is the most`);
  }
  const { journal, settings } = hops;
  const { replyMaxEvents, clock } = settings;
  const upTo = join(hops, connection, topic);
  if (request === undefined && after === "") return { verdict: "fresh", head: upTo };
  // Before it can be lost.
  hops.table.promise(connection.row.connection, ++connection.row.pasts);
  // At once: what is published meanwhile comes after it.
  const past = connection.recall(topic, upTo);
  try {
    const { judgement } = await judgeByJournal(journal, after, [topic], replyMaxEvents);
    const { verdict } = judgement;
    const from = verdict === "resumed" ? readCursor(after)?.offset ?? Infinity : Infinity;
    const begins = request === undefined
      ? Infinity
      : await beginningOf(journal, topic, request, upTo, clock.now());
    // Both reach up to the end, so that one of them is the whole of both.
    const first = Math.min(from, begins);
    if (first < Infinity) past.start(first, from);
    return { verdict, head: upTo };
  } finally {
    past.forgo();
  }
}

/** Subscribes, and says up to which offset the past reaches: what follows comes live. */
function join({ table }: Subscriber, connection: HopConnection, topic: string): number {
  const { connection: id, topics, since } = connection.row;
  if (topics === null) return since;
  const known = topics.get(topic);
  if (known !== undefined) return known;
  if (topics.size >= MAX_TOPICS) {
    throw new TopicError(`the connection has ${topics.size}, the most is ${MAX_TOPICS}`);
  }
  const { head } = connection;
  topics.set(topic, head);
  table.join(id, topic, head);
  return head;
}

function matches(target: DisconnectTarget, row: HopConnection["row"]): boolean {
  const { connection, tag, topics, user } = row;
  if ("connection" in target) return connection === target.connection;
  if ("tag" in target) return tag === target.tag && tag !== "";
  if ("topic" in target) return topics?.has(target.topic) ?? false;
  const info: ConnectionInfo = { connection, tag, topics: topicNames(topics), user };
  return target.where(info);
}

function withHops(snapshot: PresenceSnapshot, hops: Hops): PresenceSnapshot {
  const topics = new Map(snapshot.topics);
  const oldest = hops.settings.clock.now() - hops.aliveMs;
  const tags = new Map(snapshot.tags.map((one) => [one.tag, one]));
  for (const { row } of hops.connections) {
    const names = row.topics === null ? [""] : topicNames(row.topics);
    for (const name of names) topics.set(name, (topics.get(name) ?? 0) + 1);
    if (row.tag !== "") tags.set(row.tag, withRow(tags.get(row.tag), row, oldest));
  }
  return { ...snapshot, tags: [...tags.values()], topics };
}

function withRow(
  known: TagPresence | undefined,
  row: HopConnection["row"],
  oldest: number,
): TagPresence {
  const { tag, at } = row;
  const names = topicNames(row.topics);
  if (known === undefined) {
    return { tag, connections: 1, topics: names, lastAliveAt: at, gone: at < oldest };
  }
  const everything = row.topics === null || (known.connections > 0 && known.topics.length === 0);
  const topics = everything ? [] : [...new Set([...known.topics, ...names])];
  return { ...known, connections: known.connections + 1, topics };
}
