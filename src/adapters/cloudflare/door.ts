/**
 * How a Worker asks a hub in a Durable Object for anything but a stream: POST requests to a host
 * that no visitor can name.
 *
 * @module
 */
import { FrameTooLargeError, InvalidUtf8Error, TopicError } from "../../errors.ts";
import type { PublishEvent } from "../../hub/types.ts";
import { checkedText } from "../../wire/text.ts";
import { checkTopic } from "../../wire/topic.ts";

/** `invalid` is reserved (RFC 2606): no zone, and so no visitor's request, can have it. */
const DOOR = "https://hub.invalid";

/** What can be asked of a hub's object. */
export type HubQuestion = "alive" | "digest" | "presence" | "metrics";

/** What stands behind the door. */
export type DoorRoute = HubQuestion | "publish";

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
export function eventRequest(event: PublishEvent): Request {
  const { topic = "", name = "", ephemeral = false } = event;
  if (topic !== "") checkTopic(topic);
  const body = checkedText(event.data);
  const head = encodeURIComponent(JSON.stringify({ topic, name, ephemeral }));
  return knock("publish", { body, headers: { "Tidemark-Event": head } });
}

/**
 * The event that a request stands for.
 *
 * @param request What {@linkcode eventRequest} made.
 * @returns The event.
 */
export async function eventOf(request: Request): Promise<PublishEvent> {
  const head = decodeURIComponent(request.headers.get("Tidemark-Event") ?? "%7B%7D");
  // Bytes, for `text()` strips a byte order mark on some runtimes.
  return { ...JSON.parse(head), data: new Uint8Array(await request.arrayBuffer()) };
}

/**
 * What a publish came to, as a response.
 *
 * @param publish Publishes.
 * @returns The offset, or which of the errors of {@linkcode Hub.publish} it was.
 */
export function publishResponse(publish: () => number): Response {
  try {
    return Response.json({ offset: publish() });
  } catch (error) {
    const refused = describeRefusal(error);
    if (refused === undefined) throw error;
    return Response.json(refused, { status: 422 });
  }
}

/** A refusal of an event, on its way to whom it concerns. */
type Refused =
  | { readonly code: "frame_too_large"; readonly size: number; readonly cap: number }
  | { readonly code: "invalid_utf8"; readonly index: number }
  | { readonly code: "topic" | "name"; readonly message: string };

function describeRefusal(error: unknown): Refused | undefined {
  if (error instanceof FrameTooLargeError) {
    return { code: "frame_too_large", size: error.size, cap: error.cap };
  }
  if (error instanceof InvalidUtf8Error) return { code: "invalid_utf8", index: error.index };
  if (error instanceof TopicError) return { code: "topic", message: error.message };
  if (error instanceof TypeError) return { code: "name", message: error.message };
  return undefined;
}

/**
 * What a publish came to, from its response.
 *
 * @param response What {@linkcode publishResponse} made, or what the platform put in its place.
 * @returns The offset.
 * @throws The error that the hub threw, or an `Error` when the object could not be reached.
 */
export async function offsetOf(response: Response): Promise<number> {
  if (response.status === 200) return (await response.json() as { offset: number }).offset;
  if (response.status !== 422) {
    throw new Error(`Cannot publish: the hub's object answered ${response.status}`);
  }
  const refused = await response.json() as Refused;
  switch (refused.code) {
    case "frame_too_large":
      throw new FrameTooLargeError(refused.size, refused.cap);
    case "invalid_utf8":
      throw new InvalidUtf8Error(refused.index);
    case "topic":
      throw new TopicError(refused.message);
    case "name":
      throw new TypeError(refused.message);
  }
}
