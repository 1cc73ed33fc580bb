/**
 * How a Worker asks a hub in a Durable Object for anything but a stream: POST requests to a host
 * that no visitor can name.
 *
 * @module
 */
import type { JournaledEvent } from "../../cluster/types.ts";
import type { SubscribeOptions } from "../../hub/types.ts";
import { checkedText } from "../../wire/text.ts";
import { checkTopic } from "../../wire/topic.ts";
import type { Resume } from "./hop/wire.ts";

/** `invalid` is reserved (RFC 2606): no zone, and so no visitor's request, can have it. */
const DOOR = "https://hub.invalid";

/** What can be asked of a hub's object. */
export type HubQuestion = "alive" | "digest" | "presence" | "metrics";

/** What stands behind the door. */
export type DoorRoute = HubQuestion | "publish" | "subscribe" | "unsubscribe";

/** What is sent of a topic's past: `recall`, a function, is for who is inside the object. */
export type TopicPast = Omit<SubscribeOptions, "recall">;

/** A topic on a live connection. */
export interface TopicCall {
  /** The connection's id. */
  readonly connection: string;
  /** The topic. */
  readonly topic: string;
  /** What is sent of the topic's past, when it is subscribed. */
  readonly options?: TopicPast;
}

/**
 * The route of a request that came through the door.
 *
 * @param request A request.
 * @returns The route as it was asked for, or `undefined` when the request came another way.
 */
export function doorRoute(request: Request): string | undefined {
  const { origin, pathname } = new URL(request.url);
  return request.method === "POST" && origin === DOOR ? pathname.slice(1) : undefined;
}

/**
 * Whether a request names the door's host. Where a runtime believes the host that a client says, a
 * visitor's can: such a request must not be handed on as it is.
 *
 * @param request A visitor's request.
 */
export function namesDoor(request: Request): boolean {
  return new URL(request.url).origin === DOOR;
}

/**
 * A request for the door.
 *
 * @param route What for.
 * @param init A client's POST, whose headers and body go along; or what to make one of.
 * @returns The request.
 */
export function knock(route: DoorRoute, init: Request | RequestInit = {}): Request {
  const made = init instanceof Request ? init : { ...init, method: "POST" };
  return new Request(`${DOOR}/${route}`, made);
}

/**
 * An event as a request. The data travels as it is, not inside JSON, which would write it twice.
 *
 * @param event The event.
 * @returns The request.
 * @throws {TopicError} When the topic is outside the grammar.
 * @throws {InvalidUtf8Error} When the data is not valid Unicode: on the way it would be mended.
 */
export function eventRequest({ data, ...rest }: JournaledEvent): Request {
  const { topic = "" } = rest;
  if (topic !== "") checkTopic(topic);
  const head = encodeURIComponent(JSON.stringify(rest));
  return knock("publish", { body: checkedText(data), headers: { "Tidemark-Event": head } });
}

/**
 * The event that a request stands for.
 *
 * @param request What {@linkcode eventRequest} made.
 * @returns The event.
 */
export async function eventOf(request: Request): Promise<JournaledEvent> {
  const head = decodeURIComponent(request.headers.get("Tidemark-Event") ?? "%7B%7D");
  // Bytes, for `text()` strips a byte order mark on some runtimes.
  return { ...JSON.parse(head), data: new Uint8Array(await request.arrayBuffer()) };
}

/**
 * A topic on a live connection as a request.
 *
 * @param route What to do with it.
 * @param call Which.
 * @returns The request.
 */
export function topicRequest(route: "subscribe" | "unsubscribe", call: TopicCall): Request {
  return knock(route, { body: JSON.stringify(call) });
}

/**
 * The topic that a request is about.
 *
 * @param request What {@linkcode topicRequest} made.
 * @returns The topic on its connection.
 */
export async function topicCallOf(request: Request): Promise<TopicCall> {
  // Nobody else comes through the door.
  return await request.json() as TopicCall;
}

/** A client's request for a stream over the hop, as the object gets it. */
export interface HopCall {
  /** The client's own request. */
  readonly request: Request;
  /** The stream that it had already; `null` for a new one. */
  readonly resume: Resume | null;
}

/**
 * A client's request for a stream, as one for the socket that is to feed it.
 *
 * @param request The client's request.
 * @param resume The stream that it had already; `null` for a new one.
 * @returns The request: nobody but a Worker of ours can make one that leads to it.
 */
export function hopRequest(request: Request, resume: Resume | null): Request {
  const headers = new Headers(request.headers);
  headers.set("Upgrade", "websocket");
  headers.set("Tidemark-Hop", encodeURIComponent(JSON.stringify({ url: request.url, resume })));
  // The client's own, so that what the platform says of it goes along.
  return new Request(`${DOOR}/hop`, new Request(request, { headers }));
}

/**
 * What a request for the hop is about.
 *
 * @param request Any request.
 * @returns It; `null` when {@linkcode hopRequest} did not make the request.
 */
export function hopCallOf(request: Request): HopCall | null {
  if (request.method !== "GET" || !request.url.startsWith(`${DOOR}/hop`)) return null;
  const head = decodeURIComponent(request.headers.get("Tidemark-Hop") ?? "");
  // Nobody else comes through the door.
  const { url, resume } = JSON.parse(head) as { url: string; resume: Resume | null };
  const headers = new Headers(request.headers);
  for (const name of ["Upgrade", "Tidemark-Hop"]) headers.delete(name);
  return { request: new Request(url, new Request(request, { headers })), resume };
}
