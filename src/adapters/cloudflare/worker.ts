/**
 * The Worker's side: how a request in front reaches the hub in its Durable Object.
 *
 * @module
 */
import type { JournaledEvent } from "../../cluster/types.ts";
import { refusal } from "../../hub/refusal.ts";
import { STREAM_HEADERS } from "../../hub/stream_request.ts";
import type { Subscription } from "../../hub/types.ts";
import { forLog } from "../../wire/text.ts";
import { RETRY_MS } from "../../wire/timing.ts";
import { describe, type ErrorLogger } from "../server.ts";
import {
  eventRequest,
  type HubQuestion,
  knock,
  namesDoor,
  type TopicPast,
  topicRequest,
} from "./door.ts";
import { readReply } from "./reply.ts";

/** A Durable Object as a Worker sees it. */
export interface HubStub {
  /** Sends it a request. */
  fetch(request: Request): Promise<Response>;
}

/** The binding of a class of Durable Objects: an `env.HUB`. */
export interface HubNamespace<Id = unknown> {
  /** The id that a name always gets. */
  idFromName(name: string): Id;
  /** A way to the object; asking makes it, if there is none. */
  get(id: Id): HubStub;
}

/**
 * Sends a request to an object; by a fresh stub each time: one whose object was reset throws for ever.
 *
 * @param namespace The binding.
 * @param name Which object.
 * @param request The request.
 * @returns What it answers.
 */
export function askHubObject<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  request: Request,
): Promise<Response> {
  return namespace.get(namespace.idFromName(name)).fetch(request);
}

/**
 * Sends a client's request for a stream to its hub. Do this, rather than hand any request to the
 * stub: only a GET or a HEAD passes.
 *
 * A deploy or an eviction resets the object, and its callers get an exception or a 500. A native
 * `EventSource` takes any status but 200 as an order to stop for good, so it is given a stream which
 * holds a `retry:` alone and ends; a client that sends `SSE-Wire` gets 503 with `Retry-After`. Both
 * come back, spread over time.
 *
 * @param namespace The binding.
 * @param name Which hub: a room, a tenant. An object does its work on one thread, on one machine.
 * @param request The client's request, authorized by you. The object sees it as it is.
 * @param logger Where an unreachable object is logged; `console`.
 * @returns The stream, or a refusal.
 *
 * @example
 * ```ts no-run
 * import { type HubNamespace, hubObject, routeToHub } from "@tidemark/sse/cloudflare";
 *
 * export const Room = hubObject({ keepaliveMs: 10_000 });
 *
 * const worker = {
 *   fetch(request: Request, env: { ROOM: HubNamespace }): Promise<Response> {
 *     const room = new URL(request.url).searchParams.get("room") || "lobby";
 *     return routeToHub(env.ROOM, room, request);
 *   },
 * };
 * export default worker;
 * ```
 */
export async function routeToHub<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  request: Request,
  logger: ErrorLogger = console,
): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refusal(405, "sse_method", "A stream is asked for with GET", { Allow: "GET, HEAD" });
  }
  if (namesDoor(request)) return refusal(404, "not_found", "There is no such host");
  try {
    const response = await askHubObject(namespace, name, request);
    return await withoutFault(name, request, logger, response);
  } catch (error) {
    return withoutFault(name, request, logger, describe(error));
  }
}

/**
 * What a client is answered that gets no new stream of this Worker's: what the object sent, unless that
 * is a fault of its own.
 *
 * @param name Which hub.
 * @param request The client's request.
 * @param logger Where a fault is logged.
 * @param came The object's response, or why there is none.
 * @returns The response.
 */
export async function withoutFault(
  name: string,
  request: Request,
  logger: ErrorLogger,
  came: Response | string,
): Promise<Response> {
  let after = RETRY_MS;
  let why = came;
  if (typeof came !== "string") {
    if (came.status < 500) return came;
    after = Number(came.headers.get("Retry-After")) * 1000 || RETRY_MS;
    await came.body?.cancel();
    // Full, or shutting down: an ordinary state, which its own metrics count. Or its journal cannot be
    // opened, and the object has said so itself.
    if (came.status === 503) return comeBack(request, after);
    why = `it answered ${came.status}`;
  }
  logger.error(`The object of hub ${JSON.stringify(forLog(name))} sent no stream: ${why}`);
  return comeBack(request, after);
}

/** Spread, or every client of an object that was reset would come back in the same instant. */
function comeBack(request: Request, after: number): Response {
  const ms = Math.floor(after + Math.random() * RETRY_MS);
  if (request.method === "HEAD" || request.headers.has("SSE-Wire")) {
    const seconds = String(Math.ceil(ms / 1000));
    return refusal(503, "sse_unavailable", "The stream is not available now", {
      "Retry-After": seconds,
    });
  }
  return new Response(`retry: ${ms}\n\n`, {
    headers: STREAM_HEADERS,
  });
}

