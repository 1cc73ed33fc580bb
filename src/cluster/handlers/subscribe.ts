/**
 * `POST /subscribe` and `POST /unsubscribe`: topics on a live connection, whichever pod holds it.
 *
 * @module
 */
import { TopicError } from "../../errors.ts";
import { JournalError } from "../../errors/journal.ts";
import { RelayError } from "../../errors/relay.ts";
import type { Logger } from "../../hub/options.ts";
import { json } from "../../hub/refusal.ts";
import type { HistoryRequest, Subscription } from "../../hub/types.ts";
import { authorizeAll, checkAskedTopic, needsAuthorize } from "./allowed.ts";
import { Fields, MAX_BODY_BYTES } from "./body.ts";
import { answering, checkMethod, failureForLog, HttpRefusal } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import type { Handler, Identity } from "./types.ts";
import { type Questions, whoAsks } from "./who.ts";

/** A topic on a live connection, and on whose behalf. */
export interface TopicCall {
  /** The connection's id. */
  readonly connection: string;
  /** The topic. */
  readonly topic: string;
  /** Who asks: only their own connections obey. */
  readonly user: string;
}

/** Who reaches a connection on whichever pod: `createSubscriptions` makes one. */
export interface TopicCalls {
  /**
   * Subscribes a topic.
   *
   * @param call Which; `history` and `after` are those of {@linkcode StreamHub.subscribe}.
   * @returns How; `null` when there is no such connection of this user.
   */
  subscribe(
    call: TopicCall & { readonly history?: HistoryRequest; readonly after?: string },
  ): Promise<Subscription | null>;
  /**
   * Unsubscribes a topic.
   *
   * @param call Which.
   * @returns Whether a connection of this user listened to it.
   */
  unsubscribe(call: TopicCall): Promise<boolean>;
}

/** Options of {@linkcode subscribeHandler} and {@linkcode unsubscribeHandler}. */
export interface SubscribeHandlerOptions extends Questions {
  /** Who reaches the connection. */
  readonly subscriptions: TopicCalls;
  /** The largest body, in bytes; 65,536. */
  readonly maxBodyBytes?: number;
  /** Where failures are logged; `console`. */
  readonly logger?: Pick<Logger, "error">;
}

/** What a connection's id may look like: anything else is nobody's, and need not travel. */
const CONNECTION = /^[A-Za-z0-9_-]{1,64}$/;
/** Longer than any cursor; what it holds is judged where the connection is. */
const MAX_AFTER_LENGTH = 64;

/**
 * Makes the handler of `POST /subscribe`: `{ connection, topic, history, after }` → `{ verdict, head }`,
 * the head in decimal as a string.
 *
 * @param options Who reaches the connection, and the application.
 * @returns The handler. Its refusals: 405 `subscribe_method`; 401 `unauthenticated`; 403 `forbidden`;
 * 415 `subscribe_content_type`; 413 `subscribe_too_large`; 408 `subscribe_timeout`; 400 `subscribe_body`; 400 `sse_topics`; 404
 * `subscribe_unknown`, one and the same for a connection that is not there and for somebody else's; 503
 * `journal` or `relay` with `Retry-After`.
 */
export function subscribeHandler(options: SubscribeHandlerOptions): Handler {
  return topicHandler(options, async (call, identity, fields, request) => {
    const history = historyOf(fields);
    const after = afterOf(fields);
    await authorizeAll(identity, [call.topic], request, needsAuthorize(options.authorize));
    const done = await options.subscriptions.subscribe({
      ...call,
      ...(history !== undefined && { history }),
      ...(after !== "" && { after }),
    });
    if (done === null) throw unknown();
    return json({ verdict: done.verdict, head: String(done.head) });
  }, () => needsAuthorize(options.authorize));
}

/**
 * Makes the handler of `POST /unsubscribe`: `{ connection, topic }` → 204. Who no longer may listen to a
 * topic may still leave it: the application is asked who sends the request, and no more.
 *
 * @param options Who reaches the connection, and the application.
 * @returns The handler. Its refusals are those of {@linkcode subscribeHandler}, without 403; 404
 * `subscribe_unknown` also when the connection does not listen to the topic.
 */
export function unsubscribeHandler(options: SubscribeHandlerOptions): Handler {
  return topicHandler(options, async (call) => {
    if (!await options.subscriptions.unsubscribe(call)) throw unknown();
    return new Response(null, { status: 204 });
  });
}

type TopicWork = (
  call: TopicCall,
  identity: Identity,
  fields: Fields,
  request: Request,
) => Promise<Response>;

function topicHandler(
  options: SubscribeHandlerOptions,
  work: TopicWork,
  beforeReading: () => void = () => {},
): Handler {
  const { maxBodyBytes = MAX_BODY_BYTES } = options;
  const logger = sparing(options.logger, options.clock);
  const rules = { route: "subscribe", maxBytes: maxBodyBytes, clock: options.clock };
  return answering(async (request) => {
    checkMethod(request, ["POST"], "subscribe_method");
    const identity = await whoAsks(request, options);
    beforeReading();
    const fields = await Fields.read(request, rules);
    const connection = fields.text("connection");
    if (!CONNECTION.test(connection)) {
      throw fields.wrong("connection must be the id that the hello says");
    }
    const topic = fields.text("topic");
    checkAskedTopic(topic);
    try {
      return await work({ connection, topic, user: identity.user }, identity, fields, request);
    } catch (error) {
      throw refusalOf(error, logger);
    }
  }, logger);
}

function historyOf(fields: Fields): HistoryRequest | undefined {
  const value = fields.field("history") ?? false;
  if (value === false) return undefined;
  if (value === true) return true;
  const { last, sinceMs } = typeof value === "object" ? value as Record<string, unknown> : {};
  if (isCount(last) && sinceMs === undefined) return { last };
  if (isCount(sinceMs) && last === undefined) return { sinceMs };
  throw fields.wrong('history must be true, {"last": n} or {"sinceMs": n}, with a whole number');
}

function afterOf(fields: Fields): string {
  const after = fields.text("after");
  if (after.length <= MAX_AFTER_LENGTH) return after;
  throw fields.wrong("after must be a cursor");
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function refusalOf(error: unknown, logger: Pick<Logger, "error">): unknown {
  // The connection has as many topics as it may have.
  if (error instanceof TopicError) return new HttpRefusal(400, "sse_topics", error.message);
  if (error instanceof JournalError || error instanceof RelayError) {
    logger.error(`A topic could not be subscribed: ${failureForLog(error)}`);
    return new HttpRefusal(503, error.code, "The past of the topic is not available now", {
      "Retry-After": "1",
    });
  }
  return error;
}

/** The same for a connection that is not there and for one that is somebody else's. */
function unknown(): HttpRefusal {
  return new HttpRefusal(
    404,
    "subscribe_unknown",
    "There is no such connection, or no such topic on it",
  );
}
