/**
 * `POST /publish`: an event from whoever has a key.
 *
 * @module
 */
import { FrameTooLargeError, InvalidUtf8Error, TopicError } from "../../errors.ts";
import { AppendUnknownError, JournalError } from "../../errors/journal.ts";
import { RelayError } from "../../errors/relay.ts";
import type { Logger } from "../../hub/options.ts";
import { json, refusal } from "../../hub/refusal.ts";
import { queryOf } from "../../hub/stream_request.ts";
import type { HubState } from "../../hub/types.ts";
import { MAX_FRAME_BYTES } from "../../wire/timing.ts";
import type { JournaledEvent } from "../types.ts";
import { type Access, guardOf } from "./access.ts";
import { Fields, mediaType, readBytes } from "./body.ts";
import { unavailable } from "./mint.ts";
import { answering, checkMethod, failureForLog, HttpRefusal } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import type { Handler } from "./types.ts";

/** What events are published on: a hub, with or without a journal. */
export interface PublishTarget {
  /** Whether it still takes events. */
  readonly state: HubState;
  /** See `Hub.publish` and `JournaledHub.publish`. */
  publish(event: JournaledEvent): number | Promise<number>;
}

/** Options of {@linkcode publishHandler}. */
export interface PublishOptions {
  /** The hub. */
  readonly hub: PublishTarget;
  /** Who may publish. */
  readonly access: Access;
  /**
   * The largest body, in bytes; by default what the largest frame needs: 1 MiB of data, and six times
   * that as JSON, in which one byte may be written as six.
   */
  readonly maxBodyBytes?: number;
  /** Where failures are logged; `console`. */
  readonly logger?: Pick<Logger, "error">;
}

/** What stands around the data in a body of JSON. */
const JSON_EXTRA_BYTES = 8192;
const JSON_ESCAPE_BYTES = 6;
const RAW_TYPES = ["text/plain", "application/octet-stream"];
/** An id may travel in a header of the store. */
const ID = /^[\x21-\x7e]{1,128}$/;

/**
 * Makes the handler of `POST /publish`, for the services behind an application: `Authorization: Bearer
 * KEY`, and either JSON, `{ topic, name, data, ephemeral, id }`, or the data itself as `text/plain` or
 * `application/octet-stream`, with the other fields in the query. `topic` must be there, and is `""`
 * for everybody: a forgotten one would else be a broadcast. `data` is a text.
 *
 * @param options The hub, and who may publish.
 * @returns The handler: `{ offset }`, in decimal as a string; `"0"` for an ephemeral event. Its refusals:
 * 405 `publish_method`; 401 `unauthenticated`, the same without a key and with a wrong one; 415
 * `publish_content_type`; 413 `publish_too_large`; 408 `publish_timeout`; 400 `publish_body`; 400 `sse_topics`; 503
 * `sse_unavailable` once the hub has stopped; 503 `journal` or `relay` when nobody got the event; 503
 * `append_unknown`, with an `id` under which to publish it again.
 */
export function publishHandler(options: PublishOptions): Handler {
  const { hub, maxBodyBytes } = options;
  const logger = sparing(options.logger);
  const guard = guardOf(options.access, "publish.keys");
  return answering(async (request) => {
    checkMethod(request, ["POST"], "publish_method");
    await guard(request);
    const event = await eventOf(request, maxBodyBytes);
    // It would drop the event, and say 0 as of an ephemeral one.
    if (hub.state === "stopped") throw unavailable(1);
    try {
      return json({ offset: String(await hub.publish(event)) });
    } catch (error) {
      return refusalOf(error, logger);
    }
  }, logger);
}

async function eventOf(request: Request, maxBodyBytes?: number): Promise<JournaledEvent> {
  const route = "publish";
  if (RAW_TYPES.includes(mediaType(request))) {
    const query = queryOf(request);
    const flag = query.get("ephemeral") ?? "0";
    if (flag !== "0" && flag !== "1") throw wrong("ephemeral must be 0 or 1");
    const maxBytes = maxBodyBytes ?? MAX_FRAME_BYTES;
    return checked(query.has("topic"), {
      topic: query.get("topic") ?? "",
      name: query.get("name") ?? "",
      data: await readBytes(request, { route, maxBytes }),
      ephemeral: flag === "1",
      id: query.get("id") ?? "",
    });
  }
  const maxBytes = maxBodyBytes ?? JSON_ESCAPE_BYTES * MAX_FRAME_BYTES + JSON_EXTRA_BYTES;
  const fields = await Fields.read(request, { route, maxBytes });
  if (!fields.has("data")) throw wrong("data must be a string");
  return checked(fields.has("topic"), {
    topic: fields.text("topic"),
    name: fields.text("name"),
    data: fields.text("data"),
    ephemeral: fields.flag("ephemeral"),
    id: fields.text("id"),
  });
}

function checked(
  hasTopic: boolean,
  { id, ...event }: Required<Omit<JournaledEvent, "ack">>,
): JournaledEvent {
  if (!hasTopic) throw wrong('topic must be there: "" is for everybody');
  if (id === "") return event;
  if (!ID.test(id)) throw wrong("id must have 1 to 128 printable ASCII characters, and no space");
  return { ...event, id };
}

function refusalOf(error: unknown, logger: Pick<Logger, "error">): Response {
  if (error instanceof FrameTooLargeError) {
    return refusal(413, "publish_too_large", error.message);
  }
  if (error instanceof TopicError) return refusal(400, "sse_topics", error.message);
  if (error instanceof InvalidUtf8Error || isOurs(error)) {
    return refusal(400, "publish_body", error.message);
  }
  if (error instanceof AppendUnknownError) {
    logger.error(`It is not known whether an event was stored: ${failureForLog(error)}`);
    const { code, id } = error;
    const message = "It is not known whether the event was stored: publish it again with this id";
    return json({ error: message, code, id }, 503, { "Retry-After": "1" });
  }
  if (error instanceof JournalError || error instanceof RelayError) {
    if (error.fault === "too_large") return refusal(413, "publish_too_large", error.message);
    logger.error(`An event could not be published: ${failureForLog(error)}`);
    return refusal(503, error.code, "The event was not published", { "Retry-After": "1" });
  }
  throw error;
}

/** Whether it is the hub that refused the name: an error of the program's own has other words. */
function isOurs(error: unknown): error is TypeError {
  return error instanceof TypeError && error.message.startsWith("Cannot name the event: ");
}

function wrong(message: string): HttpRefusal {
  return new HttpRefusal(400, "publish_body", message);
}