/**
 * Publishes an event on a hub in its Durable Object, from a Worker.
 *
 * It is not tried again when the object is reset meanwhile: the event may or may not have been
 * published. Give it an `id` of your own and publish it again under the same one: a hub with a journal
 * stores it once. One in memory does not know an id again, and only you know whether twice is worse
 * than never.
 *
 * @param namespace The binding.
 * @param name Which hub.
 * @param event What to publish.
 * @returns Its offset, once it is stored; 0 where {@linkcode JournaledHub.publish} says so.
 * @throws Whatever {@linkcode JournaledHub.publish} throws, and an `Error` when the object cannot be
 * reached.
 *
 * @example
 * ```ts no-run
 * import { type HubNamespace, publishTo } from "@tidemark/sse/cloudflare";
 *
 * const worker = {
 *   async fetch(request: Request, env: { ROOM: HubNamespace }): Promise<Response> {
 *     const offset = await publishTo(env.ROOM, "lobby", { name: "say", data: await request.text() });
 *     return Response.json({ offset });
 *   },
 * };
 * export default worker;
 * ```
 */
export async function publishTo<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  event: JournaledEvent,
): Promise<number> {
  // What stands behind the door is ours: a number.
  return await readReply(
    await askHubObject(namespace, name, eventRequest(event)),
    "publish",
  ) as number;
}

/**
 * Lets a live connection of a hub in its Durable Object listen to one more topic:
 * {@linkcode StreamHub.subscribe}, from a Worker. This is what a client's `subscribeUrl` needs.
 *
 * @param namespace The binding.
 * @param name Which hub.
 * @param connection The connection's id, which its hello says.
 * @param topic The topic. Whether this client may listen to it is for you to know.
 * @param options What is sent of the topic's past.
 * @returns The verdict and the head; `null` when there is no such connection.
 * @throws Whatever {@linkcode StreamHub.subscribe} throws, and an `Error` when the object cannot be
 * reached.
 *
 * @example
 * ```ts no-run
 * import { type HubNamespace, subscribeTo } from "@tidemark/sse/cloudflare";
 *
 * const worker = {
 *   async fetch(request: Request, env: { ROOM: HubNamespace }): Promise<Response> {
 *     const { connection, topic, history, after } = await request.json();
 *     // Here: may this client listen to this topic?
 *     const options = { history: history || undefined, after };
 *     const subscription = await subscribeTo(env.ROOM, "lobby", connection, topic, options);
 *     if (subscription === null) return new Response(null, { status: 404 });
 *     const { verdict, head } = subscription;
 *     return Response.json({ verdict, head: String(head) });
 *   },
 * };
 * export default worker;
 * ```
 */
export async function subscribeTo<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  connection: string,
  topic: string,
  options: TopicPast = {},
): Promise<Subscription | null> {
  const request = topicRequest("subscribe", { connection, topic, options });
  return await readReply(await askHubObject(namespace, name, request), "subscribe") as
    | Subscription
    | null;
}

/**
 * Lets a live connection of a hub in its Durable Object listen to a topic no longer:
 * {@linkcode StreamHub.unsubscribe}, from a Worker.
 *
 * @param namespace The binding.
 * @param name Which hub.
 * @param connection The connection's id.
 * @param topic The topic.
 * @returns Whether it did listen to it.
 * @throws {JournalError} When the hub's journal cannot be opened now.
 * @throws {Error} When the object cannot be reached.
 */
export async function unsubscribeFrom<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  connection: string,
  topic: string,
): Promise<boolean> {
  const request = topicRequest("unsubscribe", { connection, topic });
  return await readReply(await askHubObject(namespace, name, request), "unsubscribe") as boolean;
}

/**
 * Asks a hub in its Durable Object for something other than a stream.
 *
 * - `alive`: hands it a client's acknowledgement; `request` is the client's.
 * - `digest`: hands it a client's digest; `request` is the client's. 404 unless the object overrides
 *   `resolver`.
 * - `presence`: who is connected, as JSON.
 * - `metrics`: the hub's metrics, as OpenMetrics text.
 *
 * @param namespace The binding.
 * @param name Which hub.
 * @param question What.
 * @param request The client's POST, authorized by you: its headers and its body go along.
 * @returns The answer; 503 `sse_unavailable` with `Retry-After` while its journal cannot be opened.
 * @throws {Error} When the object cannot be reached.
 *
 * @example
 * ```ts no-run
 * import { askHub, type HubNamespace, routeToHub } from "@tidemark/sse/cloudflare";
 *
 * const worker = {
 *   fetch(request: Request, env: { ROOM: HubNamespace }): Promise<Response> {
 *     return new URL(request.url).pathname === "/alive"
 *       ? askHub(env.ROOM, "lobby", "alive", request)
 *       : routeToHub(env.ROOM, "lobby", request);
 *   },
 * };
 * export default worker;
 * ```
 */
export async function askHub<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  question: HubQuestion,
  request?: Request,
): Promise<Response> {
  if (request !== undefined && request.method !== "POST") {
    const code = question === "digest" ? "digest_method" : "sse_method";
    return refusal(405, code, "This is asked with POST", { Allow: "POST" });
  }
  return await askHubObject(namespace, name, knock(question, request));
}
