/**
 * Subscribing topics on live connections, whichever pod holds them.
 *
 * @module
 */
import { checkHistory } from "../hub/late_joiner.ts";
import type { HistoryRequest, StreamHub, Subscription } from "../hub/types.ts";
import { checkTopic } from "../wire/topic.ts";
import { errorOf } from "./relay/commands.ts";
import { wholeMs } from "./relay/options.ts";
import type { CommandReply, ConnectionCommand, RelayMembership } from "./types.ts";

/** The wait of {@linkcode SubscriptionsOptions.waitMs}. */
const WAIT_MS = 2000;

/** Options of {@linkcode createSubscriptions}. */
export interface SubscriptionsOptions {
  /** This pod's hub. */
  readonly hub: StreamHub;
  /** Its place among its siblings; without one only connections of this pod are found. */
  readonly membership?: RelayMembership | null;
  /** How long another pod's answer is waited for, in milliseconds; 2000; from 1. */
  readonly waitMs?: number;
}

/** Whose connection is to listen to what. */
export interface SubscribeCall {
  /** The connection's id, as its client says it: anything may come here. */
  readonly connection: string;
  /** The topic. Whether the user may listen to it is for the application to know. */
  readonly topic: string;
  /** The user who asks, as your authentication has it; `""`, nobody, has no connections. */
  readonly user: string;
  /** See {@linkcode SubscribeOptions.history}. */
  readonly history?: HistoryRequest;
  /** See {@linkcode SubscribeOptions.after}. */
  readonly after?: string;
}

/** Whose connection is to listen to what no longer. */
export type UnsubscribeCall = Pick<SubscribeCall, "connection" | "topic" | "user">;

/** Subscribes on whichever pod holds the connection. */
export interface Subscriptions {
  /**
   * Lets a connection of a user listen to one more topic, as {@linkcode StreamHub.subscribe} does.
   *
   * @param call Whose connection, and to what.
   * @returns The verdict and the head, which are those of the pod that holds the connection; `null`
   * when the user has no such connection. For a connection of somebody else, for one that there never
   * was, and for one whose pod does not answer it is `null` after the same time: the whole wait, or at
   * once without a membership.
   * @throws {TopicError} When the topic is outside the grammar, or one too many.
   * @throws {TypeError} When the call is malformed.
   * @throws {JournalError} When a journal was asked, and did not answer: ask again.
   * @throws {RelayError} `unavailable` when 1024 calls wait for other pods already; `failed` when the
   * other pod could not do it.
   */
  subscribe(call: SubscribeCall): Promise<Subscription | null>;
  /**
   * Lets a connection of a user listen to a topic no longer.
   *
   * @param call Whose connection, and to what.
   * @returns Whether it did listen to it; `false` after the same wait when the user has no such
   * connection.
   * @throws What {@linkcode Subscriptions.subscribe} throws.
   */
  unsubscribe(call: UnsubscribeCall): Promise<boolean>;
  /**
   * Ends all connections of a user, on every pod: after a logout, say. Other pods are told and do not
   * answer, and a relay may lose what they are told: what refuses the user's return is the application,
   * and what bounds an authority for certain is `expiresAt`.
   *
   * @param user The user; `""`, nobody, has no connections.
   * @returns How many there were on this pod.
   */
  disconnect(user: string): number;
}

/**
 * Makes what subscribes topics on live connections, on this pod or on another.
 *
 * Only the owner of a connection ({@linkcode ServeOptions.user}) can use its id. The user's id travels
 * with the command, and the pod that holds the connection asks its own hub whether it is the owner's.
 *
 * @param options The hub, and its membership.
 * @returns It.
 * @throws {ConfigError} When the wait is out of bounds.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub, createSubscriptions } from "@tidemark/sse";
 * import { readFrames } from "@tidemark/sse/testing";
 *
 * const hub = createHub();
 * const subscriptions = createSubscriptions({ hub });
 * const { body } = hub.serve(new Request("http://localhost/"), { topics: ["account:1"], user: "ann" });
 * const [, hello] = await readFrames(body, 2);
 * const { connection } = JSON.parse(hello?.data ?? "");
 *
 * const call = { connection, topic: "call:7" };
 * assertEquals(await subscriptions.subscribe({ ...call, user: "bob" }), null);
 * assertEquals(await subscriptions.subscribe({ ...call, user: "ann" }), { verdict: "fresh", head: 0 });
 * await body?.cancel();
 * await hub.shutdown();
 * ```
 */
export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { hub } = options;
  const membership = options.membership ?? null;
  const waitMs = wholeMs("waitMs", options.waitMs ?? WAIT_MS, 1);

  const owns = (user: string, connection: string): boolean =>
    user !== "" && hub.ownerOf(connection) === user;

  /** For a stranger's connection as for an unknown one: else the time would tell which it is. */
  const ask = async (command: ConnectionCommand): Promise<CommandReply | null> => {
    const reply = membership && await membership.ask(command, waitMs);
    if (reply?.kind === "refused") throw errorOf(reply);
    return reply;
  };

  return {
    async subscribe(call): Promise<Subscription | null> {
      const { connection, topic, user, history, after } = checkSubscribe(call);
      const past = {
        ...(history !== undefined && { history }),
        ...(after !== undefined && { after }),
      };
      if (owns(user, connection)) return await hub.subscribe(connection, topic, past);
      const reply = await ask({ do: "subscribe", connection, topic, user, ...past });
      if (reply?.kind !== "subscribed") return null;
      return { verdict: reply.verdict, head: reply.head };
    },

    async unsubscribe(call): Promise<boolean> {
      const { connection, topic, user } = checkCall(call);
      if (owns(user, connection)) return hub.unsubscribe(connection, topic);
      const reply = await ask({ do: "unsubscribe", connection, topic, user });
      return reply?.kind === "unsubscribed" && reply.listened;
    },

    disconnect(user): number {
      if (typeof user !== "string") throw new TypeError("Cannot use user: it must be a string");
      if (user === "") return 0;
      // Nobody waits for it, so it cannot fail for want of a place.
      void membership?.ask({ do: "disconnect", user }, 0);
      return hub.disconnect({ where: (info) => info.user === user });
    },
  };
}

function checkSubscribe(call: SubscribeCall): SubscribeCall {
  checkCall(call);
  checkHistory(call.history);
  if (call.after !== undefined && typeof call.after !== "string") {
    throw new TypeError("Cannot use after: it must be a cursor");
  }
  return call;
}

/** Before it is looked for, so that the answer to a malformed call says nothing of connections. */
function checkCall<T extends UnsubscribeCall>(call: T): T {
  for (const name of ["connection", "topic", "user"] as const) {
    if (typeof call[name] !== "string") {
      throw new TypeError(`Cannot use ${name}: it must be a string`);
    }
  }
  checkTopic(call.topic);
  return call;
}
