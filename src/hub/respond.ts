/**
 * One request to one stream: refuse, or judge, register and open it in one synchronous step.
 *
 * @module
 */
import { ConnectionGoneError, TopicError } from "../errors.ts";
import { helloFrame, snapshotFrame } from "../wire/control.ts";
import { checkEventName, encodeFrame, encodeRetry, joinBytes } from "../wire/frame.ts";
import type { Hello } from "../wire/hello.ts";
import { errorForLog } from "../wire/text.ts";
import { WIRE } from "../wire/timing.ts";
import { checkTopics } from "../wire/topic.ts";
import { Connection } from "./connection.ts";
import type { Identity } from "./connection_home.ts";
import { randomHex } from "./log.ts";
import { refusal } from "./refusal.ts";
import type { Roster } from "./roster.ts";
import { hostOf, streamBody } from "./sink.ts";
import {
  alreadyAborted,
  checkedTag,
  declaresLag,
  presentedCursor,
  STREAM_HEADERS,
  whenAborted,
} from "./stream_request.ts";
import type { ServeOptions, Writer } from "./types.ts";
import type { Judgement } from "./verdict.ts";

/** A keepalive sooner than this has been seen to keep Bun from cutting a stream. */
const BUN_IDLE_MS = 8001;

/**
 * Answers a request for a stream.
 *
 * @param roster The hub's connections.
 * @param request The request.
 * @param options What the connection listens to, and its hooks.
 * @returns The stream, or a refusal. A refusal and a HEAD consume nothing.
 */
export function respond(roster: Roster, request: Request, options: ServeOptions): Response {
  const response = answer(roster, request, options);
  if (request.method !== "HEAD" || response.body === null) return response;
  return new Response(null, response);
}

function answer(roster: Roster, request: Request, options: ServeOptions): Response {
  const { settings } = roster;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refusal(405, "sse_method", "A stream is a GET", { Allow: "GET, HEAD" });
  }
  let topics: readonly string[] | null;
  try {
    topics = checkTopics(options.topics);
  } catch (error) {
    if (error instanceof TopicError) return refusal(400, "sse_topics", error.message);
    throw error;
  }
  if (roster.stopping || roster.full) {
    roster.metrics.refused();
    const why = roster.stopping ? "The hub is shutting down" : "The hub has no place left";
    const seconds = Math.max(1, Math.ceil(settings.reconnectDelayMs / 1000));
    return refusal(503, "sse_unavailable", why, { "Retry-After": String(seconds) });
  }
  if (request.method === "HEAD" || alreadyAborted(request)) {
    return new Response(null, { headers: STREAM_HEADERS });
  }
  const host = hostOf(request, options.host);
  const connection = open(roster, request, options, {
    id: randomHex(16),
    tag: checkedTag(options.clientTag, settings.logger),
    topics,
    declaresLag: declaresLag(request),
  });
  whenAborted(request, () => connection.left());
  if (options.host === undefined) warnOfBun(roster);
  return new Response(streamBody(connection, host), { headers: STREAM_HEADERS });
}

/**
 * Bun cuts a stream that is silent for about 10 s, and only its server can turn that off. Warned of
 * once a hub, and only where the keepalive would come too late.
 */
function warnOfBun(roster: Roster): void {
  const { keepaliveMs, logger } = roster.settings;
  if (!("Bun" in globalThis) || keepaliveMs < BUN_IDLE_MS || roster.warned) return;
  roster.warned = true;
  logger.warn(
    `Bun may cut streams after 10 s of silence, before the keepalive of ${keepaliveMs} ms: pass its ` +
      "server as the option host, set idleTimeout, or lower keepaliveMs",
  );
}

function open(
  roster: Roster,
  request: Request,
  options: ServeOptions,
  identity: Identity,
): Connection {
  const { log, settings } = roster;
  const judgement = log.judge(presentedCursor(request), identity.topics);
  const hello = helloOf(roster, judgement, identity.id, options.repair !== undefined);
  const jitter = Math.floor(Math.random() * (settings.reconnectJitterMs + 1));
  const opening = joinBytes([encodeRetry(settings.reconnectDelayMs + jitter), helloFrame(hello)]);
  // Async, so that a refused name or payload is a rejection like any other; the data is read at once.
  const writeEvent = async (name: string, data: string | Uint8Array): Promise<void> => {
    checkEventName(name, settings.keepaliveEvent);
    await connection.write(encodeFrame(null, name, data));
  };
  const writer: Writer = {
    event(name, data) {
      const written = writeEvent(name, data);
      // Whoever awaits it sees the rejection; whoever does not must not end the process by it.
      written.catch(() => {});
      return written;
    },
  };
  const hook = hookOf(options, identity.topics ?? [], hello, writer, (bytes) => {
    return connection.write(bytes);
  });
  const logged = hook && (() =>
    hook().catch((error: unknown) => {
      // That its client left while it wrote is no fault of a hook.
      if (!(error instanceof ConnectionGoneError)) {
        settings.logger.error(`A connect hook failed: ${errorForLog(error)}`);
      }
      throw error;
    }));
  const connection = new Connection(roster, identity, judgement, opening, logged);
  roster.admit(connection);
  return connection;
}

function helloOf(
  roster: Roster,
  judgement: Judgement,
  connection: string,
  mayRepair: boolean,
): Hello {
  const { log, settings } = roster;
  const { verdict } = judgement;
  const { epoch, floor, head } = log.position();
  return {
    wire: WIRE,
    epoch,
    floor,
    head,
    resumed: verdict === "resumed",
    verdict,
    keepaliveMs: settings.keepaliveMs,
    keepaliveEvent: settings.keepaliveEvent,
    connection,
    repair: mayRepair && verdict !== "fresh" && verdict !== "resumed",
    revalidateSpreadMs: settings.revalidateSpreadMs,
    ...(settings.versionEpoch !== null && { versionEpoch: settings.versionEpoch }),
  };
}

/** What the application writes before live frames: first a repair, then the connect hook's. */
function hookOf(
  options: ServeOptions,
  topics: readonly string[],
  hello: Hello,
  writer: Writer,
  write: (bytes: Uint8Array) => Promise<void>,
): (() => Promise<void>) | null {
  const { onConnect, repair } = options;
  if (onConnect === undefined && hello.repair !== true) return null;
  return async () => {
    if (hello.repair === true) {
      await write(snapshotFrame("begin"));
      await repair?.call(options, topics, hello, writer);
      await write(snapshotFrame("end", String(hello.head)));
    }
    await onConnect?.call(options, writer, hello);
  };
}
