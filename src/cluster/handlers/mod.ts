/**
 * What a service is made of: handlers of the Web's own kind, `(request, host) => Response`, for whoever
 * has a router already. `createService` of `@tidemark/sse/service` mounts them all.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { publishHandler, readyHandler } from "@tidemark/sse/handlers";
 *
 * const hub = createHub();
 * const ready = readyHandler({ hub });
 * const publish = publishHandler({ hub, access: { keys: "a-key-that-nobody-guesses" } });
 *
 * assertEquals((await ready(new Request("http://localhost/ready"))).status, 200);
 * const request = new Request("http://localhost/publish?topic=news", {
 *   method: "POST",
 *   headers: { Authorization: "Bearer a-key-that-nobody-guesses", "Content-Type": "text/plain" },
 *   body: "hello",
 * });
 * assertEquals(await (await publish(request)).json(), { offset: "1" });
 * ```
 *
 * @module
 */
export type { Access } from "./access.ts";
export { healthHandler, readyHandler, type ReadyOptions } from "./health.ts";
export { type InspectOptions, metricsHandler, presenceHandler } from "./inspect.ts";
export {
  aliveHandler,
  type KnownContext,
  knownDigestHandler,
  type KnownDigestOptions,
  type KnownOptions,
  type KnownResolver,
} from "./known.ts";
export { mintHandler, type MintOptions } from "./mint.ts";
export { ownStreamHandler, type OwnStreamOptions } from "./own_stream.ts";
export { publishHandler, type PublishOptions, type PublishTarget } from "./publish.ts";
export type { StreamExtras, StreamOpening } from "./stream.ts";
export {
  subscribeHandler,
  type SubscribeHandlerOptions,
  type TopicCall,
  type TopicCalls,
  unsubscribeHandler,
} from "./subscribe.ts";
export { ticketStreamHandler, type TicketStreamOptions } from "./ticket_stream.ts";
export type {
  Authorize,
  AuthorizeCall,
  BoundTopics,
  Handler,
  Identify,
  Identity,
} from "./types.ts";
export type { Questions } from "./who.ts";
