/**
 * A hub on Cloudflare: in a Durable Object, with a Worker in front.
 *
 * Not in a Worker's module scope, although local tests may look well: the streams of one isolate
 * know nothing of another's, a stream with nothing to send is killed within milliseconds, and what
 * one request opened another may not write to. `hub.handler` refuses to be called there.
 *
 * Nothing here imports `cloudflare:workers`, so a file that uses it type-checks and loads anywhere.
 *
 * @module
 */
export { HubObject, hubObject, type HubObjectClass } from "./cloudflare/object.ts";
export type { HubObjectOptions, ObjectHub } from "./cloudflare/open.ts";
export {
  askHub,
  type HubNamespace,
  type HubStub,
  publishTo,
  routeToHub,
  subscribeTo,
  unsubscribeFrom,
} from "./cloudflare/worker.ts";
export { streamThroughHop } from "./cloudflare/hop/worker.ts";
export type { HubQuestion, TopicPast } from "./cloudflare/door.ts";
export type { ErrorLogger } from "./server.ts";
export type { DurableObjectJournalOptions } from "../journal/sqlite/durable_object.ts";
export type { RetentionOptions } from "../journal/retention.ts";
